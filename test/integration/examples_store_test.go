package integration

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// exampleStore is what examples/store creates in the API server.
type exampleStore struct {
	deployment appsv1.Deployment
	service    corev1.Service
	keys       corev1.Secret // examples/secret-s3.yaml
}

func applyExampleStore(t *testing.T) exampleStore {
	t.Helper()
	examples := filepath.Join(kubetest.Root(t), "examples")
	for range 2 { // a second run of the README's commands works
		kubetest.MustKubectl(t, "", "apply", "-f", filepath.Join(examples, "store"))
	}
	var s exampleStore
	key := client.ObjectKey{Namespace: "object-store", Name: "s3"}
	for _, object := range []client.Object{&s.deployment, &s.service} {
		if err := kubetest.Client(t).Get(t.Context(), key, object); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(examples, "secret-s3.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &s.keys); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s exampleStore) env(name string) string {
	for _, e := range s.deployment.Spec.Template.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// buckets are the folders in /data that are mounts.
func (s exampleStore) buckets() []string {
	var buckets []string
	for _, mount := range s.deployment.Spec.Template.Spec.Containers[0].VolumeMounts {
		if bucket, is := strings.CutPrefix(mount.MountPath, "/data/"); is {
			buckets = append(buckets, bucket)
		}
	}
	return buckets
}

// The server answers each write with InternalError if it cannot create the folder .vgwlocks beside the buckets.
func TestExampleStoreCanWriteBesideItsBuckets(t *testing.T) {
	for _, mount := range applyExampleStore(t).deployment.Spec.Template.Spec.Containers[0].VolumeMounts {
		if mount.MountPath == "/data" && !mount.ReadOnly {
			return
		}
	}
	t.Error("/data is in the read-only root file system of the container")
}

func TestExampleStoreIsTheOneThatTheExamplesUse(t *testing.T) {
	s := applyExampleStore(t)
	container := s.deployment.Spec.Template.Spec.Containers[0]
	if s.env("ROOT_ACCESS_KEY") != s.keys.StringData["access-key-id"] || s.env("ROOT_SECRET_KEY") != s.keys.StringData["secret-access-key"] {
		t.Error("the store has other keys than examples/secret-s3.yaml")
	}
	if strings.Contains(container.Image, "localkube") || !strings.Contains(container.Image, ":v") {
		t.Errorf("image %s is not a public image with a version", container.Image)
	}
	buckets := map[string]bool{}
	for _, bucket := range s.buckets() {
		buckets[bucket] = true
	}
	uses := 0
	for path, manifest := range manifests(t, filepath.Join(kubetest.Root(t), "examples", "*.yaml")) {
		endpoint, _, _ := unstructured.NestedString(manifest.Object, "spec", "s3", "endpoint")
		if _, incomplete := placeholders[filepath.Base(path)]; endpoint == "" || incomplete {
			continue // the user names another store
		}
		uses++
		if endpoint != "http://s3.object-store.svc:7070" || s.service.Spec.Ports[0].Port != 7070 {
			t.Errorf("%s uses %s, which examples/store does not start", path, endpoint)
		}
		location, _, _ := unstructured.NestedString(manifest.Object, "spec", "s3", "path")
		if bucket, _, _ := strings.Cut(location, "/"); !buckets[bucket] {
			t.Errorf("%s uses bucket %s, which examples/store does not create", path, bucket)
		}
	}
	if uses < 3 {
		t.Errorf("%d examples use the store, so the test tested too little", uses)
	}
}

// The bucket is only a folder that a mount creates. This starts the server as the example does, with such a folder.
func TestExampleStoreHasItsBucket(t *testing.T) {
	s := applyExampleStore(t)
	container := s.deployment.Spec.Template.Spec.Containers[0]
	if got := strings.Join(container.Args, " "); got != "--port :7070 --quiet posix /data" {
		t.Fatalf("the store runs with %q, which this test does not try", got)
	}
	server := servers.S3(t) // versitygw, with the posix backend
	bucket := s.buckets()[0]
	if err := os.Mkdir(server.BucketDir(bucket), 0o777); err != nil { // what the kubelet does for a mount
		t.Fatal(err)
	}
	store := s3.New(s3.Options{
		BaseEndpoint: aws.String(server.Endpoint), Region: server.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	if _, err := store.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("a/b"), Body: bytes.NewReader([]byte("x"))}); err != nil {
		t.Fatalf("the folder is not a bucket: %v", err)
	}
	object, err := store.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("a/b")})
	if err != nil {
		t.Fatal(err)
	}
	defer object.Body.Close()
	if content, err := io.ReadAll(object.Body); err != nil || string(content) != "x" {
		t.Errorf("the object has the content %q, error %v", content, err)
	}
}

package stack

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

//go:embed manifests
var manifests embed.FS

// Bucket exists in both object stores. The S3 credentials are those of examples/.
const (
	Bucket          = "etcd-backups"
	s3AccessKey     = "demo"
	s3SecretKey     = "demo-secret"
	storesNamespace = "object-store"
	rolloutLimit    = "90s"
)

// StartS3 starts the S3 server in the cluster, creates the bucket and returns a client.
func (s *Stack) StartS3(ctx context.Context) (*s3.Client, error) {
	address, err := s.start(ctx, "s3", 7070)
	if err != nil {
		return nil, err
	}
	store := s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + address),
		Region:       "us-east-1",
		UsePathStyle: true,
		Credentials:  credentials.NewStaticCredentialsProvider(s3AccessKey, s3SecretKey, ""),
	})
	_, err = store.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(Bucket)})
	var owned *s3types.BucketAlreadyOwnedByYou
	var exists *s3types.BucketAlreadyExists
	if err != nil && !errors.As(err, &owned) && !errors.As(err, &exists) {
		return nil, fmt.Errorf("create bucket %s: %w", Bucket, err)
	}
	return store, nil
}

// StartGCS starts the GCS emulator in the cluster, creates the bucket and returns the address of its API.
func (s *Stack) StartGCS(ctx context.Context) (string, error) {
	address, err := s.start(ctx, "gcs", 4443)
	if err != nil {
		return "", err
	}
	body := strings.NewReader(fmt.Sprintf(`{"name":%q}`, Bucket))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/storage/v1/b?project=test", body)
	if err != nil {
		return "", fmt.Errorf("create bucket %s: %w", Bucket, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("create bucket %s: %w", Bucket, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusConflict {
		return "", fmt.Errorf("create bucket %s: %s", Bucket, response.Status)
	}
	return address, nil
}

var publicImage = regexp.MustCompile(`localkube/[a-z-]+:test`)

// storeImages maps the stores' local images to the public ones that another Kubernetes pulls.
func storeImages() map[string]string {
	return map[string]string{
		"localkube/versitygw:test":       cmp.Or(os.Getenv("S3_IMAGE"), "versity/versitygw:v1.8.0"),
		"localkube/fake-gcs-server:test": cmp.Or(os.Getenv("GCS_IMAGE"), "fsouza/fake-gcs-server:1.56.1"),
	}
}

// start applies a manifest of this package and waits for its Deployment and Service, which have the same name. It
// returns an address at which this machine reaches the Service's port.
func (s *Stack) start(ctx context.Context, name string, port int32) (string, error) {
	if err := s.applyManifest(ctx, name); err != nil {
		return "", err
	}
	if _, err := s.Kubectl(ctx, "-n", storesNamespace, "rollout", "status", "deployment/"+name, "--timeout", rolloutLimit); err != nil {
		return "", err
	}
	address, err := s.Address(ctx, storesNamespace, name, port)
	if err != nil {
		return "", err
	}
	return address, waitForConnection(ctx, address)
}

func (s *Stack) applyManifest(ctx context.Context, name string) error {
	manifest, err := manifests.ReadFile("manifests/" + name + ".yaml")
	if err != nil {
		return fmt.Errorf("manifest of %s: %w", name, err)
	}
	if s.Local == nil {
		manifest = publicImage.ReplaceAllFunc(manifest, func(local []byte) []byte { return []byte(storeImages()[string(local)]) })
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("etcd-operator-%d-%s.yaml", os.Getpid(), name))
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		return fmt.Errorf("manifest of %s: %w", name, err)
	}
	defer os.Remove(file)
	_, err = s.Kubectl(ctx, "apply", "-f", file)
	return err
}

// waitForConnection waits until the address accepts connections. kube-proxy detects a ready Pod later than the API
// does, and refuses connections until then.
func waitForConnection(ctx context.Context, address string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		last = err
		return err == nil && connection.Close() == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s accepts connections: %w", address, errors.Join(err, last))
	}
	return nil
}

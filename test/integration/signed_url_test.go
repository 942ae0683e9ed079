package integration

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestTheSeedReadsWithoutAnyRightsOnTheBucket restores a snapshot that restore-operator has read with its own identity. The
// seed has none: it reads by the signed URL in the Secret.
func TestTheSeedReadsWithoutAnyRightsOnTheBucket(t *testing.T) {
	b := newRestoreBench(t)
	path := b.put("dir/one two.db", etcdctlSnapshot(t, "3.6"))
	cluster := b.cluster("example", "3.6.16")
	restore := b.restore("own-identity", path)
	restore.Spec.S3.AWSSecret = ""
	t.Setenv("AWS_ACCESS_KEY_ID", b.server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", b.server.SecretKey)
	kubetest.Create(t, restore)
	b.await(restore, v1beta2.ReasonVerified)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	if restore.Status.SignedURL == nil || restore.Status.SignedURL.SecretName == "" {
		t.Fatalf("status %+v", restore.Status.SignedURL)
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: b.namespace, Name: restore.Status.SignedURL.SecretName}
	if err := kubetest.Client(t).Get(t.Context(), key, &secret); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	request := seedOf(t, restore)
	filler := seeder.Seeder{SignedURLDir: mounted(t, secret.Data), RetryFor: time.Second, Log: testr.New(t)}
	if err := filler.Seed(t.Context(), request); err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Fatalf("without the URL the seed reads, too: %v", err)
	}
	request.SignedURL = key.Name
	if err := filler.Seed(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	b.report(cluster, restore, v1beta2.RestoreComplete)
	b.await(restore, v1beta2.ReasonComplete)
	if err := kubetest.Client(t).Get(t.Context(), key, &secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is still there: %v", err)
	}
}

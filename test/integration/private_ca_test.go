package integration

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// Three programs read a store: backup-operator, restore-operator, and the seed in the Pod of a restored member. A CA that only the operators trust
// makes backups succeed, and the user finds out in a disaster that none of them can be restored. With ca.crt in the Secret, all three trust it.
func TestAPrivateCAServesTheBackupAndTheWholeRestore(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	etcdctl(t, "3.6", etcd, "put", "key", "value")
	b := newBackupBench(t)
	endpoint, ca := behindPrivateCA(t, b.server.Endpoint)
	keys := map[string][]byte{"access-key-id": []byte(b.server.AccessKey), "secret-access-key": []byte(b.server.SecretKey), "ca.crt": ca}
	kubetest.Create(t, b.secret("private", keys), b.secret("ca-only", map[string][]byte{"ca.crt": ca}))

	without := b.backup("without", "backups/without.db", etcd.Endpoints()...)
	without.Spec.S3.Endpoint = endpoint
	with := b.backup("with", "backups/with.db", etcd.Endpoints()...)
	with.Spec.S3.Endpoint, with.Spec.S3.AWSSecret = endpoint, "private"
	kubetest.Create(t, without, with)
	b.ready(with, metav1.ConditionTrue, v1beta2.ReasonComplete)
	if message := b.ready(without, metav1.ConditionFalse, v1beta2.ReasonStoreUnreachable); !strings.Contains(message, "certificate") {
		t.Errorf("without ca.crt the status says %q", message)
	}

	r := &restoreBench{T: t, namespace: b.namespace, server: b.server, bucket: b.bucket, spool: t.TempDir(), allowed: grant.Everything()}
	r.start()
	r.cluster("example", "3.6.16")
	t.Run("with keys in the Secret", func(t *testing.T) {
		restore := r.restore("keys", "backups/with.db")
		restore.Spec.S3.Endpoint, restore.Spec.S3.AWSSecret = endpoint, "private"
		kubetest.Create(t, restore)
		r.await(restore, v1beta2.ReasonVerified)
		bare := map[string][]byte{"access-key-id": keys["access-key-id"], "secret-access-key": keys["secret-access-key"]}
		filler := seeder.Seeder{CredentialsDir: mounted(t, bare), RetryFor: time.Second, Log: testr.New(t)} // as if only the operators trusted the CA
		if err := filler.Seed(t.Context(), seedOf(t, restore)); err == nil || !strings.Contains(err.Error(), "unknown authority") {
			t.Errorf("without ca.crt the seed reads, too: %v", err)
		}
		filler = seeder.Seeder{CredentialsDir: mounted(t, keys), RetryFor: time.Second, Log: testr.New(t)}
		if err := filler.Seed(t.Context(), seedOf(t, restore)); err != nil {
			t.Errorf("the seed cannot read the snapshot: %v", err)
		}
	})
	t.Run("with the operators' own identity", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", b.server.AccessKey)
		t.Setenv("AWS_SECRET_ACCESS_KEY", b.server.SecretKey)
		restore := r.restore("own", "backups/with.db")
		restore.Spec.S3.Endpoint, restore.Spec.S3.AWSSecret = endpoint, "ca-only"
		kubetest.Create(t, restore)
		r.await(restore, v1beta2.ReasonVerified)
		var signed corev1.Secret
		key := client.ObjectKey{Namespace: b.namespace, Name: restore.Status.SignedURL.SecretName}
		if err := kubetest.Client(t).Get(t.Context(), key, &signed); err != nil {
			t.Fatal(err)
		}
		request := seedOf(t, restore)
		request.SignedURL = key.Name
		filler := seeder.Seeder{CredentialsDir: mounted(t, map[string][]byte{"ca.crt": ca}), SignedURLDir: mounted(t, signed.Data), RetryFor: time.Second, Log: testr.New(t)}
		if err := filler.Seed(t.Context(), request); err != nil {
			t.Errorf("the seed cannot read the snapshot: %v", err)
		}
	})
}

// behindPrivateCA serves an S3 server over TLS, with a certificate of a CA that no program trusts by itself. It returns its URL and the CA.
func behindPrivateCA(t *testing.T, endpoint string) (string, []byte) {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is part of the signature
	}})
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// repository is where this package's examples are.
const repository = "../.."

func TestAClusterWithTheUsersCertificatesIsServedSavedAndRestored(t *testing.T) {
	n := begin(t)
	authority := t.TempDir()
	n.apply(n.certificates(authority))
	n.applyFile("examples/etcdcluster-tls.yaml", "examples/secret-s3.yaml")
	cluster := n.ready("example-tls")
	for _, m := range cluster.Status.MemberStatuses {
		if !strings.HasPrefix(m.ClientURL, "https://") {
			t.Errorf("member %s serves clients at %s", m.Name, m.ClientURL)
		}
	}

	var secret corev1.Secret
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: n.name, Name: cluster.Status.ClientTLSSecret}, &secret); err != nil {
		t.Fatal(err)
	}
	config, err := etcd.TLSConfig(secret.Data[v1beta2.ClientCertKey], secret.Data[v1beta2.ClientKeyKey], secret.Data[v1beta2.ClientCAKey])
	if err != nil {
		t.Fatal(err)
	}
	store := n.etcd("example-tls", config)
	n.put(store, "key", 20)

	n.certificatesReplaced(authority)
	n.tlsRefused("example-tls", `null`, `{"static":null}`, `{"static":null,"managed":{}}`, `{"static":{"member":{"peerSecret":null}}}`)

	// The most demanding client there is: a kube-apiserver that keeps its world in this cluster.
	kubernetes := n.kubeAPIServer("example-tls", secret.Data)
	informer := kubernetes.informer()
	kubernetes.write("kept", "deleted-by-mistake")
	kubernetes.sees(informer, "deleted-by-mistake", "kept")

	path := stack.Bucket + "/" + n.name + "/tls.db"
	n.apply(s3Backup("tls", ofCluster("example-tls"), path))
	becomes(n, &v1beta2.EtcdBackup{}, "tls", v1beta2.ConditionComplete)
	n.eventuallyQuiet(func(ctx context.Context) error {
		_, err := store.Delete(ctx, "key-7")
		return err
	})
	kubernetes.remove("deleted-by-mistake")
	kubernetes.write("later")
	kubernetes.sees(informer, "kept", "later")
	n.apply(s3Restore("tls", "example-tls", path))
	becomes(n, &v1beta2.EtcdRestore{}, "tls", v1beta2.ConditionComplete)
	n.has(n.etcd("example-tls", config), "key", 20)
	// It has its caches in memory, so it is started again after a restore; its informers find out by themselves.
	kubernetes.stop()
	kubernetes.start()
	kubernetes.sees(informer, "deleted-by-mistake", "kept")
	kubernetes.write("afterwards")
	kubernetes.sees(informer, "afterwards", "deleted-by-mistake", "kept")
}

// certificates are Secrets made as the example says, by the authority in a folder.
func (n *namespaced) certificates(authority string) string {
	n.Helper()
	secrets, err := exec.CommandContext(n.Context(), filepath.Join(repository, "examples/tls-secrets.sh"), "example-tls", n.name, authority).Output()
	if err != nil {
		n.Fatalf("make certificates: %v", err)
	}
	return string(secrets)
}

// certificatesReplaced has the user replace all certificates, and checks that members load them as they run.
func (n *namespaced) certificatesReplaced(authority string) {
	n.Helper()
	pods, before := n.podUIDs("example-tls"), n.secret("example-tls-server")
	traffic := n.traffic("example-tls", n.rereading("example-tls-client"))
	n.apply(n.certificates(authority))
	after := n.secret("example-tls-server")
	if string(after[v1beta2.ServerCertKey]) == string(before[v1beta2.ServerCertKey]) || string(after[v1beta2.ServerCAKey]) != string(before[v1beta2.ServerCAKey]) {
		n.Error("the certificate is not another of the same authority")
	}
	n.shown("example-tls", "example-tls-server", v1beta2.ServerCertKey, v1beta2.ClientPort)
	n.shown("example-tls", "example-tls-peer", v1beta2.PeerCertKey, v1beta2.PeerPort)
	n.ready("example-tls")
	traffic.stop("a replacement of the user's certificates").without(n, 0)
	if diff := cmp.Diff(pods, n.podUIDs("example-tls")); diff != "" {
		n.Errorf("members were restarted (-before +after):\n%s", diff)
	}
}

// tlsRefused checks that TLS is neither turned on nor off nor taken from elsewhere under a running cluster, and that
// asking for it harms nobody.
func (n *namespaced) tlsRefused(cluster string, changes ...string) {
	n.Helper()
	pods := n.podUIDs(cluster)
	for _, tls := range changes {
		_, err := suite.Kubectl(n.Context(), "-n", n.name, "patch", "etcdcluster/"+cluster, "--type=merge", "-p", `{"spec":{"TLS":`+tls+`}}`)
		if err == nil || !strings.Contains(err.Error(), "save a snapshot and restore it into a new EtcdCluster") {
			n.Errorf("TLS became %s: %v", tls, err)
		}
	}
	n.ready(cluster)
	if diff := cmp.Diff(pods, n.podUIDs(cluster)); diff != "" {
		n.Errorf("members were restarted (-before +after):\n%s", diff)
	}
}

func TestAMissingCertificateIsNamedAndNothingHangs(t *testing.T) {
	n := begin(t)
	n.applyFile("examples/etcdcluster-tls.yaml")
	says(n, &v1beta2.EtcdCluster{}, "example-tls", v1beta2.ConditionStalled, v1beta2.ReasonSecretMissing, "example-tls-peer")
	if pods := n.pods("example-tls"); len(pods) != 0 {
		t.Errorf("%d Pods were made that could not start", len(pods))
	}
}

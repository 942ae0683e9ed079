package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// repository is the root of the repository, relative to this package.
const repository = "../.."

func TestClusterWithUserCertificatesIsServedBackedUpAndRestored(t *testing.T) {
	t.Parallel()
	n := begin(t)
	caDir := t.TempDir()
	n.apply(n.certificates(caDir))
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

	n.certificatesReplaced(caDir)
	n.tlsChangeRefused("example-tls", `null`, `{"static":null}`, `{"static":null,"managed":{}}`, `{"static":{"member":{"peerSecret":null}}}`)

	// kube-apiserver is the most demanding client: it stores all of its objects in this cluster.
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
	n.apply(s3Restore("tls", "example-tls", path) + "  safetySnapshot: Exact\n")
	becomes(n, &v1beta2.EtcdRestore{}, "tls", v1beta2.ConditionComplete)
	n.savedExactly("example-tls")
	n.has(n.etcd("example-tls", config), "key", 20)
	// kube-apiserver caches objects in memory, so it must restart after a restore. Its informers need no restart.
	kubernetes.stop()
	kubernetes.start()
	kubernetes.sees(informer, "deleted-by-mistake", "kept")
	kubernetes.write("afterwards")
	kubernetes.sees(informer, "afterwards", "deleted-by-mistake", "kept")
}

// savedExactly checks that the safety snapshot has all that the old members acknowledged, although kube-apiserver wrote until they refused writes.
func (n *namespaced) savedExactly(cluster string) {
	n.Helper()
	restore := n.cluster(cluster).Status.Restore
	if restore.LastRevision < 2 || restore.SafetyRevision < restore.LastRevision || ptr.Deref(restore.UnsavedRevisions, -1) != 0 {
		n.Errorf("the old members acknowledged writes up to revision %d, and the safety snapshot ends at %d; status: %+v", restore.LastRevision, restore.SafetyRevision, restore)
	}
	n.Logf("the last revision was %d, and the exact safety snapshot has revision %d", restore.LastRevision, restore.SafetyRevision)
}

// certificates returns Secrets that the example's script creates with the CA in caDir.
func (n *namespaced) certificates(caDir string) string {
	n.Helper()
	secrets, err := exec.CommandContext(n.Context(), filepath.Join(repository, "examples/tls-secrets.sh"), "example-tls", n.name, caDir).Output()
	if err != nil {
		n.Fatalf("create certificates: %v", err)
	}
	return string(secrets)
}

// certificatesReplaced replaces all certificates, as a user would. Members must load the new ones without a restart.
func (n *namespaced) certificatesReplaced(caDir string) {
	n.Helper()
	pods, before := n.podUIDs("example-tls"), n.secret("example-tls-server")
	traffic := n.traffic("example-tls", n.reloadingConfig("example-tls-client"))
	n.apply(n.certificates(caDir))
	after := n.secret("example-tls-server")
	if string(after[v1beta2.ServerCertKey]) == string(before[v1beta2.ServerCertKey]) || string(after[v1beta2.ServerCAKey]) != string(before[v1beta2.ServerCAKey]) {
		n.Error("the script did not issue a new certificate of the same CA")
	}
	n.serve("example-tls", "example-tls-server", v1beta2.ServerCertKey, v1beta2.ClientPort)
	n.serve("example-tls", "example-tls-peer", v1beta2.PeerCertKey, v1beta2.PeerPort)
	n.ready("example-tls")
	traffic.stop("a replacement of the user's certificates").quiet(n)
	if diff := cmp.Diff(pods, n.podUIDs("example-tls")); diff != "" {
		n.Errorf("members were restarted (-before +after):\n%s", diff)
	}
}

// tlsChangeRefused checks that the API refuses to turn TLS on or off or to change its source for a running cluster, and
// that the attempt restarts no member.
func (n *namespaced) tlsChangeRefused(cluster string, changes ...string) {
	n.Helper()
	pods := n.podUIDs(cluster)
	for _, tls := range changes {
		_, err := suite.Kubectl(n.Context(), "-n", n.name, "patch", "etcdcluster/"+cluster, "--type=merge", "-p", `{"spec":{"TLS":`+tls+`}}`)
		if err == nil || !strings.Contains(err.Error(), "Save a snapshot and restore it into a new EtcdCluster") {
			n.Errorf("the API did not refuse to change TLS to %s: %v", tls, err)
		}
	}
	n.ready(cluster)
	if diff := cmp.Diff(pods, n.podUIDs(cluster)); diff != "" {
		n.Errorf("members were restarted (-before +after):\n%s", diff)
	}
}

func TestMissingCertificateIsReportedAndNoPodIsCreated(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/etcdcluster-tls.yaml")
	says(n, &v1beta2.EtcdCluster{}, "example-tls", v1beta2.ConditionStalled, v1beta2.ReasonSecretMissing, "example-tls-peer")
	if pods := n.pods("example-tls"); len(pods) != 0 {
		t.Errorf("the operator created %d Pods that cannot start without their certificate", len(pods))
	}
}

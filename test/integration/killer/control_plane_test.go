package killer_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/controlplane"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// A hosted control plane lost objects, or its informers had others than its etcd, after the etcd below it was upgraded, repaired or got a new CA. And
// a role of one prefix, as the manual has it, was not enough for a kube-apiserver.
func TestAKubeAPIServerLivesOnAnEtcdCluster(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: older, TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{CAOverlap: lasting(0)}},
		Etcd: &v1beta2.EtcdPolicy{AutoCompaction: &v1beta2.AutoCompactionPolicy{Mode: v1beta2.AutoCompactionPeriodic, Retention: "1m"}},
		Auth: &v1beta2.AuthPolicy{
			Enabled: ptr.To(true),
			Roles:   []v1beta2.AuthRole{roleFor("tenant-a", "/tenant-a/")},
			Users:   []v1beta2.AuthUser{{Name: "tenant-a", Roles: []string{"tenant-a"}, Certificate: &v1beta2.AuthCertificate{}}},
		},
	})
	kubetest.Create(b, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	p := b.controlPlane("tenant-a")

	b.step("upgrades", func(b *bench) {
		for _, version := range []string{newer, "3.7.3"} {
			b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = version })
			b.operate(&killer.Count{}, "upgrade", b.isReady)
			p.Agrees(b)
		}
	})
	b.step("a lost member", func(b *bench) {
		lost := b.cluster.Status.MemberStatuses[0]
		b.delete(&corev1.PersistentVolumeClaim{}, lost.Name)
		b.delete(&corev1.Pod{}, lost.Name)
		b.operate(&killer.Count{}, "replace the member", func() error { return b.goneAndReady(lost) })
		p.Agrees(b)
	})
	b.step("a new CA", func(b *bench) {
		first := string(b.secret("-ca")["ca.crt"])
		kubetest.MustKubectl(b, "", "annotate", "etcdcluster/"+b.cluster.Name, "-n", b.cluster.Namespace, v1beta2.AnnotationRotateCA+"=now")
		b.operate(&killer.Count{}, "replace the CA", func() error {
			p.mount(b)
			return errors.Join(b.caReplaced(first), b.isReady())
		})
		p.Restart(b)
		p.Agrees(b)
	})
	b.step("a restore", func(b *bench) {
		store := newStore(b.T)
		store.put(b.T, "saved.db", b.saveAsOperator())
		kubetest.Create(b, store.secret(b.cluster.Namespace))
		p.Agrees(b) // so there are writes which the snapshot does not have
		seen := p.Revision()
		r := store.restore(b.cluster, "earlier", "saved.db")
		kubetest.Create(b, r)
		restorer := b.restoreOperator(&killer.Count{})
		b.operate(&killer.Count{}, "restore", func() error { return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionComplete)) })
		restorer.stop()
		p.Restart(b)
		p.RestartControllers()
		p.Agrees(b)
		if now := p.Revision(); now <= seen {
			b.Errorf("the newest object has resource version %d after the restore, and %d before: watches would miss what is written now", now, seen)
		}
	})
}

// saveAsOperator returns a snapshot that was saved with the certificate of the operators.
func (b *bench) saveAsOperator() []byte {
	b.Helper()
	dir := b.TempDir()
	secret := b.secret(v1beta2.OperatorSecretSuffix)
	args := []string{"--endpoints=https://" + b.serviceAddress()}
	for flag, key := range map[string]string{"cacert": v1beta2.ClientCAKey, "cert": v1beta2.ClientCertKey, "key": v1beta2.ClientKeyKey} {
		file := filepath.Join(dir, flag)
		if err := os.WriteFile(file, secret[key], 0o600); err != nil {
			b.Fatal(err)
		}
		args = append(args, "--"+flag+"="+file)
	}
	path := filepath.Join(dir, "snapshot.db")
	if out, err := exec.CommandContext(b.Context(), servers.EtcdctlProgram(b, "3.6"), append(args, "snapshot", "save", path)...).CombinedOutput(); err != nil {
		b.Fatalf("save a snapshot: %v\n%s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return content
}

// hosted is a control plane with the certificate of a user, on a prefix of that name.
type hosted struct {
	*controlplane.ControlPlane
	files string
	user  string
}

func (b *bench) controlPlane(user string) *hosted {
	b.Helper()
	p := &hosted{files: b.TempDir(), user: user}
	p.mount(b)
	p.ControlPlane = controlplane.Start(b,
		"--etcd-servers=https://"+b.serviceAddress(), "--etcd-prefix=/"+user, "--etcd-compaction-interval=0",
		"--etcd-cafile="+filepath.Join(p.files, "ca.crt"), "--etcd-certfile="+filepath.Join(p.files, "tls.crt"), "--etcd-keyfile="+filepath.Join(p.files, "tls.key"))
	return p
}

// mount writes the files of the user's Secret, as a kubelet does.
func (p *hosted) mount(b *bench) {
	for key, content := range b.secret("-" + p.user + "-tls") {
		if err := os.WriteFile(filepath.Join(p.files, key), content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// serviceAddress listens for clients of the cluster, and connects each of them to a member that the client Service selects.
func (b *bench) serviceAddress() string {
	b.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	go func() {
		for next := 0; ; next++ {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go b.forward(connection, next)
		}
	}()
	return listener.Addr().String()
}

func (b *bench) forward(from net.Conn, next int) {
	defer from.Close()
	pods := b.traffic.selected(context.Background())
	if len(pods) == 0 {
		return
	}
	to, err := net.Dial("tcp", net.JoinHostPort(pods[next%len(pods)].Status.PodIP, "2379"))
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}

package killer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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
			p.agrees(b)
		}
	})
	b.step("a lost member", func(b *bench) {
		lost := b.cluster.Status.MemberStatuses[0]
		b.delete(&corev1.PersistentVolumeClaim{}, lost.Name)
		b.delete(&corev1.Pod{}, lost.Name)
		b.operate(&killer.Count{}, "replace the member", func() error { return b.goneAndReady(lost) })
		p.agrees(b)
	})
	b.step("a new CA", func(b *bench) {
		first := string(b.secret("-ca")["ca.crt"])
		kubetest.MustKubectl(b, "", "annotate", "etcdcluster/"+b.cluster.Name, "-n", b.cluster.Namespace, v1beta2.AnnotationRotateCA+"=now")
		b.operate(&killer.Count{}, "replace the CA", func() error {
			p.mount(b)
			return errors.Join(b.caReplaced(first), b.isReady())
		})
		p.restart(b)
		p.agrees(b)
	})
}

// controlPlane is a kube-apiserver with a client that writes all the time, and an informer.
type controlPlane struct {
	server   *servers.APIServer
	client   kubernetes.Interface
	informer cache.SharedIndexInformer
	files    string
	user     string
	written  atomic.Int32
}

// controlPlane starts a kube-apiserver with the certificate of a user, on a prefix of that name.
func (b *bench) controlPlane(user string) *controlPlane {
	b.Helper()
	p := &controlPlane{files: b.TempDir(), user: user}
	p.mount(b)
	p.server = servers.KubeAPIServer(b,
		"--etcd-servers=https://"+b.serviceAddress(), "--etcd-prefix=/"+user, "--etcd-compaction-interval=0",
		"--etcd-cafile="+filepath.Join(p.files, "ca.crt"), "--etcd-certfile="+filepath.Join(p.files, "tls.crt"), "--etcd-keyfile="+filepath.Join(p.files, "tls.key"))
	var err error
	if p.client, err = kubernetes.NewForConfig(p.server.Config); err != nil {
		b.Fatal(err)
	}
	p.ready(b)
	factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithNamespace(metav1.NamespaceDefault))
	p.informer = factory.Core().V1().ConfigMaps().Informer()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	var running sync.WaitGroup
	running.Go(func() { p.informer.Run(ctx.Done()) })
	running.Go(func() { p.write(ctx) })
	b.Cleanup(func() { cancel(); running.Wait() })
	p.agrees(b)
	return p
}

func (p *controlPlane) ready(b *bench) {
	kubetest.Eventually(b, "the kube-apiserver is ready", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if said, err := p.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Param("verbose", "true").DoRaw(ctx); err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	})
	kubetest.Eventually(b, "the namespace default is there", func(ctx context.Context) error {
		_, err := p.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	})
}

// mount writes the files of the user's Secret, as a kubelet does.
func (p *controlPlane) mount(b *bench) {
	for key, content := range b.secret("-" + p.user + "-tls") {
		if err := os.WriteFile(filepath.Join(p.files, key), content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// restart has the kube-apiserver read its CAs again. It reads the certificate of the client for each connection, and the CAs once.
func (p *controlPlane) restart(b *bench) {
	p.server.Stop()
	p.server.Start()
	p.ready(b)
}

// write creates ConfigMaps, and deletes each second one.
func (p *controlPlane) write(ctx context.Context) {
	all := p.client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("written-%06d", i)
		if _, err := all.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err == nil {
			p.written.Add(1)
			if i%2 == 1 {
				_ = all.Delete(ctx, name, metav1.DeleteOptions{})
			}
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// agrees waits until the informer has what a quorum of etcd has. The writer runs on, so both are read until they are equal.
func (p *controlPlane) agrees(b *bench) {
	b.Helper()
	begin := p.written.Load()
	kubetest.Eventually(b, "the kube-apiserver takes writes", func(context.Context) error {
		if p.written.Load() < begin+5 {
			return errors.New("no object is written")
		}
		return nil
	})
	kubetest.Eventually(b, "the informer has what etcd has", func(ctx context.Context) error {
		listed, err := p.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var have, want []string
		for _, object := range p.informer.GetStore().List() {
			c := object.(*corev1.ConfigMap)
			have = append(have, c.Name+" "+c.ResourceVersion)
		}
		for _, c := range listed.Items {
			want = append(want, c.Name+" "+c.ResourceVersion)
		}
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			return fmt.Errorf("the informer has %d objects, etcd has %d", len(have), len(want))
		}
		return nil
	})
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

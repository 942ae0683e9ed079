// Package controlplane runs a kube-apiserver and its controllers on an etcd, with a client that writes all the time and an informer.
package controlplane

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// ControlPlane is a kube-apiserver, a kube-controller-manager, and clients of them.
type ControlPlane struct {
	server      *servers.APIServer
	controllers *servers.Process
	client      kubernetes.Interface
	informer    cache.SharedIndexInformer
	counted     *counted
	written     atomic.Int32
	checked     int
}

// Start runs a control plane until the test ends. flags are those of the kube-apiserver about its etcd.
func Start(t testing.TB, flags ...string) *ControlPlane {
	t.Helper()
	p := &ControlPlane{server: servers.KubeAPIServer(t, flags...), counted: &counted{}}
	var err error
	if p.client, err = kubernetes.NewForConfig(p.server.Config); err != nil {
		t.Fatal(err)
	}
	p.ready(t)
	p.controllers = servers.KubeControllerManager(t, p.server)
	watching := rest.CopyConfig(p.server.Config)
	watching.Wrap(p.counted.of)
	seeing, err := kubernetes.NewForConfig(watching)
	if err != nil {
		t.Fatal(err)
	}
	p.informer = informers.NewSharedInformerFactoryWithOptions(seeing, 0, informers.WithNamespace(metav1.NamespaceDefault)).Core().V1().ConfigMaps().Informer()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { p.informer.Run(ctx.Done()) })
	running.Go(func() { p.write(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	p.Agrees(t)
	return p
}

func (p *ControlPlane) ready(t testing.TB) {
	t.Helper()
	kubetest.Eventually(t, "the kube-apiserver is ready", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if said, err := p.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Param("verbose", "true").DoRaw(ctx); err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	})
	kubetest.Eventually(t, "the namespace default is there", func(ctx context.Context) error {
		_, err := p.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	})
}

// Restart restarts the kube-apiserver, which reads its CAs and its watch caches again. It reads the certificate of its client for each connection, and the CAs once.
func (p *ControlPlane) Restart(t testing.TB) {
	t.Helper()
	p.server.Stop()
	p.server.Start()
	p.ready(t)
}

// RestartControllers restarts the kube-controller-manager, which may act on stale objects after a restore.
func (p *ControlPlane) RestartControllers() {
	p.controllers.Stop()
	p.controllers.Start()
}

package integration

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/controlplane"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// A control plane is moved to another etcd. What its user would lose are events that a controller never sees, or a minute in which all controllers read all objects again.
func TestAControlPlaneIsMovedWithoutARelist(t *testing.T) {
	b := newStandbyBench(t, "3.6")
	address := newMoved(t, strings.TrimPrefix(b.etcd.Endpoints()[0], "http://"))
	p := controlplane.Start(t, "--etcd-servers=http://"+address.String(), "--etcd-compaction-interval=0")
	b.reaches(b.write("first", 5))
	b.promote(v1beta2.FollowPromotePlanned)
	lists, _ := p.Lists()
	if lists == 0 {
		t.Fatal("no request of the informer was counted")
	}
	seen := p.Revision()

	asked := time.Now()
	last := b.handOver(true, v1beta2.SwitchoverPromoted).Revision
	var pod string
	kubetest.Eventually(t, "the Pod of the standby has an address, and serves", func(context.Context) error {
		pod = net.JoinHostPort(b.pod().Status.PodIP, "2379")
		to, err := net.DialTimeout("tcp", pod, time.Second)
		if err != nil {
			return err
		}
		return to.Close()
	})
	address.move(pod)
	t.Logf("clients are led to the new cluster %s after the switchover was asked for", time.Since(asked).Round(time.Millisecond))

	p.Agrees(t)
	if now, gone := p.Lists(); now != lists || gone != 0 {
		t.Errorf("the informer has read all objects %d times while its control plane was moved, and its revision was too old %d times", now-lists, gone)
	}
	if now := p.Revision(); now <= uint64(last) || now <= seen || now > uint64(last)+10_000 {
		t.Errorf("the newest object has resource version %d, the source has ended with %d, and the informer had %d before: revisions do not continue", now, last, seen)
	}
	kubetest.AwaitCondition(t, b.restore, func(r *v1beta2.EtcdRestore) []metav1.Condition { return r.Status.Conditions }, v1beta2.ConditionComplete, metav1.ConditionTrue, v1beta2.ReasonComplete)
}

// moved is the address of an etcd, as a DNS name or a Service is, that leads to another etcd later.
type moved struct {
	net.Listener
	mu   sync.Mutex
	to   string
	open map[net.Conn]bool
}

func newMoved(t *testing.T, to string) *moved {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &moved{Listener: listener, to: to, open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close(); m.move("") })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go m.pass(from)
		}
	}()
	return m
}

func (m *moved) String() string { return m.Addr().String() }

// move leads new connections to another etcd, and ends those to the earlier one.
func (m *moved) move(to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to = to
	for c := range m.open {
		_ = c.Close()
	}
}

func (m *moved) pass(from net.Conn) {
	defer from.Close()
	m.mu.Lock()
	to, err := net.Dial("tcp", m.to)
	if err == nil {
		m.open[from] = true
	}
	m.mu.Unlock()
	if err != nil {
		return
	}
	defer func() {
		m.mu.Lock()
		delete(m.open, from)
		m.mu.Unlock()
	}()
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
}

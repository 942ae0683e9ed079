package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

var aCluster = client.ObjectKey{Namespace: "ns", Name: "example"}

// With a thousand clusters, full looks are rare. The operator must detect dangers to the data as fast as with few
// clusters.
func TestAMemberThatIsNotHealthyStartsAFullLookAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var sick atomic.Bool
	woken := make(chan metav1.ObjectMeta, 10)
	h := newHealthChecks(func(_ context.Context, address string) error {
		if address == "192.0.2.2:2381" && sick.Load() {
			return errors.New("ALARM CORRUPT")
		}
		return nil
	}, func(cluster metav1.ObjectMeta) { woken <- cluster })
	ended := make(chan error)
	go func() { ended <- h.run(ctx) }()
	h.resume(aCluster, []string{"192.0.2.1", "192.0.2.2"}, 10*time.Millisecond, time.Now())
	select {
	case <-woken:
		t.Error("healthy members started a full look")
	case <-time.After(3 * healthTick):
	}
	sick.Store(true)
	select {
	case cluster := <-woken:
		if cluster.Namespace != aCluster.Namespace || cluster.Name != aCluster.Name {
			t.Errorf("started a look at %+v", cluster)
		}
	case <-time.After(10 * time.Second):
		t.Error("no full look was started")
	}
	select {
	case <-woken:
		t.Error("another look was started before the first has ended")
	case <-time.After(3 * healthTick):
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNoHealthIsCheckedWhileAClusterIsLookedAt(t *testing.T) {
	h := newHealthChecks(nil, func(metav1.ObjectMeta) { t.Error("a check that the look outran started another look") })
	h.resume(aCluster, []string{"192.0.2.1"}, time.Second, noon)
	if due := h.due(noon.Add(time.Second / 2)); len(due) != 0 {
		t.Errorf("checked before the interval has passed: %v", due)
	}
	if due := h.due(noon.Add(2 * time.Second)); len(due) != 1 {
		t.Errorf("%d clusters are due, expected 1", len(due))
	}
	h.pause(aCluster)
	h.fail(aCluster, noon)
	if due := h.due(noon.Add(time.Hour)); len(due) != 0 {
		t.Errorf("checked while it is looked at: %v", due)
	}
}

// A network policy may block the operator's access to the port.
func TestHealthChecksThatFailForNoReasonEndForTenMinutes(t *testing.T) {
	h := newHealthChecks(nil, func(metav1.ObjectMeta) {})
	resume := func(after time.Duration) bool {
		return h.resume(aCluster, []string{"192.0.2.1"}, time.Second, noon.Add(after))
	}
	for n := range falseAlarms {
		if !resume(0) {
			t.Errorf("not checked again after %d false alarms", n)
		}
		h.fail(aCluster, noon)
	}
	if resume(distrusted - time.Second) {
		t.Error("checks that fail for no reason go on")
	}
	if !resume(distrusted) {
		t.Error("not tried again")
	}
	h.fail(aCluster, noon)
	h.forget(aCluster) // the look found that the check was right
	for range falseAlarms {
		if !resume(0) {
			t.Error("a check that was right counts as a false alarm")
		}
		h.fail(aCluster, noon)
	}
}

func TestOnlyClustersWithNothingToDoAreCheckedBetweenLooks(t *testing.T) {
	settled := func() *view {
		v := &view{State: state(formed, members(3)), addresses: map[string]string{}, known: &remembered{}}
		v.cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}}
		for i := range v.Members {
			m := &v.Members[i]
			m.Answers, m.Serving, m.PodReady, m.Version = true, true, true, "3.5.0"
			v.addresses[m.Name] = fmt.Sprintf("192.0.2.%d", i+1)
		}
		return v
	}
	if got := settled().healthAddresses(plan.Done{}); !slices.Equal(got, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}) {
		t.Fatalf("the addresses are %v", got)
	}
	for name, change := range map[string]func(*view) plan.Step{
		"the operator waits":              func(*view) plan.Step { return plan.Wait{} },
		"the operator acts":               func(*view) plan.Step { return plan.ApplyServices{} },
		"the cluster has not formed":      func(v *view) plan.Step { v.ClusterID = ""; return plan.Done{} },
		"an object is refused":            func(v *view) plan.Step { v.skipped = errors.New("x"); return plan.Done{} },
		"an answer is of an earlier look": func(v *view) plan.Step { v.remembered = true; return plan.Done{} },
		"a member has etcd 3.4":           func(v *view) plan.Step { v.Members[1].Version = "3.4.37"; return plan.Done{} },
		"a member has an unknown version": func(v *view) plan.Step { v.Members[1].Version = ""; return plan.Done{} },
		"a member does not answer":        func(v *view) plan.Step { v.Members[1].Answers = false; return plan.Done{} },
		"a member does not serve":         func(v *view) plan.Step { v.Members[1].Serving = false; return plan.Done{} },
		"a Pod is not ready":              func(v *view) plan.Step { v.Members[1].PodReady = false; return plan.Done{} },
		"a Pod has no address":            func(v *view) plan.Step { delete(v.addresses, v.Members[1].Name); return plan.Done{} },
		"an alarm is on": func(v *view) plan.Step {
			v.Members[1].Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt}}
			return plan.Done{}
		},
	} {
		v := settled()
		if got := v.healthAddresses(change(v)); got != nil {
			t.Errorf("%s: %v are checked", name, got)
		}
	}
	for _, c := range []struct {
		clusters int
		health   bool
		want     time.Duration
	}{
		{100, true, 10 * time.Second}, {200, true, 10 * time.Second}, {1000, true, 50 * time.Second},
		{1000, false, spread(1000, looksPerSecond)},
	} {
		r, v := &Reconciler{}, settled()
		if c.health {
			r.health = newHealthChecks(nil, nil)
		}
		for n := range c.clusters {
			r.memory.of(types.NamespacedName{Name: fmt.Sprint(n)}, "")
		}
		if got := r.nextLook(v, plan.Done{}, 10*time.Second); got != c.want {
			t.Errorf("with %d clusters and health checks %t, the next full look is after %s, expected %s", c.clusters, c.health, got, c.want)
		}
		checked := r.health != nil && len(r.health.due(v.Now.Add(time.Hour))) == 1
		if want := c.health && c.clusters > 200; checked != want {
			t.Errorf("with %d clusters, the health is checked between looks: %t", c.clusters, checked)
		}
	}
}

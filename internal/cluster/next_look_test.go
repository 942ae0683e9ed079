package cluster

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func TestOnlyClustersWithNothingToDoAreCheckedBetweenLooks(t *testing.T) {
	settled := func() *view.View {
		v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3)), Addresses: map[string]string{}, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
		v.Cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}}
		for i := range v.Members {
			m := &v.Members[i]
			m.Answers, m.Serving, m.PodReady, m.Version = true, true, true, "3.5.0"
			v.Addresses[m.Name] = fmt.Sprintf("192.0.2.%d", i+1)
		}
		return v
	}
	if got := healthAddresses(settled(), steps.Done{}); !slices.Equal(got, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}) {
		t.Fatalf("the addresses are %v", got)
	}
	for name, change := range map[string]func(*view.View) steps.Step{
		"the operator waits":              func(*view.View) steps.Step { return steps.Wait{} },
		"the operator acts":               func(*view.View) steps.Step { return steps.ApplyServices{} },
		"the cluster has not formed":      func(v *view.View) steps.Step { v.ClusterID = ""; return steps.Done{} },
		"an object is refused":            func(v *view.View) steps.Step { v.Skipped = errors.New("x"); return steps.Done{} },
		"an answer is of an earlier look": func(v *view.View) steps.Step { v.Remembered = true; return steps.Done{} },
		"a member has etcd 3.4":           func(v *view.View) steps.Step { v.Members[1].Version = "3.4.37"; return steps.Done{} },
		"a member has an unknown version": func(v *view.View) steps.Step { v.Members[1].Version = ""; return steps.Done{} },
		"a member does not answer":        func(v *view.View) steps.Step { v.Members[1].Answers = false; return steps.Done{} },
		"a member does not serve":         func(v *view.View) steps.Step { v.Members[1].Serving = false; return steps.Done{} },
		"a Pod is not ready":              func(v *view.View) steps.Step { v.Members[1].PodReady = false; return steps.Done{} },
		"a Pod has no address":            func(v *view.View) steps.Step { delete(v.Addresses, v.Members[1].Name); return steps.Done{} },
		"an alarm is on": func(v *view.View) steps.Step {
			v.Members[1].Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt}}
			return steps.Done{}
		},
	} {
		v := settled()
		if got := healthAddresses(v, change(v)); got != nil {
			t.Errorf("%s: %v are checked", name, got)
		}
	}
	for _, c := range []struct {
		clusters int
		health   bool
		want     time.Duration
	}{
		{100, true, 10 * time.Second}, {200, true, 10 * time.Second}, {1000, true, 50 * time.Second},
		{1000, false, queue.Spread(1000, queue.LooksPerSecond)},
	} {
		r, v := assemble(parts{}), settled()
		if c.health {
			r.health = members.NewHealthChecks(nil, nil)
		}
		for n := range c.clusters {
			r.memory.Of(types.NamespacedName{Name: fmt.Sprint(n)}, "")
		}
		if got := r.nextLook(v, steps.Done{}, 10*time.Second); got != c.want {
			t.Errorf("with %d clusters and health checks %t, the next full look is after %s, expected %s", c.clusters, c.health, got, c.want)
		}
		checked := r.health != nil && len(r.health.Due(v.Now.Add(time.Hour))) == 1
		if want := c.health && c.clusters > 200; checked != want {
			t.Errorf("with %d clusters, the health is checked between looks: %t", c.clusters, checked)
		}
	}
}

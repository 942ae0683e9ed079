package objects

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

func TestServices(t *testing.T) {
	clustertest.Golden(t, "service-headless", HeadlessService(clustertest.State()))
	clustertest.Golden(t, "service-client", ClientService(clustertest.State(plantest.Formed), steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}))
	clustertest.Golden(t, "service-client-settings", ClientService(clustertest.State(plantest.Formed, clustertest.WithService(clustertest.FullService)), steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}))
	clustertest.Golden(t, "service-client-unformed", ClientService(clustertest.State(), steps.ApplyServices{}))
}

// A restore does not wait for old members on nodes that do not answer, because clients cannot reach them.
func TestTheClientServiceOfARestoredClusterSelectsNoOldMember(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored("Growing"))
	clients := labels.SelectorFromSet(ClientService(s, steps.ApplyServices{Incarnation: 2, ClusterID: plantest.OldID}).Spec.Selector)
	old := pods.NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
	if clients.Matches(labels.Set(old.Labels)) {
		t.Errorf("the Service selects an old member with %v", old.Labels)
	}
	restored := pods.NewPod(s, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartRejoin}, "")
	if !clients.Matches(labels.Set(restored.Labels)) {
		t.Errorf("the Service does not select a restored member with %v", restored.Labels)
	}
}

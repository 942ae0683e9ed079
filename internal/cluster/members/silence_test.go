package members

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A Pod may wait long for a node. Without this, its member is removed in its first second, and so is each one after it.
func TestTheTimeOfALearnerBeginsWhenItsPodRuns(t *testing.T) {
	var q Silence
	key := client.ObjectKey{Namespace: "ns", Name: "example"}
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	s.Spec.Size = 4
	for i := range s.Members {
		s.Members[i].AppliedIndex = 1000
	}
	name := state.InitialNames(s, 1, 4)[3]
	learner := state.Member{Name: name, Incarnation: 1, ID: 4, InMembership: true, Learner: true, Volume: state.VolumePresent, Pod: state.PodBlocked, PodReason: v1beta2.ReasonPodUnschedulable, PodMessage: "no node", Start: state.StartJoin}
	s.Members = append(s.Members, learner)
	s.Budget = state.Budget{Exists: true, Current: true, Incarnation: 1, MinAvailable: 2}
	for range 11 * 60 / 10 {
		q.Saw(key, &s)
		s.Now = s.Now.Add(10 * time.Second)
	}
	m := &s.Members[3]
	m.Pod, m.PodReason, m.PodImage = state.PodRunning, "", s.ImageFor(1) // a node came; etcd has just started
	q.Saw(key, &s)
	if step, removes := plan.Plan(s).(steps.RemoveMember); removes {
		t.Errorf("in its first pass the learner is removed: %+v", step)
	}
}

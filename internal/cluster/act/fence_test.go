package act

import (
	"crypto/tls"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// switchingWith is a cluster of three whose restore is in the step Switching. The cache has the verified EtcdRestore.
func switchingWith(t *testing.T, live ...client.Object) (*Actor, *view.View) {
	t.Helper()
	a, v := actorBeside(t, live...)
	v.Cluster.Status.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSwitching, Incarnation: 2, ClusterID: plantest.SeedID}
	if err := a.Client.Status().Update(t.Context(), v.Cluster); err != nil {
		t.Fatal(err)
	}
	v.State = clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) {
		s.Restore = v.Cluster.Status.Restore.DeepCopy()
		s.Request = &state.RestoreRequest{Name: "back", UID: "uid-back"}
	})
	v.ClusterID, v.Incarnation = v.Cluster.Status.ClusterID, v.Cluster.Status.Incarnation
	v.Incarnation = 1
	v.Members = append(v.Members, state.Member{Name: clustertest.SeedName, Incarnation: 2, Pod: state.PodRunning, Serving: true, Answers: true})
	return a, v
}

func runningPod(i int) client.Object {
	return &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(i), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}}
}

// A user paused the cluster in the step Switching, before the members were fenced, deleted the EtcdRestore, and continued. The cache shows the
// deletion late. StopMembers reads past the cache that the EtcdRestore exists. The steps that have taken its place do not.
func TestNoMemberIsFencedOrReplacedForARestoreThatWasDeleted(t *testing.T) {
	for name, exists := range map[string]bool{"the EtcdRestore exists": true, "the EtcdRestore was deleted": false} {
		for _, fenced := range []bool{false, true} {
			live := []client.Object{runningPod(0), runningPod(1), runningPod(2)}
			if exists {
				live = append(live, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}})
			}
			a, v := switchingWith(t, live...)
			var step steps.Step = steps.FenceWrites{ID: state.RestoreFence(v.State)}
			for i := range 3 {
				v.Addresses[v.Members[i].Name] = "192.0.2.1"
				v.Members[i].Serving, v.Members[i].Leader = i == 0, i == 0
				if fenced {
					v.Members[i].Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt, Member: state.RestoreFence(v.State)}}
				}
			}
			if fenced {
				v.Restore.LastRevision = 1 // as the status records a fence
				step = steps.AdoptSeed{ClusterID: plantest.SeedID, Incarnation: 2}
			}
			changes := 0
			a.confirmer.Connections.Dial = func(etcd.Endpoint, *tls.Config) (members.Etcd, error) {
				return changing{status: etcd.Status{ClusterID: v.Members[0].ClusterID, MemberID: v.Members[0].ID}, changes: &changes}, nil
			}
			err := a.Act(t.Context(), v, step)
			if exists && err != nil {
				t.Fatalf("%s: %T: %v", name, step, err)
			}
			if !exists && !errors.Is(err, view.ErrBehind) {
				t.Errorf("%s: %T is taken (%d changes of etcd): %v", name, step, changes, err)
			}
		}
	}
}

// Member 0 was down when the fence of the first attempt was taken back, and reports it. Its Pod is all that the operator reaches. The Pods of 1 and
// 2 run, and they acknowledge writes. The read past the cache sees both Pods, and lets the seed take over.
func TestTheSeedDoesNotTakeOverByAFenceThatWasTakenBack(t *testing.T) {
	a, v := switchingWith(t, runningPod(0), runningPod(1), runningPod(2), &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}})
	v.MembershipKnown = false
	for i := range v.Members[:3] {
		m := &v.Members[i]
		m.InMembership, m.Serving, m.Leader, m.Answers = false, false, false, i == 0
	}
	v.Members[0].Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt, Member: state.RestoreFence(v.State)}}
	if err := a.Act(t.Context(), v, steps.AdoptSeed{ClusterID: plantest.SeedID, Incarnation: 2}); !errors.Is(err, view.ErrBehind) {
		t.Errorf("the seed takes over beside %s and %s: %v", plantest.NameOf(1), plantest.NameOf(2), err)
	}
}

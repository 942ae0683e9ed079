package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// What Kubernetes reports about a growing volume decides whether the operator grows the next one. It also decides
// whether the status reports that there is no more space.
func TestWhatAVolumeHoldsAndWhatItsDriverSaysIsSeen(t *testing.T) {
	const grows = true
	for name, test := range map[string]struct {
		grows  bool
		status corev1.ClaimResourceStatus
		want   state.Member
	}{
		"the volume has the requested size":              {!grows, "", state.Member{VolumeSize: 16 * clustertest.Gi, VolumeCapacity: 16 * clustertest.Gi}},
		"the volume has not grown yet":                   {grows, "", state.Member{VolumeSize: 16 * clustertest.Gi, VolumeCapacity: 8 * clustertest.Gi}},
		"the driver is growing the volume":               {grows, corev1.PersistentVolumeClaimControllerResizeInProgress, state.Member{VolumeSize: 16 * clustertest.Gi, VolumeCapacity: 8 * clustertest.Gi}},
		"the node has not grown the volume yet":          {grows, corev1.PersistentVolumeClaimNodeResizePending, state.Member{VolumeSize: 16 * clustertest.Gi, VolumeCapacity: 8 * clustertest.Gi}},
		"the driver cannot grow the volume to that size": {grows, corev1.PersistentVolumeClaimControllerResizeInfeasible, state.Member{VolumeSize: 16 * clustertest.Gi, VolumeCapacity: 8 * clustertest.Gi, VolumeProblem: "ControllerResizeInfeasible"}},
		"the node cannot grow the volume to that size":   {grows, corev1.PersistentVolumeClaimNodeResizeInfeasible, state.Member{VolumeSize: 16 * clustertest.Gi, VolumeCapacity: 8 * clustertest.Gi, VolumeProblem: "NodeResizeInfeasible"}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Controller: ptr.To(true)}}}}
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("16Gi")}
			claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("16Gi")}
			if test.grows {
				claim.Status.Capacity[corev1.ResourceStorage] = resource.MustParse("8Gi")
			}
			if test.status != "" {
				claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: test.status}
			}
			var m state.Member
			ObserveVolume(&m, claim)
			test.want.Volume = state.VolumePresent
			if diff := cmp.Diff(test.want, m); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Without the first, a member whose larger volume needs a restart is never restarted. Without the second, a member waits forever
// for data that does not exist any more.
func TestAVolumeThatNeedsARestartOrIsLostIsSeen(t *testing.T) {
	since := metav1.NewTime(plantest.Noon)
	pending, done := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaim{}
	condition := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: since}
	pending.Status.Conditions = []corev1.PersistentVolumeClaimCondition{condition}
	condition.Status = corev1.ConditionFalse
	done.Status.Conditions = []corev1.PersistentVolumeClaimCondition{condition}
	lost := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost}}
	for name, test := range map[string]struct {
		claim *corev1.PersistentVolumeClaim
		since time.Time
		state state.VolumeState
	}{
		"the file system grows with the next Pod": {pending, since.Time, state.VolumePresent},
		"the file system has grown":               {done, time.Time{}, state.VolumePresent},
		"the PersistentVolume is missing":         {lost, time.Time{}, state.VolumeLost},
	} {
		var m state.Member
		ObserveVolume(&m, test.claim)
		if m.FileSystemPendingSince != test.since || m.Volume != test.state {
			t.Errorf("%s: pending since %s, state %v", name, m.FileSystemPendingSince, m.Volume)
		}
	}
}

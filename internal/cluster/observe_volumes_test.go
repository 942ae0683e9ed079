package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// What Kubernetes says of a volume that was asked to grow decides whether the next one is touched, and whether the user
// is told that there is no more.
func TestWhatAVolumeHoldsAndWhatItsDriverSaysIsSeen(t *testing.T) {
	const grows = true
	for name, test := range map[string]struct {
		grows  bool
		status corev1.ClaimResourceStatus
		want   plan.Member
	}{
		"it holds what was asked for":  {!grows, "", plan.Member{VolumeSize: 16 * gi, VolumeCapacity: 16 * gi}},
		"it has yet to grow":           {grows, "", plan.Member{VolumeSize: 16 * gi, VolumeCapacity: 8 * gi}},
		"its driver is at it":          {grows, corev1.PersistentVolumeClaimControllerResizeInProgress, plan.Member{VolumeSize: 16 * gi, VolumeCapacity: 8 * gi}},
		"its host has yet to":          {grows, corev1.PersistentVolumeClaimNodeResizePending, plan.Member{VolumeSize: 16 * gi, VolumeCapacity: 8 * gi}},
		"its driver has not as much":   {grows, corev1.PersistentVolumeClaimControllerResizeInfeasible, plan.Member{VolumeSize: 16 * gi, VolumeCapacity: 8 * gi, VolumeProblem: "ControllerResizeInfeasible"}},
		"its host cannot take as much": {grows, corev1.PersistentVolumeClaimNodeResizeInfeasible, plan.Member{VolumeSize: 16 * gi, VolumeCapacity: 8 * gi, VolumeProblem: "NodeResizeInfeasible"}},
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
			var m plan.Member
			observeVolume(&m, claim)
			test.want.Volume = plan.VolumePresent
			if diff := cmp.Diff(test.want, m); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package kubecache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// A tool removed the annotation about the start, so the cached Pod did not show the flag any more. The client Service selected a survivor
// that had lost its membership. A restore counted it as one of three voters.
func TestACachedPodShowsThatEtcdWasForcedToStartAlone(t *testing.T) {
	pod := pods.NewPod(clustertest.State(plantest.Formed, plantest.Members(3)), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartForce}, clustertest.SeedImage)
	delete(pod.Annotations, pods.AnnotationStart)
	if _, err := Strip(pod); err != nil {
		t.Fatal(err)
	}
	if start := pods.StartOf(pod); start != state.StartForce {
		t.Errorf("the start is %v", start)
	}
}

// A Pod of an earlier release has no note of the spec that it was created for, so all of it is compared with the spec.
func TestThePodOfAnEarlierReleaseIsCachedAsAWhole(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	pod := pods.NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, clustertest.SeedImage)
	delete(pod.Annotations, pods.AnnotationTemplate)
	cached, err := Strip(pod.DeepCopy())
	if err != nil || !cmp.Equal(cached, pod) {
		t.Errorf("the cached Pod differs, %v:\n%s", err, cmp.Diff(pod, cached))
	}
}

func TestAPassSeesTheSameInACachedVolume(t *testing.T) {
	now := metav1.NewTime(plantest.Noon)
	volume := pods.NewVolume(clustertest.State(plantest.Policy(clustertest.EveryField)), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1})
	volume.OwnerReferences, volume.Labels[v1beta2.LabelReplacedOf] = clustertest.Controlled("uid-example", "example", nil).OwnerReferences, "example"
	volume.Status = corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
		AllocatedResourceStatuses: map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizeInfeasible},
		Conditions:                []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: now}},
	}
	whole := volume.DeepCopy()
	if _, err := Strip(volume); err != nil {
		t.Fatal(err)
	}
	var want, got state.Member
	pods.ObserveVolume(&want, whole)
	pods.ObserveVolume(&got, volume)
	if !cmp.Equal(got, want) || got.VolumeProblem == "" || *volume.Spec.StorageClassName != "fast" || !cmp.Equal(volume.ObjectMeta, whole.ObjectMeta) {
		t.Errorf("the cached volume is %+v", volume)
	}
}

func TestTheTableOfSharedWordsIsBounded(t *testing.T) {
	var table wordTable
	for i := range 2 * wordLimit {
		word := time.Duration(i).String()
		if got := table.Share(word); got != word {
			t.Fatalf("%q became %q", word, got)
		}
	}
	if len(table.known) != wordLimit {
		t.Errorf("the table has %d words, the limit is %d", len(table.known), wordLimit)
	}
}

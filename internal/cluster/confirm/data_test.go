package confirm

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

func TestAVolumeInPhaseLostIsConfirmedToHaveNoData(t *testing.T) {
	name := plantest.NameOf(0)
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", name, nil), Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost}}
	c, v := confirmerBeside(t, volume)
	if err := c.confirmAbsent(t.Context(), v, &corev1.PersistentVolumeClaim{}, name); err != nil {
		t.Error(err)
	}
	if got := pods.VolumeOf(volume); got != state.VolumeLost {
		t.Errorf("the volume is %q", got)
	}
}

func TestAMemberWhosePodIsReadyIsNotRemovedOnAnOldCache(t *testing.T) {
	name := plantest.NameOf(0)
	pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", name, nil)}
	step := steps.RemoveMember{Name: name, Cause: "it has not served for 5m"}
	c, v := confirmerBeside(t, pod.DeepCopy())
	if err := c.ConfirmData(t.Context(), v, step); err != nil {
		t.Errorf("a Pod that is not ready: %v", err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	c, v = confirmerBeside(t, pod)
	if err := c.ConfirmData(t.Context(), v, step); !errors.Is(err, view.ErrBehind) {
		t.Errorf("a Pod that is ready: %v", err)
	}
}

// The cache is of five minutes ago, when the member started. It has served since, and a drain has just stopped it.
func TestAMemberThatServedMeanwhileIsNotRemovedOnAnOldCache(t *testing.T) {
	notReady := func(since time.Time) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(0), nil)}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(since)}}
		return pod
	}
	step := steps.RemoveMember{Name: plantest.NameOf(0), Cause: "it has not served for 5m"}
	for name, test := range map[string]struct {
		live *corev1.Pod
		want error
	}{
		"it has been so since the cache saw it": {notReady(plantest.Noon.Add(-5 * time.Minute)), nil},
		"it has served meanwhile":               {notReady(plantest.Noon), view.ErrBehind},
	} {
		c, v := confirmerBeside(t, notReady(plantest.Noon.Add(-5*time.Minute)))
		live, _ := confirmerBeside(t, test.live)
		c.APIReader = live.Client
		if err := c.ConfirmData(t.Context(), v, step); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// leaving is an object that is being deleted.
func leaving(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: plantest.Noon}, []string{"kubernetes.io/pvc-protection"}
	return m
}

func TestDataIsNotCalledGoneAndNoNameIsReusedWhileTheVolumeExists(t *testing.T) {
	name := plantest.NameOf(0)
	gone := steps.RemoveMember{ID: 1, Name: name, Cause: state.LostData}
	added := steps.AddLearner{Name: name}
	ready := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	for sentence, test := range map[string]struct {
		object client.Object
		step   steps.Step
		want   error
	}{
		"the volume exists":                                         {&corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", name, nil)}, gone, view.ErrBehind},
		"the volume of another cluster has the name":                {&corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-other", name, nil)}, gone, view.ErrForeign},
		"the Pod is ready, so it has data":                          {&corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", name, nil), Status: ready}, gone, view.ErrBehind},
		"the volume of a lost voter exists":                         {&corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", name, nil)}, steps.BeginRecovery{Member: "other"}, view.ErrBehind},
		"the volume of a lost voter is being deleted":               {&corev1.PersistentVolumeClaim{ObjectMeta: leaving(clustertest.Controlled("uid-example", name, nil))}, steps.BeginRecovery{Member: "other"}, nil},
		"a volume with the name of the new member exists":           {&corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", name, nil)}, added, view.ErrBehind},
		"a volume with the name of the new member is being deleted": {&corev1.PersistentVolumeClaim{ObjectMeta: leaving(clustertest.Controlled("uid-example", name, nil))}, added, view.ErrBehind},
		"the volume is being deleted":                               {&corev1.PersistentVolumeClaim{ObjectMeta: leaving(clustertest.Controlled("uid-example", name, nil))}, gone, nil},
		"a Pod with the name of the new member exists":              {&corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", name, nil)}, added, view.ErrBehind},
		"only objects of another cluster exist":                     {&corev1.Pod{ObjectMeta: clustertest.Controlled("uid-other", "other", nil)}, added, nil},
	} {
		c, v := confirmerBeside(t, test.object)
		v.KnownVoters = []string{name}
		if err := c.ConfirmData(t.Context(), v, test.step); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", sentence, err, test.want)
		}
	}
}

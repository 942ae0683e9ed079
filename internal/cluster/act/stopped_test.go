package act

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// If a Pod that runs were deleted like that, two etcd processes could have the same data.
func TestOnlyAPodThatHasStoppedIsDeletedWithoutItsKubelet(t *testing.T) {
	deleted := metav1.Now()
	for name, test := range map[string]struct {
		deleted *metav1.Time
		phase   corev1.PodPhase
		gone    bool
	}{
		"the Pod has stopped":                 {&deleted, corev1.PodSucceeded, true},
		"the containers of the Pod failed":    {&deleted, corev1.PodFailed, true},
		"the containers of the Pod may run":   {&deleted, corev1.PodRunning, false},
		"another Pod with the name runs":      {nil, corev1.PodRunning, false},
		"another Pod with the name has ended": {nil, corev1.PodFailed, false},
	} {
		pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(1), nil), Status: corev1.PodStatus{Phase: test.phase}}
		pod.DeletionTimestamp = test.deleted
		pod.Finalizers = []string{"example.com/held"} // the fake API server keeps no object that is being deleted without one
		a, v := actorBeside(t, pod)
		writes := &deletions{Client: a.Client}
		a.Client = writes
		v.State = clustertest.State(plantest.Formed, plantest.Members(3))
		err := a.Act(t.Context(), v, steps.ForceDeletePod{Name: plantest.NameOf(1), Stopped: true})
		if deleted := writes.n > 0; deleted != test.gone || errors.Is(err, view.ErrBehind) == test.gone {
			t.Errorf("%s: deleted %t, error %v", name, deleted, err)
		}
	}
}

func TestAPodThatIsGoneNeedsNoDeletion(t *testing.T) {
	a, v := actorBeside(t)
	if err := a.Act(t.Context(), v, steps.ForceDeletePod{Name: plantest.NameOf(1), Stopped: true}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

func TestAFinalizerOfOthersIsRecognisedAfterTheDeletion(t *testing.T) {
	now := metav1.Now()
	for name, test := range map[string]struct {
		grace *int64
		held  bool
	}{"the kubelet has not confirmed the end": {ptr.To[int64](30), false}, "only the finalizer is left": {ptr.To[int64](0), true}} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, DeletionGracePeriodSeconds: test.grace}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}
		var m state.Member
		pods.ObservePod(&m, pod, now.Time)
		if !m.Stopped || m.Held != test.held {
			t.Errorf("%s: stopped %t, held %t", name, m.Stopped, m.Held)
		}
	}
}

// deletions counts the deletions of objects.
type deletions struct {
	client.Client
	n int
}

func (d *deletions) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	d.n++
	return nil
}

package confirm

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Members 1 and 2 refuse the operator because of their CA, and vote. The cache showed both Pods as ready, so one was restarted. By then the other one had
// stopped, so the restart took the quorum (SIM_SEED=21, world 15).
func TestAMemberIsRestartedOnlyIfTheReadyPodsThatCountAreStillReady(t *testing.T) {
	pod := func(i int, changes ...func(*corev1.Pod)) client.Object {
		p := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(i), nil)}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		for _, change := range changes {
			change(p)
		}
		return p
	}
	unready := func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }
	stopping := func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: plantest.Noon}, []string{"example.com/held"}
	}
	foreign := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-other" }
	for name, test := range map[string]struct {
		live  []client.Object
		ready bool
		want  error
	}{
		"both Pods are ready":                                  {[]client.Object{pod(1), pod(2)}, true, nil},
		"the other Pod is not ready":                           {[]client.Object{pod(1), pod(2, unready)}, true, view.ErrBehind},
		"the other Pod is being deleted":                       {[]client.Object{pod(1), pod(2, stopping)}, true, view.ErrBehind},
		"the other Pod does not exist":                         {[]client.Object{pod(1)}, true, view.ErrBehind},
		"the other Pod belongs to another cluster":             {[]client.Object{pod(1), pod(2, foreign)}, true, view.ErrBehind},
		"the Pod to restart was not ready and is ready by now": {[]client.Object{pod(1), pod(2)}, false, view.ErrBehind},
		"the Pod to restart is not ready, as it was":           {[]client.Object{pod(1, unready), pod(2)}, false, nil},
	} {
		for _, reason := range []string{v1beta2.ReasonRotatingCertificates, v1beta2.ReasonCertificateLacksName, v1beta2.ReasonSettling, v1beta2.ReasonResizingVolume} {
			c, v := confirmerBeside(t, test.live...)
			unseen := func(m *state.Member) { m.Trust, m.Answers, m.Serving = "old", false, false }
			v.State = clustertest.State(plantest.Formed, plantest.Members(3), plantest.With(1, unseen, func(m *state.Member) { m.PodReady = test.ready }), plantest.With(2, unseen))
			if err := c.ConfirmData(t.Context(), v, steps.DeletePod{Name: plantest.NameOf(1), Reason: reason}); !errors.Is(err, test.want) {
				t.Errorf("%s (%s): %v, want %v", name, reason, err, test.want)
			}
		}
	}
}

// What counts by no Pod is not held up by Pods that change: a person has asked for it, or all members serve.
func TestAMemberStopsForHibernationWhateverTheOtherPodsAre(t *testing.T) {
	c, v := confirmerBeside(t)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Silent))
	if err := c.ConfirmData(t.Context(), v, steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonHibernating}); err != nil {
		t.Error(err)
	}
}

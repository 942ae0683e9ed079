package confirm

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A webhook refused to delete one of the old members when the others had stopped. Neither they nor the seed served.
func TestARestoreStopsNoMemberIfOneOfThemCannotBeDeleted(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, plantest.NameOf(1), errors.New("a policy protects it"))
	for name, test := range map[string]struct {
		answer error
		ended  bool
		says   string
	}{
		"a policy":                        {answer: refused, says: "a policy protects it"},
		"a policy, but the Pod has ended": {answer: refused, ended: true},
		"a webhook without dry runs":      {answer: apierrors.NewBadRequest(`admission webhook "x" does not support dry run`)},
		"nothing":                         {},
	} {
		var pods []client.Object
		for i := range 3 {
			pods = append(pods, &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(i), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning}})
		}
		if test.ended {
			pods[1].(*corev1.Pod).Status.Phase = corev1.PodFailed
		}
		c, v := confirmerBeside(t, pods...)
		v.State = clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.Asked)
		deleted := clustertest.RefusesStop(c.KubeAPI, test.answer, func([]client.DeleteOption) bool { return true })
		// Without the first check, restore-operator would save another full copy every 30 minutes while the deletion is refused.
		for _, planned := range []steps.Step{steps.AwaitSafetySnapshot{}, steps.BeginSwitch{}} {
			err := c.ConfirmData(t.Context(), v, planned)
			step, is := dryrun.RefusedStep(err)
			if is != (test.says != "") || !is && err != nil || *deleted > 0 {
				t.Errorf("%s refuses the deletion before %T: %v, %d Pods deleted", name, planned, err, *deleted)
				continue
			}
			if is && !strings.Contains(step.(steps.Wait).Message, test.says) {
				t.Errorf("%s refuses the deletion before %T: reported as %+v", name, planned, step)
			}
		}
	}
}

package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// A webhook refused to delete one of the old members when the others had stopped. Neither they nor the seed served.
func TestARestoreStopsNoMemberIfOneOfThemCannotBeDeleted(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, nameOf(1), errors.New("a policy protects it"))
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
			pods = append(pods, &corev1.Pod{ObjectMeta: controlled("uid-example", nameOf(i), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning}})
		}
		if test.ended {
			pods[1].(*corev1.Pod).Status.Phase = corev1.PodFailed
		}
		r, v := beside(t, pods...)
		v.State = state(formed, members(3), restored(v1beta2.RestoreSeeding), asked)
		deleted := refusesStop(r, test.answer, func([]client.DeleteOption) bool { return true })
		// Without the first check, restore-operator would save another full copy every 30 minutes while the deletion is refused.
		for _, planned := range []plan.Step{plan.AwaitSafetySnapshot{}, plan.BeginSwitch{}} {
			err := r.confirmData(t.Context(), v, planned)
			step, is := refusedStep(err)
			if is != (test.says != "") || !is && err != nil || *deleted > 0 {
				t.Errorf("%s refuses the deletion before %T: %v, %d Pods deleted", name, planned, err, *deleted)
				continue
			}
			if is && !strings.Contains(step.(plan.Wait).Message, test.says) {
				t.Errorf("%s refuses the deletion before %T: reported as %+v", name, planned, step)
			}
		}
	}
}

// refusesStop makes the API server return answer if the Pod of the second member is deleted with options for which refuses is true.
// It counts the deleted Pods.
func refusesStop(r *Reconciler, answer error, refuses func([]client.DeleteOption) bool) (deleted *int) {
	deleted = new(int)
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if !slices.Contains(options, client.DeleteOption(client.DryRunAll)) {
				*deleted++
			}
			if object.GetName() == nameOf(1) && refuses(options) {
				return answer
			}
			return c.Delete(ctx, object, options...)
		},
	})
	return deleted
}

// A policy refused deletions with a short grace period. The dry run had none, so the restore stopped the members whose Pods it could delete.
func TestTheDryRunOfAStopHasTheOptionsOfTheStop(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: controlled("uid-example", nameOf(1), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	r, v := beside(t, pod)
	v.State = state(formed, members(3), restored(v1beta2.RestoreSeeding), asked)
	long := strings.Repeat("x", 2*maxQuote)
	refusesStop(r, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, nameOf(1), errors.New(long)), func(options []client.DeleteOption) bool {
		return slices.Contains(options, client.DeleteOption(client.GracePeriodSeconds(stopGrace)))
	})
	step, is := refusedStep(r.rehearseStops(t.Context(), v, []corev1.Pod{*pod}))
	if !is {
		t.Fatal("the dry run was accepted")
	}
	if message := step.(plan.Wait).Message; strings.Contains(message, long) || !strings.Contains(message, "Correct the webhook") {
		t.Errorf("the message is not shortened: %s", message)
	}
}

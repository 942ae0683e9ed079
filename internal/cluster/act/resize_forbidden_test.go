package act

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// A quota, a LimitRange or a missing right forbids a resize for an hour, and then allows it. No member is restarted, and the
// operator does not write the same note at each try.
func TestAForbiddenResizeIsTriedAgainAndRestartsNoMember(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=1Gi"), nil))
	pod := podToResize(s)
	pod.Namespace, pod.OwnerReferences = "ns", clustertest.Controlled("uid-example", pod.Name, nil).OwnerReferences
	a, v := actorBeside(t, pod)
	v.Spec.Pod = &v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: clustertest.List("memory=2Gi")}}
	var answer error = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, errors.New("exceeded quota: team"))
	patches := 0
	watch, _ := a.Client.(client.WithWatch)
	a.Client = interceptor.NewClient(watch, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return answer
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			patches++
			return c.Patch(ctx, object, patch, opts...)
		},
	})
	look := func() (m state.Member) {
		var live corev1.Pod
		if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &live); err != nil {
			t.Fatal(err)
		}
		pods.ObservePod(&m, &live, v.Now)
		pods.ObserveTemplate(v.State, &m, &live)
		pods.ObserveResize(v.State, &m, &live)
		return m
	}
	for range 5 {
		err := a.Act(t.Context(), v, steps.ResizePod{Name: pod.Name})
		wait, is := dryrun.RefusedStep(err)
		if !is || !strings.Contains(steps.Describe(v.State, wait).Message, "exceeded quota: team") {
			t.Fatalf("the status does not report the quota: %v", err)
		}
		v.Now = v.Now.Add(15 * time.Minute)
		if m := look(); m.Resize != lifecycle.ResizeWanted {
			t.Fatalf("at %s the resize is %q: the member would be restarted", v.Now, m.Resize)
		}
	}
	if patches > 2 {
		t.Errorf("the note was written %d times", patches)
	}
	answer = nil
	if err := a.Act(t.Context(), v, steps.ResizePod{Name: pod.Name}); err != nil {
		t.Fatal(err)
	}
	var live corev1.Pod
	if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &live); err != nil {
		t.Fatal(err)
	}
	if asked := pods.ResizeOf(&live); asked.Forbidden != "" || !asked.At.Equal(v.Now) {
		t.Errorf("the node has no time for the resize that is allowed now: %+v", asked)
	}
}

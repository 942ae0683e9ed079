package act

import (
	"context"
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
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// TestARefusalToResizeIsNotedOnThePod calls the step against API servers that answer in different ways.
func TestARefusalToResizeIsNotedOnThePod(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods/resize"}
	for name, test := range map[string]struct {
		answer    error
		noted     bool
		refused   bool
		forbidden bool
	}{
		"the API server accepts the resize": {nil, true, false, false},
		"the subresource does not exist":    {apierrors.NewNotFound(resource, "example"), true, true, false},
		"the operator lacks the permission": {apierrors.NewForbidden(resource, "example", nil), true, false, true},
		"the QoS class would change":        {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "example", nil), true, true, false},
		"the API server is busy":            {apierrors.NewTooManyRequests("later", 1), true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=1Gi"), nil))
			pod := podToResize(s)
			pod.Namespace, pod.OwnerReferences = "ns", clustertest.Controlled("uid-example", pod.Name, nil).OwnerReferences
			a, v := actorBeside(t, pod)
			v.Spec.Pod = &v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: clustertest.List("memory=2Gi")}}
			watch, ok := a.Client.(client.WithWatch)
			if !ok {
				t.Fatal("the fake client does not watch")
			}
			var patch string
			a.Client = interceptor.NewClient(watch, interceptor.Funcs{
				SubResourcePatch: func(_ context.Context, _ client.Client, name string, object client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
					data, err := p.Data(object)
					patch = name + " " + string(data)
					if err != nil {
						return err
					}
					return test.answer
				},
			})
			err := a.Act(t.Context(), v, steps.ResizePod{Name: pod.Name})
			if wantErr := test.answer != nil && !test.refused; (err != nil) != wantErr {
				t.Errorf("error %v, want one: %t", err, wantErr)
			}
			if !strings.HasPrefix(patch, "resize ") || !strings.Contains(patch, `"path":"/spec/containers/0/resources","value":{"requests":{"memory":"2Gi"}}`) {
				t.Errorf("the patch is %s", patch)
			}
			var after corev1.Pod
			if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &after); err != nil {
				t.Fatal(err)
			}
			asked := pods.ResizeOf(&after)
			if noted := asked.Template == pods.Template(v.State); noted != test.noted || (asked.Refused != "") != test.refused || (asked.Forbidden != "") != test.forbidden {
				t.Errorf("the Pod's note is %+v", asked)
			}
		})
	}
}

// The user asked for too much memory, the node deferred it, and the user took it back.
func TestAResizeThatIsTakenBackIsTakenBackInThePod(t *testing.T) {
	one, big := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=1Gi"), nil)), clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=64Gi"), nil))
	pod := podToResize(one)
	pod.Annotations[pods.AnnotationResize] = pods.Text(pods.Resize{Template: pods.Template(big), At: plantest.Noon})
	pod.Spec.Containers[0].Resources.Requests = clustertest.List("memory=64Gi")
	deferred := corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}
	pod.Status.Conditions = append(pod.Status.Conditions, deferred)
	if m := seenIn(big, pod); m.Resize != lifecycle.ResizeUnderWay {
		t.Fatalf("before it is taken back: %+v", m)
	}
	if m := seenIn(one, pod); m.Resize != lifecycle.ResizeWanted || !m.Outdated {
		t.Fatalf("the Pod asks for 64Gi and the spec for 1Gi: outdated %t, resize %q", m.Outdated, m.Resize)
	}
	pod.Namespace, pod.OwnerReferences = "ns", clustertest.Controlled("uid-example", pod.Name, nil).OwnerReferences
	a, v := actorBeside(t, pod)
	v.ClusterID, v.Spec.Pod = plantest.OldID, one.Spec.Pod
	a.Client = interceptor.NewClient(a.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return nil
		},
	})
	if err := a.Act(t.Context(), v, steps.ResizePod{Name: pod.Name}); err != nil {
		t.Fatal(err)
	}
	var after corev1.Pod
	if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &after); err != nil {
		t.Fatal(err)
	}
	after.Spec.Containers[0].Resources.Requests = clustertest.List("memory=1Gi")
	if m := seenIn(one, &after); m.Resize != lifecycle.ResizeUnderWay {
		t.Errorf("while the node has yet to see it: outdated %t, resize %q", m.Outdated, m.Resize)
	}
	after.Status.Conditions = nil
	m := seenIn(one, &after)
	if patch := pods.Text(pods.RelabelPatch(one, &after)); m.Outdated || !m.Relabel || !strings.Contains(patch, pods.AnnotationResize+`":null`) {
		t.Errorf("once it is done: outdated %t, relabel %t, patch %s", m.Outdated, m.Relabel, patch)
	}
}

// A quota may be raised later. Until then, the other rules must continue, and no member restarts because time has
// passed.
func TestAResizeThatAQuotaRefusesStopsNothingElseAndBeginsAnewLater(t *testing.T) {
	pod := podToResize(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=1Gi"), nil)))
	pod.Namespace, pod.OwnerReferences = "ns", clustertest.Controlled("uid-example", pod.Name, nil).OwnerReferences
	a, v := actorBeside(t, pod)
	v.ClusterID = plantest.OldID
	v.Spec.Pod = &v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: clustertest.List("memory=2Gi")}}
	a.Client = interceptor.NewClient(a.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, clustertest.ErrText("exceeded quota: q, requested: requests.memory=1Gi, used: requests.memory=3Gi, limited: requests.memory=3Gi"))
		},
	})
	if err := a.Act(t.Context(), v, steps.ResizePod{Name: pod.Name}); !failure.Skippable(v, "resizePods", steps.Done{}, err) {
		t.Errorf("the pass ends with %v", err)
	}
	v.Now = plantest.Noon.Add(time.Hour)
	_ = a.Act(t.Context(), v, steps.ResizePod{Name: pod.Name})
	var after corev1.Pod
	if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &after); err != nil {
		t.Fatal(err)
	}
	s := v.State
	s.Now = v.Now
	if m := seenIn(s, &after); m.Resize != lifecycle.ResizeWanted {
		t.Errorf("after an hour: outdated %t, resize %q", m.Outdated, m.Resize)
	}
}

// podToResize is the running Pod of a member that was made for a state.
func podToResize(s state.State) *corev1.Pod {
	return clustertest.Completed(pods.NewPod(s, steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}, ""))
}

// seenIn is what a look sees of a Pod.
func seenIn(s state.State, pod *corev1.Pod) state.Member {
	var m state.Member
	pods.ObservePod(&m, pod, s.Now)
	pods.ObserveTemplate(s, &m, pod)
	pods.ObserveResize(s, &m, pod)
	return m
}

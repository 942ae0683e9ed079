package cluster

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func list(pairs ...string) corev1.ResourceList {
	all := corev1.ResourceList{}
	for _, pair := range pairs {
		name, quantity, _ := strings.Cut(pair, "=")
		all[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return all
}

func withResources(requests, limits corev1.ResourceList) change {
	return policy(v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}})
}

// runningFor is the running Pod of a member that was made for a state, as kubelet and API server complete it.
func runningFor(s plan.State) *corev1.Pod {
	pod := newPod(s, plan.CreateMember{Name: nameOf(1), Incarnation: 1, Start: plan.StartRejoin}, "")
	c := &pod.Spec.Containers[0]
	for name, limit := range c.Resources.Limits {
		if _, ok := c.Resources.Requests[name]; !ok {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[name] = limit
		}
	}
	pod.UID = "uid-pod"
	has := c.Resources
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, Resources: &has, AllocatedResources: has.Requests,
	}}}
	return pod
}

// A resize that is waited for holds up all other changes. If it is waited for until the time of a clock that was ahead, so is an upgrade of etcd.
func TestWhichChangesAreMadeInTheRunningPod(t *testing.T) {
	gib, two := withResources(list("memory=1Gi"), nil), withResources(list("memory=2Gi"), nil)
	noted := func(asked resize) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations[annotationResize] = text(asked) }
	}
	accepted := func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = list("memory=2Gi") }
	condition := func(kind corev1.PodConditionType, reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason})
		}
	}
	target := template(state(two))
	now, earlier, tomorrow := resize{Template: target, At: noon}, resize{Template: target, At: noon.Add(-time.Minute)}, resize{Template: target, At: noon.Add(24 * time.Hour)}
	for name, test := range map[string]struct {
		was, is  change
		pod      []func(*corev1.Pod)
		outdated bool
		resize   plan.ResizeState
	}{
		"more memory":                                                    {gib, two, nil, true, plan.ResizeWanted},
		"memory for the first time":                                      {none, two, nil, true, plan.ResizeWanted},
		"limits without requests":                                        {withResources(nil, list("memory=1Gi", "cpu=1")), withResources(nil, list("memory=1Gi", "cpu=2")), nil, true, plan.ResizeWanted},
		"a higher CPU limit beside an unchanged request":                 {withResources(list("cpu=1"), list("cpu=1", "memory=1Gi")), withResources(list("cpu=1"), list("cpu=2", "memory=1Gi")), nil, true, plan.ResizeWanted},
		"more memory for a Pod with limits of a LimitRange":              {gib, two, []func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = list("cpu=4", "memory=8Gi") }}, true, plan.ResizeWanted},
		"more memory and another variable":                               {gib, policy(v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: list("memory=2Gi")}, EtcdEnv: []corev1.EnvVar{{Name: "A"}}}), nil, true, plan.ResizeNone},
		"no change":                                                      {two, two, nil, false, plan.ResizeNone},
		"a member that does not run":                                     {gib, two, []func(*corev1.Pod){func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }}, true, plan.ResizeNone},
		"a resize that was only noted":                                   {gib, two, []func(*corev1.Pod){noted(now)}, true, plan.ResizeWanted},
		"a resize that the kubelet has not seen yet":                     {gib, two, []func(*corev1.Pod){noted(now), accepted}, true, plan.ResizeUnderWay},
		"a resize that is deferred":                                      {gib, two, []func(*corev1.Pod){noted(now), accepted, condition(corev1.PodResizePending, corev1.PodReasonDeferred)}, true, plan.ResizeUnderWay},
		"a resize that is infeasible on the node":                        {gib, two, []func(*corev1.Pod){noted(earlier), accepted, condition(corev1.PodResizePending, corev1.PodReasonInfeasible)}, true, plan.ResizeNone},
		"a resize that the API server refused":                           {gib, two, []func(*corev1.Pod){noted(resize{Template: target, At: noon, Refused: "no"})}, true, plan.ResizeNone},
		"another resize than the refused one":                            {gib, two, []func(*corev1.Pod){noted(resize{Template: "other", At: noon, Refused: "no"})}, true, plan.ResizeWanted},
		"a resize that was forbidden an hour ago":                        {gib, two, []func(*corev1.Pod){noted(resize{Template: target, At: noon.Add(-time.Hour), Forbidden: "quota"})}, true, plan.ResizeWanted},
		"a resize that is not done after an hour":                        {gib, two, []func(*corev1.Pod){noted(resize{Template: target, At: noon.Add(-time.Hour)}), accepted}, true, plan.ResizeNone},
		"a resize that was asked for by a clock that was slightly ahead": {gib, two, []func(*corev1.Pod){noted(resize{Template: target, At: noon.Add(30 * time.Second)}), accepted}, true, plan.ResizeUnderWay},
		"a resize that was asked for by a clock that was a day ahead":    {gib, two, []func(*corev1.Pod){noted(tomorrow), accepted}, true, plan.ResizeNone},
		"a resize that was asked for by such a clock, and is infeasible": {gib, two, []func(*corev1.Pod){noted(tomorrow), accepted, condition(corev1.PodResizePending, corev1.PodReasonInfeasible)}, true, plan.ResizeNone},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningFor(state(formed, members(3), test.was))
			for _, change := range test.pod {
				change(pod)
			}
			s := state(formed, members(3), test.is)
			var m plan.Member
			observePod(&m, pod, s.Now)
			observeTemplate(s, &m, pod)
			observeResize(s, &m, pod)
			if m.Outdated != test.outdated || m.Resize != test.resize {
				t.Errorf("outdated %t, resize %q, want %t, %q", m.Outdated, m.Resize, test.outdated, test.resize)
			}
		})
	}
}

func TestAResizedPodGetsTheNoteOfANewOne(t *testing.T) {
	s := state(formed, members(3), withResources(list("memory=2Gi"), nil))
	for name, at := range map[string]time.Time{"the resize ends in time": noon, "the resize ends while the operator is down for an hour": noon.Add(-time.Hour)} {
		t.Run(name, func(t *testing.T) {
			pod := runningFor(s)
			pod.Annotations[annotationTemplate] = template(state(formed, members(3), withResources(list("memory=1Gi"), nil)))
			pod.Annotations[annotationResize] = text(resize{Template: template(s), At: at})
			var m plan.Member
			observePod(&m, pod, s.Now)
			observeTemplate(s, &m, pod)
			observeResize(s, &m, pod)
			if m.Outdated || !m.Relabel || m.Resize != plan.ResizeNone {
				t.Errorf("outdated %t, relabel %t, resize %q", m.Outdated, m.Relabel, m.Resize)
			}
			encoded, err := json.Marshal(relabelPatch(s, pod))
			if err != nil || !strings.Contains(string(encoded), template(s)) {
				t.Errorf("the patch %s does not note what the Pod is made for now, error %v", encoded, err)
			}
		})
	}
}

func TestAnUnfinishedResizeIsNotNotedAsDone(t *testing.T) {
	s := state(formed, members(3), withResources(list("memory=2Gi"), nil))
	pod := runningFor(state(formed, members(3), withResources(list("memory=1Gi"), nil)))
	if encoded := text(relabelPatch(s, pod)); strings.Contains(encoded, template(s)) {
		t.Errorf("the patch %s notes resources that the Pod does not have", encoded)
	}
}

// TestARefusalToResizeIsNotedOnThePod calls the step against API servers that answer in different ways.
func TestARefusalToResizeIsNotedOnThePod(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods/resize"}
	for name, test := range map[string]struct {
		answer    error
		noted     bool
		refused   bool
		forbidden bool
	}{
		"the API server accepts the resize": {nil, true, false, false},
		"the subresource does not exist":    {apierrors.NewNotFound(pods, "example"), true, true, false},
		"the operator lacks the permission": {apierrors.NewForbidden(pods, "example", nil), true, false, true},
		"the QoS class would change":        {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "example", nil), true, true, false},
		"the API server is busy":            {apierrors.NewTooManyRequests("later", 1), true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := state(formed, members(3), withResources(list("memory=1Gi"), nil))
			pod := runningFor(s)
			pod.Namespace, pod.OwnerReferences = "ns", controlled("uid-example", pod.Name, nil).OwnerReferences
			r, v := beside(t, pod)
			v.Spec.Pod = &v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: list("memory=2Gi")}}
			watch, ok := r.Client.(client.WithWatch)
			if !ok {
				t.Fatal("the fake client does not watch")
			}
			var patch string
			r.Client = interceptor.NewClient(watch, interceptor.Funcs{
				SubResourcePatch: func(_ context.Context, _ client.Client, name string, object client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
					data, err := p.Data(object)
					patch = name + " " + string(data)
					if err != nil {
						return err
					}
					return test.answer
				},
			})
			err := r.act(t.Context(), v, plan.ResizePod{Name: pod.Name})
			if wantErr := test.answer != nil && !test.refused; (err != nil) != wantErr {
				t.Errorf("error %v, want one: %t", err, wantErr)
			}
			if !strings.HasPrefix(patch, "resize ") || !strings.Contains(patch, `"path":"/spec/containers/0/resources","value":{"requests":{"memory":"2Gi"}}`) {
				t.Errorf("the patch is %s", patch)
			}
			var after corev1.Pod
			if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &after); err != nil {
				t.Fatal(err)
			}
			asked := resizeOf(&after)
			if noted := asked.Template == template(v.State); noted != test.noted || (asked.Refused != "") != test.refused || (asked.Forbidden != "") != test.forbidden {
				t.Errorf("the Pod's note is %+v", asked)
			}
		})
	}
}

// observedAt is a Pod as one look sees it.
func observedAt(s plan.State, pod *corev1.Pod) plan.Member {
	var m plan.Member
	observePod(&m, pod, s.Now)
	observeTemplate(s, &m, pod)
	observeResize(s, &m, pod)
	return m
}

// The user asked for too much memory, the node deferred it, and the user took it back.
func TestAResizeThatIsTakenBackIsTakenBackInThePod(t *testing.T) {
	one, big := state(formed, members(3), withResources(list("memory=1Gi"), nil)), state(formed, members(3), withResources(list("memory=64Gi"), nil))
	pod := runningFor(one)
	pod.Annotations[annotationResize] = text(resize{Template: template(big), At: noon})
	pod.Spec.Containers[0].Resources.Requests = list("memory=64Gi")
	deferred := corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}
	pod.Status.Conditions = append(pod.Status.Conditions, deferred)
	if m := observedAt(big, pod); m.Resize != plan.ResizeUnderWay {
		t.Fatalf("before it is taken back: %+v", m)
	}
	if m := observedAt(one, pod); m.Resize != plan.ResizeWanted || !m.Outdated {
		t.Fatalf("the Pod asks for 64Gi and the spec for 1Gi: outdated %t, resize %q", m.Outdated, m.Resize)
	}
	pod.Namespace, pod.OwnerReferences = "ns", controlled("uid-example", pod.Name, nil).OwnerReferences
	r, v := beside(t, pod)
	v.ClusterID, v.Spec.Pod = oldID, one.Spec.Pod
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return nil
		},
	})
	if err := r.act(t.Context(), v, plan.ResizePod{Name: pod.Name}); err != nil {
		t.Fatal(err)
	}
	var after corev1.Pod
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &after); err != nil {
		t.Fatal(err)
	}
	after.Spec.Containers[0].Resources.Requests = list("memory=1Gi")
	if m := observedAt(one, &after); m.Resize != plan.ResizeUnderWay {
		t.Errorf("while the node has yet to see it: outdated %t, resize %q", m.Outdated, m.Resize)
	}
	after.Status.Conditions = nil
	m := observedAt(one, &after)
	if patch := text(relabelPatch(one, &after)); m.Outdated || !m.Relabel || !strings.Contains(patch, annotationResize+`":null`) {
		t.Errorf("once it is done: outdated %t, relabel %t, patch %s", m.Outdated, m.Relabel, patch)
	}
}

// The note of a finished resize does not record what others did to the Pod since.
func TestNoMemberRestartsForTheNoteOfAnEarlierResize(t *testing.T) {
	s := state(formed, members(3), withResources(list("memory=2Gi"), nil))
	for name, asked := range map[string]resize{
		"done":    {Template: template(s), At: noon.Add(-time.Hour)},
		"refused": {Template: "other", At: noon.Add(-time.Hour), Refused: "no such subresource"},
	} {
		pod := runningFor(s)
		pod.Annotations[annotationResize] = text(asked)
		pod.Spec.Containers[0].Resources.Requests = list("memory=3Gi")
		if m := observedAt(s, pod); m.Outdated || m.Resize != plan.ResizeNone {
			t.Errorf("%s: outdated %t, resize %q", name, m.Outdated, m.Resize)
		}
	}
}

// Kubernetes removes no request, limit or claim from a running Pod. Without a restart the members would differ.
func TestAMemberRestartsForARequestThatIsRemoved(t *testing.T) {
	claims := policy(v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: list("memory=1Gi"), Claims: []corev1.ResourceClaim{{Name: "x"}}}})
	for name, test := range map[string]struct{ was, is change }{
		"one of two requests is removed":                            {withResources(list("cpu=4", "memory=1Gi"), nil), withResources(list("memory=1Gi"), nil)},
		"all requests are removed":                                  {withResources(list("cpu=4"), nil), none},
		"a request is removed, and its limit is kept":               {withResources(list("memory=1Gi"), list("memory=2Gi")), withResources(nil, list("memory=2Gi"))},
		"a limit is removed":                                        {withResources(list("memory=1Gi"), list("memory=2Gi")), withResources(list("memory=1Gi"), nil)},
		"a claim is added":                                          {withResources(list("memory=1Gi"), nil), claims},
		"a claim is removed":                                        {claims, withResources(list("memory=1Gi"), nil)},
		"one of two requests is removed, and the other one changes": {withResources(list("cpu=4", "memory=1Gi"), nil), withResources(list("memory=2Gi"), nil)},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningFor(state(formed, members(3), test.was))
			s := state(formed, members(3), test.is)
			if m := observedAt(s, pod); !m.Outdated || m.Resize != plan.ResizeNone {
				t.Errorf("the Pod has %s and the spec %s: outdated %t, resize %q", text(pod.Spec.Containers[0].Resources), text(s.PodPolicy().Resources), m.Outdated, m.Resize)
			}
		})
	}
}

// A LimitRange fills in its defaults again when a Pod is resized.
func TestAResizeIsDoneThoughALimitRangeAddsLimits(t *testing.T) {
	pod := runningFor(state(formed, members(3), withResources(list("memory=1Gi"), nil)))
	s := state(formed, members(3), withResources(list("memory=2Gi"), nil))
	pod.Annotations[annotationResize] = text(resize{Template: template(s), At: noon})
	has := corev1.ResourceRequirements{Requests: list("cpu=1", "memory=2Gi"), Limits: list("cpu=4", "memory=8Gi")}
	pod.Spec.Containers[0].Resources = has
	pod.Status.ContainerStatuses[0].Resources, pod.Status.ContainerStatuses[0].AllocatedResources = &has, has.Requests
	if m := observedAt(s, pod); m.Resize != plan.ResizeNone || m.Outdated {
		t.Errorf("outdated %t, resize %q", m.Outdated, m.Resize)
	}
}

// Kubelets of 1.33 do not report which resize a condition is about. It may be the previous one, which asked for too
// much.
func TestTheVerdictOnTheLastResizeDoesNotCountForTheNewOne(t *testing.T) {
	s := state(formed, members(3), withResources(list("memory=2Gi"), nil))
	pod := runningFor(state(formed, members(3), withResources(list("memory=1Gi"), nil)))
	pod.Annotations[annotationResize] = text(resize{Template: template(s), At: noon})
	pod.Spec.Containers[0].Resources.Requests = list("memory=2Gi")
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
	if m := observedAt(s, pod); m.Resize != plan.ResizeUnderWay {
		t.Errorf("at once: resize %q", m.Resize)
	}
	s.Now = noon.Add(30 * time.Second)
	if m := observedAt(s, pod); m.Resize != plan.ResizeNone || !m.Outdated {
		t.Errorf("after 30 s: outdated %t, resize %q", m.Outdated, m.Resize)
	}
}

// A kubelet that enforces no CPU quota continues to report the limit from before.
func TestACPULimitThatTheKubeletDoesNotReportIsTakenForDoneAfterAMinute(t *testing.T) {
	s := state(formed, members(3), withResources(list("cpu=1"), list("cpu=2")))
	pod := runningFor(s)
	pod.Annotations[annotationTemplate] = template(state(formed, members(3), withResources(list("cpu=1"), list("cpu=1"))))
	pod.Annotations[annotationResize] = text(resize{Template: template(s), At: noon.Add(-2 * time.Minute)})
	pod.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Requests: list("cpu=1"), Limits: list("cpu=1")}
	if m := observedAt(s, pod); m.Outdated || !m.Relabel {
		t.Errorf("outdated %t, resize %q", m.Outdated, m.Resize)
	}
}

// A quota may be raised later. Until then, the other rules must continue, and no member restarts because time has
// passed.
func TestAResizeThatAQuotaRefusesStopsNothingElseAndBeginsAnewLater(t *testing.T) {
	pod := runningFor(state(formed, members(3), withResources(list("memory=1Gi"), nil)))
	pod.Namespace, pod.OwnerReferences = "ns", controlled("uid-example", pod.Name, nil).OwnerReferences
	r, v := beside(t, pod)
	v.ClusterID = oldID
	v.Spec.Pod = &v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: list("memory=2Gi")}}
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, errText("exceeded quota: q, requested: requests.memory=1Gi, used: requests.memory=3Gi, limited: requests.memory=3Gi"))
		},
	})
	if err := r.act(t.Context(), v, plan.ResizePod{Name: pod.Name}); !skippable(v, "resizePods", plan.Done{}, err) {
		t.Errorf("the pass ends with %v", err)
	}
	v.Now = noon.Add(time.Hour)
	_ = r.act(t.Context(), v, plan.ResizePod{Name: pod.Name})
	var after corev1.Pod
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &after); err != nil {
		t.Fatal(err)
	}
	s := v.State
	s.Now = v.Now
	if m := observedAt(s, &after); m.Resize != plan.ResizeWanted {
		t.Errorf("after an hour: outdated %t, resize %q", m.Outdated, m.Resize)
	}
}

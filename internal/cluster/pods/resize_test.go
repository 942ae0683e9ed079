package pods

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// runningFor is the running Pod of a member that was made for a state.
func runningFor(s state.State) *corev1.Pod {
	return clustertest.Completed(NewPod(s, steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}, ""))
}

// A resize that is waited for holds up all other changes. If it is waited for until the time of a clock that was ahead, so is an upgrade of etcd.
func TestWhichChangesAreMadeInTheRunningPod(t *testing.T) {
	gib, two := clustertest.WithResources(clustertest.List("memory=1Gi"), nil), clustertest.WithResources(clustertest.List("memory=2Gi"), nil)
	noted := func(asked Resize) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations[AnnotationResize] = Text(asked) }
	}
	accepted := func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = clustertest.List("memory=2Gi") }
	condition := func(kind corev1.PodConditionType, reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason})
		}
	}
	target := Template(clustertest.State(two))
	now, earlier, tomorrow := Resize{Template: target, At: plantest.Noon}, Resize{Template: target, At: plantest.Noon.Add(-time.Minute)}, Resize{Template: target, At: plantest.Noon.Add(24 * time.Hour)}
	for name, test := range map[string]struct {
		was, is  plantest.Change
		pod      []func(*corev1.Pod)
		outdated bool
		resize   state.ResizeState
	}{
		"more memory":                                                    {gib, two, nil, true, lifecycle.ResizeWanted},
		"memory for the first time":                                      {none, two, nil, true, lifecycle.ResizeWanted},
		"limits without requests":                                        {clustertest.WithResources(nil, clustertest.List("memory=1Gi", "cpu=1")), clustertest.WithResources(nil, clustertest.List("memory=1Gi", "cpu=2")), nil, true, lifecycle.ResizeWanted},
		"a higher CPU limit beside an unchanged request":                 {clustertest.WithResources(clustertest.List("cpu=1"), clustertest.List("cpu=1", "memory=1Gi")), clustertest.WithResources(clustertest.List("cpu=1"), clustertest.List("cpu=2", "memory=1Gi")), nil, true, lifecycle.ResizeWanted},
		"more memory for a Pod with limits of a LimitRange":              {gib, two, []func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = clustertest.List("cpu=4", "memory=8Gi") }}, true, lifecycle.ResizeWanted},
		"more memory and another variable":                               {gib, plantest.Policy(v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: clustertest.List("memory=2Gi")}, EtcdEnv: []corev1.EnvVar{{Name: "A"}}}), nil, true, state.ResizeNone},
		"no change":                                                      {two, two, nil, false, state.ResizeNone},
		"a member that does not run":                                     {gib, two, []func(*corev1.Pod){func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }}, true, state.ResizeNone},
		"a resize that was only noted":                                   {gib, two, []func(*corev1.Pod){noted(now)}, true, lifecycle.ResizeWanted},
		"a resize that the kubelet has not seen yet":                     {gib, two, []func(*corev1.Pod){noted(now), accepted}, true, lifecycle.ResizeUnderWay},
		"a resize that is deferred":                                      {gib, two, []func(*corev1.Pod){noted(now), accepted, condition(corev1.PodResizePending, corev1.PodReasonDeferred)}, true, lifecycle.ResizeUnderWay},
		"a resize that is infeasible on the node":                        {gib, two, []func(*corev1.Pod){noted(earlier), accepted, condition(corev1.PodResizePending, corev1.PodReasonInfeasible)}, true, state.ResizeNone},
		"a resize that the API server refused":                           {gib, two, []func(*corev1.Pod){noted(Resize{Template: target, At: plantest.Noon, Refused: "no"})}, true, state.ResizeNone},
		"another resize than the refused one":                            {gib, two, []func(*corev1.Pod){noted(Resize{Template: "other", At: plantest.Noon, Refused: "no"})}, true, lifecycle.ResizeWanted},
		"a resize that was forbidden an hour ago":                        {gib, two, []func(*corev1.Pod){noted(Resize{Template: target, At: plantest.Noon.Add(-time.Hour), Forbidden: "quota"})}, true, lifecycle.ResizeWanted},
		"a resize that is not done after an hour":                        {gib, two, []func(*corev1.Pod){noted(Resize{Template: target, At: plantest.Noon.Add(-time.Hour)}), accepted}, true, state.ResizeNone},
		"a resize that was asked for by a clock that was slightly ahead": {gib, two, []func(*corev1.Pod){noted(Resize{Template: target, At: plantest.Noon.Add(30 * time.Second)}), accepted}, true, lifecycle.ResizeUnderWay},
		"a resize that was asked for by a clock that was a day ahead":    {gib, two, []func(*corev1.Pod){noted(tomorrow), accepted}, true, state.ResizeNone},
		"a resize that was asked for by such a clock, and is infeasible": {gib, two, []func(*corev1.Pod){noted(tomorrow), accepted, condition(corev1.PodResizePending, corev1.PodReasonInfeasible)}, true, state.ResizeNone},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningFor(clustertest.State(plantest.Formed, plantest.Members(3), test.was))
			for _, change := range test.pod {
				change(pod)
			}
			s := clustertest.State(plantest.Formed, plantest.Members(3), test.is)
			var m state.Member
			ObservePod(&m, pod, s.Now)
			ObserveTemplate(s, &m, pod)
			ObserveResize(s, &m, pod)
			if m.Outdated != test.outdated || m.Resize != test.resize {
				t.Errorf("outdated %t, resize %q, want %t, %q", m.Outdated, m.Resize, test.outdated, test.resize)
			}
		})
	}
}

func TestAResizedPodGetsTheNoteOfANewOne(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=2Gi"), nil))
	for name, at := range map[string]time.Time{"the resize ends in time": plantest.Noon, "the resize ends while the operator is down for an hour": plantest.Noon.Add(-time.Hour)} {
		t.Run(name, func(t *testing.T) {
			pod := runningFor(s)
			pod.Annotations[AnnotationTemplate] = Template(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=1Gi"), nil)))
			pod.Annotations[AnnotationResize] = Text(Resize{Template: Template(s), At: at})
			var m state.Member
			ObservePod(&m, pod, s.Now)
			ObserveTemplate(s, &m, pod)
			ObserveResize(s, &m, pod)
			if m.Outdated || !m.Relabel || m.Resize != state.ResizeNone {
				t.Errorf("outdated %t, relabel %t, resize %q", m.Outdated, m.Relabel, m.Resize)
			}
			encoded, err := json.Marshal(RelabelPatch(s, pod))
			if err != nil || !strings.Contains(string(encoded), Template(s)) {
				t.Errorf("the patch %s does not note what the Pod is made for now, error %v", encoded, err)
			}
		})
	}
}

func TestAnUnfinishedResizeIsNotNotedAsDone(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=2Gi"), nil))
	pod := runningFor(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=1Gi"), nil)))
	if encoded := Text(RelabelPatch(s, pod)); strings.Contains(encoded, Template(s)) {
		t.Errorf("the patch %s notes resources that the Pod does not have", encoded)
	}
}

// observedAt is a Pod as one look sees it.
func observedAt(s state.State, pod *corev1.Pod) state.Member {
	var m state.Member
	ObservePod(&m, pod, s.Now)
	ObserveTemplate(s, &m, pod)
	ObserveResize(s, &m, pod)
	return m
}

// The note of a finished resize does not record what others did to the Pod since.
func TestNoMemberRestartsForTheNoteOfAnEarlierResize(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=2Gi"), nil))
	for name, asked := range map[string]Resize{
		"done":    {Template: Template(s), At: plantest.Noon.Add(-time.Hour)},
		"refused": {Template: "other", At: plantest.Noon.Add(-time.Hour), Refused: "no such subresource"},
	} {
		pod := runningFor(s)
		pod.Annotations[AnnotationResize] = Text(asked)
		pod.Spec.Containers[0].Resources.Requests = clustertest.List("memory=3Gi")
		if m := observedAt(s, pod); m.Outdated || m.Resize != state.ResizeNone {
			t.Errorf("%s: outdated %t, resize %q", name, m.Outdated, m.Resize)
		}
	}
}

// Kubernetes removes no request, limit or claim from a running Pod. Without a restart the members would differ.
func TestAMemberRestartsForARequestThatIsRemoved(t *testing.T) {
	claims := plantest.Policy(v1beta2.PodPolicy{Resources: corev1.ResourceRequirements{Requests: clustertest.List("memory=1Gi"), Claims: []corev1.ResourceClaim{{Name: "x"}}}})
	for name, test := range map[string]struct{ was, is plantest.Change }{
		"one of two requests is removed":                            {clustertest.WithResources(clustertest.List("cpu=4", "memory=1Gi"), nil), clustertest.WithResources(clustertest.List("memory=1Gi"), nil)},
		"all requests are removed":                                  {clustertest.WithResources(clustertest.List("cpu=4"), nil), none},
		"a request is removed, and its limit is kept":               {clustertest.WithResources(clustertest.List("memory=1Gi"), clustertest.List("memory=2Gi")), clustertest.WithResources(nil, clustertest.List("memory=2Gi"))},
		"a limit is removed":                                        {clustertest.WithResources(clustertest.List("memory=1Gi"), clustertest.List("memory=2Gi")), clustertest.WithResources(clustertest.List("memory=1Gi"), nil)},
		"a claim is added":                                          {clustertest.WithResources(clustertest.List("memory=1Gi"), nil), claims},
		"a claim is removed":                                        {claims, clustertest.WithResources(clustertest.List("memory=1Gi"), nil)},
		"one of two requests is removed, and the other one changes": {clustertest.WithResources(clustertest.List("cpu=4", "memory=1Gi"), nil), clustertest.WithResources(clustertest.List("memory=2Gi"), nil)},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningFor(clustertest.State(plantest.Formed, plantest.Members(3), test.was))
			s := clustertest.State(plantest.Formed, plantest.Members(3), test.is)
			if m := observedAt(s, pod); !m.Outdated || m.Resize != state.ResizeNone {
				t.Errorf("the Pod has %s and the spec %s: outdated %t, resize %q", Text(pod.Spec.Containers[0].Resources), Text(s.PodPolicy().Resources), m.Outdated, m.Resize)
			}
		})
	}
}

// A LimitRange fills in its defaults again when a Pod is resized.
func TestAResizeIsDoneThoughALimitRangeAddsLimits(t *testing.T) {
	pod := runningFor(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=1Gi"), nil)))
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=2Gi"), nil))
	pod.Annotations[AnnotationResize] = Text(Resize{Template: Template(s), At: plantest.Noon})
	has := corev1.ResourceRequirements{Requests: clustertest.List("cpu=1", "memory=2Gi"), Limits: clustertest.List("cpu=4", "memory=8Gi")}
	pod.Spec.Containers[0].Resources = has
	pod.Status.ContainerStatuses[0].Resources, pod.Status.ContainerStatuses[0].AllocatedResources = &has, has.Requests
	if m := observedAt(s, pod); m.Resize != state.ResizeNone || m.Outdated {
		t.Errorf("outdated %t, resize %q", m.Outdated, m.Resize)
	}
}

// Kubelets of 1.33 do not report which resize a condition is about. It may be the previous one, which asked for too
// much.
func TestTheVerdictOnTheLastResizeDoesNotCountForTheNewOne(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=2Gi"), nil))
	pod := runningFor(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("memory=1Gi"), nil)))
	pod.Annotations[AnnotationResize] = Text(Resize{Template: Template(s), At: plantest.Noon})
	pod.Spec.Containers[0].Resources.Requests = clustertest.List("memory=2Gi")
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
	if m := observedAt(s, pod); m.Resize != lifecycle.ResizeUnderWay {
		t.Errorf("at once: resize %q", m.Resize)
	}
	s.Now = plantest.Noon.Add(30 * time.Second)
	if m := observedAt(s, pod); m.Resize != state.ResizeNone || !m.Outdated {
		t.Errorf("after 30 s: outdated %t, resize %q", m.Outdated, m.Resize)
	}
}

// A kubelet that enforces no CPU quota continues to report the limit from before.
func TestACPULimitThatTheKubeletDoesNotReportIsTakenForDoneAfterAMinute(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("cpu=1"), clustertest.List("cpu=2")))
	pod := runningFor(s)
	pod.Annotations[AnnotationTemplate] = Template(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithResources(clustertest.List("cpu=1"), clustertest.List("cpu=1"))))
	pod.Annotations[AnnotationResize] = Text(Resize{Template: Template(s), At: plantest.Noon.Add(-2 * time.Minute)})
	pod.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Requests: clustertest.List("cpu=1"), Limits: clustertest.List("cpu=1")}
	if m := observedAt(s, pod); m.Outdated || !m.Relabel {
		t.Errorf("outdated %t, resize %q", m.Outdated, m.Resize)
	}
}

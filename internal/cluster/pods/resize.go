package pods

import (
	"encoding/json"
	"maps"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// AnnotationResize holds what was asked of a running Pod. It is written before the Pod is resized, so that a refusal is not
// repeated and no resize is waited for without end.
const AnnotationResize = v1beta2.Group + "/resize"

// Resize is the content of AnnotationResize.
type Resize struct {
	// Template is the hash of what the Pod is resized to.
	Template string    `json:"template"`
	At       time.Time `json:"at"`
	// Refused is why Kubernetes refused it. It is empty if it did not.
	Refused string `json:"refused,omitempty"`
	// Forbidden is why Kubernetes does not allow it now. A quota, a LimitRange or the operator's rights may change.
	Forbidden string `json:"forbidden,omitempty"`
}

// takenBack reports whether something else was asked of a Pod than what it was made for, and was accepted.
func (asked Resize) takenBack(made string) bool {
	return asked.Template != "" && asked.Template != made && asked.Refused == ""
}

// ago returns how long ago the resize was asked for. If that time is ahead of now, it comes from a clock that was ahead, and the resize counts
// as asked for long ago: then the member restarts. Otherwise all rolls would wait for that time.
func (asked Resize) ago(now time.Time) time.Duration {
	if clock.Ahead(asked.At, now) {
		return math.MaxInt64
	}
	return clock.Elapsed(asked.At, now)
}

// inVain reports whether Kubernetes refused a resize, or the node did not carry it out in time.
func (asked Resize) inVain(now time.Time) bool {
	return asked.Refused != "" || asked.ago(now) > lifecycle.ResizeGrace
}

// ResizeOf reads from a Pod which resize was asked for last.
func ResizeOf(pod *corev1.Pod) Resize {
	var asked Resize
	_ = json.Unmarshal([]byte(pod.Annotations[AnnotationResize]), &asked) // nothing was asked
	return asked
}

// ObserveResize looks whether an outdated Pod needs no successor, because it differs only in CPU and memory. A Pod whose
// resize was taken back before it was done counts as outdated.
func ObserveResize(s state.State, m *state.Member, pod *corev1.Pod) {
	c := etcdOf(pod)
	if c == nil || m.Pod != state.PodRunning {
		return
	}
	asked, want := ResizeOf(pod), s.PodPolicy().Resources
	current := asked.Template == Template(s)
	if !m.Outdated {
		m.Outdated = asked.takenBack(Template(s))
	} else if !current && !resizable(s, pod, c.Resources) {
		return
	}
	if !m.Outdated {
		return
	}
	pending, infeasible := pendingResize(pod, asked.ago(s.Now))
	has := hasResources(c.Resources, want, current)
	switch {
	case has && pending == nil && actuated(pod, want, current && asked.ago(s.Now) > limitGrace):
		m.Outdated, m.Relabel = false, true // the notes on the Pod are all that differs
	case current && asked.Forbidden != "":
		m.Resize = lifecycle.ResizeWanted
	case current && asked.inVain(s.Now):
	case !has, !current:
		m.Resize = lifecycle.ResizeWanted
	case infeasible:
	default:
		m.Resize = lifecycle.ResizeUnderWay
		if pending != nil {
			m.ResizeMessage = pending.Message
		}
	}
}

// resized reports whether a Pod was made for other resources, or asked for others since, and now has those of the spec.
func resized(s state.State, pod *corev1.Pod) bool {
	made := pod.Annotations[AnnotationTemplate]
	m := state.Member{Outdated: made != Template(s), Pod: state.PodRunning}
	if made == "" {
		return false
	}
	ObserveResize(s, &m, pod)
	return m.Relabel
}

// resizable reports whether a Pod was made for the spec but for its resources, and can get those in place. The note on the Pod
// is a hash, and Kubernetes adds to what was asked for. So this looks for a part of what the Pod has now that gives the same
// hash. Kubernetes removes no request, limit or claim from a running Pod.
func resizable(s state.State, pod *corev1.Pod, have corev1.ResourceRequirements) bool {
	made, asked, want := pod.Annotations[AnnotationTemplate], ResizeOf(pod).Template, s.PodPolicy().Resources
	for part := range partsOf(have) {
		if hash := templateOf(s, part); hash == made || hash == asked {
			return names(want.Limits, part.Limits) && names(want.Requests, part.Requests) && equality.Semantic.DeepEqual(want.Claims, part.Claims)
		}
	}
	return false
}

const (
	// verdictGrace is how long a condition may be about an earlier resize, if the kubelet does not say which one it is about.
	verdictGrace = 15 * time.Second
	// limitGrace is how long a kubelet may take to report a new limit. One that enforces no CPU quota never does.
	limitGrace = time.Minute
)

// pendingResize returns the condition of a resize that the node has not carried out, and whether the node never will. The
// resize was asked for some time ago.
func pendingResize(pod *corev1.Pod, ago time.Duration) (condition *corev1.PodCondition, infeasible bool) {
	for i, c := range pod.Status.Conditions {
		resizing := c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress
		if !resizing || c.Status != corev1.ConditionTrue {
			continue
		}
		condition = &pod.Status.Conditions[i]
		seen := c.ObservedGeneration >= pod.Generation
		if c.ObservedGeneration == 0 {
			seen = ago > verdictGrace
		}
		if c.Type == corev1.PodResizePending && c.Reason == corev1.PodReasonInfeasible && seen {
			return condition, true
		}
	}
	return condition, false
}

// actuated reports whether the container has what the spec asks for. A kubelet that cannot resize does not report it. late:
// the CPU limit is not compared any more.
func actuated(pod *corev1.Pod, want corev1.ResourceRequirements, late bool) bool {
	limits := maps.Clone(want.Limits)
	if late {
		delete(limits, corev1.ResourceCPU)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == lifecycle.EtcdContainer {
			return c.Resources != nil && contains(c.AllocatedResources, want.Requests) && contains(c.Resources.Limits, limits)
		}
	}
	return false
}

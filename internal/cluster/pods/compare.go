package pods

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// ObserveTemplate compares a member's Pod with what the spec asks of it.
func ObserveTemplate(s state.State, m *state.Member, pod *corev1.Pod) {
	if t := s.Spec.TLS; t.SecureClient() && t.Static != nil && t.Static.Member == nil {
		return // stored before the schema refused it, and refused by the plan
	}
	made := pod.Annotations[AnnotationTemplate]
	adopted := made == "" && madeFor(s, pod)
	m.Outdated = made != Template(s) && !adopted
	given, _ := services.MetadataFor(s, "Pod", pod.Name)
	m.Relabel = adopted || (made != "" && (pod.Annotations[annotationMetadata] != Text(Metadata(s)) || given.Due(pod)))
}

// madeFor says whether a Pod without a note of what it was made for is one that the spec asks for, as far as users
// have a say in it. Such a Pod is of a release before there were notes; one that matches is not restarted for the
// lack of it. What the API server and admission fill in is not held against it.
func madeFor(s state.State, pod *corev1.Pod) bool {
	want := NewPod(s, steps.CreateMember{Name: pod.Name, Incarnation: IncarnationOf(s, pod), Start: state.StartRejoin}, "")
	for _, c := range pod.Spec.Containers {
		if c.Name != lifecycle.EtcdContainer {
			continue
		}
		wanted := want.Spec.Containers[0]
		return !asksForMore(s) && (sameEnv(s.PodPolicy().EtcdEnv, c.Env) || sameEnv(wanted.Env, c.Env)) &&
			sameResources(wanted.Resources, c.Resources) &&
			equality.Semantic.DeepEqual(argsForUsers(wanted.Command), argsForUsers(c.Command)) &&
			sameScheduling(want.Spec, pod.Spec) && sameAffinity(s, pod) &&
			equality.Semantic.DeepDerivative(want.Spec.SecurityContext, pod.Spec.SecurityContext) &&
			equality.Semantic.DeepDerivative(want.Spec.ImagePullSecrets, pod.Spec.ImagePullSecrets) &&
			slices.Equal(secretsOf(tlsVolumes(s)), secretsOf(pod.Spec.Volumes[:min(len(pod.Spec.Volumes), 1+len(tlsVolumes(s)))])) &&
			pod.Annotations[AnnotationRestartedAt] == s.PodPolicy().Annotations[AnnotationRestartedAt]
	}
	return false
}

// asksForMore reports whether the spec has a field that the releases before there were notes did not have.
func asksForMore(s state.State) bool {
	policy := s.PodPolicy()
	return command.AskedOptions(s) != nil || pullPolicy(s) != "" || policy.RuntimeClassName != nil || policy.SchedulerName != "" || policy.HostUsers != nil ||
		policy.TerminationGracePeriodSeconds != nil || len(policy.InitContainers)+len(policy.Containers)+len(policy.Volumes)+len(policy.VolumeMounts) > 0
}

func sameEnv(want, have []corev1.EnvVar) bool {
	return len(want) == len(have) && equality.Semantic.DeepDerivative(want, have)
}

// argsForUsers are the arguments that follow from what users write: URLs and their scheme, and the files of TLS.
func argsForUsers(command []string) []string {
	var kept []string
	for _, arg := range command {
		flag, _, _ := strings.Cut(arg, "=")
		switch flag {
		case "--listen-peer-urls", "--listen-client-urls", "--initial-advertise-peer-urls", "--advertise-client-urls":
			kept = append(kept, arg)
		}
	}
	return kept
}

// filledIn are the tolerations that admission adds to every Pod.
var filledIn = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

func sameScheduling(want, have corev1.PodSpec) bool {
	tolerations := slices.DeleteFunc(slices.Clone(have.Tolerations), func(t corev1.Toleration) bool {
		return slices.Contains(filledIn, t.Key) && !slices.ContainsFunc(want.Tolerations, func(w corev1.Toleration) bool { return w.Key == t.Key })
	})
	return equality.Semantic.DeepEqual(want.NodeSelector, have.NodeSelector) &&
		equality.Semantic.DeepEqual(sorted(want.Tolerations), sorted(tolerations)) &&
		(want.PriorityClassName == "" || want.PriorityClassName == have.PriorityClassName) &&
		(want.ServiceAccountName == "" || want.ServiceAccountName == have.ServiceAccountName)
}

// sameAffinity compares what users ask for. What the operator asks for by itself is only ever a preference.
func sameAffinity(s state.State, pod *corev1.Pod) bool {
	policy, have := s.PodPolicy(), pod.Spec.Affinity
	if policy.Affinity != nil {
		return equality.Semantic.DeepEqual(policy.Affinity, have)
	}
	required := have != nil && have.PodAntiAffinity != nil && len(have.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	if have != nil && (have.NodeAffinity != nil || have.PodAffinity != nil) {
		return false
	}
	return required == policy.AntiAffinity &&
		(len(policy.TopologySpreadConstraints) == 0 || equality.Semantic.DeepDerivative(policy.TopologySpreadConstraints, pod.Spec.TopologySpreadConstraints))
}

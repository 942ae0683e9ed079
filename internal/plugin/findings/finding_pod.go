package findings

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// vague are the reasons of a member that does not serve whose cause may be in its Pod.
var vague = []string{
	v1beta2.ReasonMemberDown, v1beta2.ReasonSettling, v1beta2.ReasonCreating, v1beta2.ReasonScaling, v1beta2.ReasonUpgrading, v1beta2.ReasonRolling,
}

// podFindings adds what the Pods show and the conditions do not name.
func podFindings(o observed.Objects, found []Finding) []Finding {
	ready := 0
	for _, pod := range o.Pods {
		if PodReady(pod) {
			ready++
			continue
		}
		if reason, message := podTrouble(pod); reason != "" {
			found = withTrouble(found, subjectOf(o), pod.Name, metav1.Condition{Reason: reason, Message: message})
		}
	}
	for _, pod := range o.Pods {
		if trouble := o.Nodes[pod.Spec.NodeName]; trouble != "" {
			found = withNode(found, pod, trouble)
		}
	}
	if !o.NoPods && len(found) == 0 && ready < o.Cluster.Spec.Size {
		found = append(found, Finding{
			Severity: Degraded, Object: "EtcdCluster " + o.Cluster.Name, Reason: v1beta2.ReasonReady,
			Problem:  fmt.Sprintf("The status is Ready, but %d of %d Pods are ready, so the status is probably old.", ready, o.Cluster.Spec.Size),
			Impact:   "If cluster-operator does not run, it heals nothing. Members that run continue to serve.",
			Fix:      "If this lasts for more than a minute, check that cluster-operator runs.",
			Commands: []string{operatorPods},
		})
	}
	return found
}

// withTrouble adds the trouble of a Pod. If the condition already names the member, and not why it does not serve, the trouble
// explains it.
func withTrouble(found []Finding, about Subject, pod string, trouble metav1.Condition) []Finding {
	for i, f := range found {
		switch {
		case !strings.Contains(f.Problem, pod):
		case !slices.Contains(vague, f.Reason):
			return found // it names the cause
		default:
			trouble.Message = f.Problem + " " + trouble.Message
			found[i] = finding(min(f.Severity, Degraded), f.Object, about, trouble)
			return found
		}
	}
	return append(found, finding(Degraded, "Pod "+pod, about, trouble))
}

// withNode adds that a node is not ready to what is reported of its member.
func withNode(found []Finding, pod corev1.Pod, trouble string) []Finding {
	for i, f := range found {
		if strings.Contains(f.Problem, pod.Name) {
			found[i].Problem += fmt.Sprintf(" Its node %s is not ready: %s", pod.Spec.NodeName, strings.TrimSuffix(trouble, ".")+".")
		}
	}
	return found
}

// PodReady reports whether the condition Ready of a Pod is true.
func PodReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// podTrouble returns the reason of an EtcdCluster that fits the state of a Pod, and what Kubernetes reports.
func podTrouble(pod corev1.Pod) (reason, message string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return v1beta2.ReasonPodUnschedulable, fmt.Sprintf("No node accepts Pod %s: %s", pod.Name, c.Message)
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s.State.Waiting == nil {
			continue
		}
		text := fmt.Sprintf("Container %s of Pod %s waits: %s. %s.", s.Name, pod.Name, s.State.Waiting.Reason, strings.TrimSuffix(s.State.Waiting.Message, "."))
		switch s.State.Waiting.Reason {
		case "ImagePullBackOff", "ErrImagePull", "InvalidImageName":
			return v1beta2.ReasonImageUnavailable, text
		case "CrashLoopBackOff":
			if end := s.LastTerminationState.Terminated; end != nil && end.Message != "" {
				text += " It ended with: " + lastLine(end.Message)
			}
			return v1beta2.ReasonPodFailing, text
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return v1beta2.ReasonPodFailing, fmt.Sprintf("Pod %s failed: %s %s", pod.Name, pod.Status.Reason, pod.Status.Message)
	}
	return "", ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

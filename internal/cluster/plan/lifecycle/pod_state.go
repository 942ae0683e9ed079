package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// EtcdContainer is the name of the container of a member's Pod that etcd runs in.
const EtcdContainer = "etcd"

// EnvAdded is the variable of a Pod that is empty until etcd has added its member. The kubelet names it while the Pod waits for
// that.
const EnvAdded = "MEMBER_ADDED"

// scheduling is how long a Pod may be unscheduled before the status reports it.
const scheduling = 10 * time.Second

// unnoticed is how long a Pod may have neither a node nor a scheduler's report. A scheduler may have many Pods to place.
const unnoticed = time.Minute

// PodStateOf returns the state of a Pod and, if it is blocked, the reason and a message. The message follows a colon.
func PodStateOf(pod *corev1.Pod, now time.Time) (podState state.PodState, reason, message string) {
	switch {
	case !pod.DeletionTimestamp.IsZero():
		return state.PodDeleting, "", ""
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return state.PodEnded, v1beta2.ReasonPodFailing, strings.TrimSpace(pod.Status.Reason + " " + pod.Status.Message)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && unscheduledForLong(pod.CreationTimestamp.Time, now) {
			return state.PodBlocked, v1beta2.ReasonPodUnschedulable, c.Message
		}
	}
	containers := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	runs := slices.ContainsFunc(containers, func(c corev1.ContainerStatus) bool { return c.Name == EtcdContainer && c.State.Running != nil })
	for _, c := range containers {
		reason, message := whyWaiting(c)
		switch {
		case reason != "" && runs:
			return state.PodRunning, "", message // a container beside etcd fails, and the member keeps its vote
		case reason != "":
			return state.PodBlocked, reason, message
		}
	}
	switch {
	case runs:
		return state.PodRunning, "", ""
	case pod.Spec.NodeName == "" && len(containers) == 0 && now.Sub(pod.CreationTimestamp.Time) > unnoticed:
		return state.PodBlocked, v1beta2.ReasonPodUnschedulable, "no scheduler has found a node for its Pod, or reported why. Check kube-scheduler and spec.pod"
	}
	return state.PodStarting, "", ""
}

// unscheduledForLong reports whether a Pod that has no node is to be reported. The API server has recorded when it was created. If that is
// ahead of now, the clock of the operator is behind, and the age of the Pod is not known. Then the Pod is reported at once.
func unscheduledForLong(created, now time.Time) bool {
	return now.Sub(created) > scheduling || clock.Ahead(created, now)
}

// whyWaiting names what keeps a container from starting. It is empty while other containers must start first.
func whyWaiting(c corev1.ContainerStatus) (reason, message string) {
	waiting := c.State.Waiting
	if waiting == nil || strings.Contains(waiting.Message, "missing value for "+EnvAdded) {
		return "", ""
	}
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		// The kubelet changes between the first two for as long as it tries, and the status must not change with it.
		reason := strings.Replace(waiting.Reason, "ErrImagePull", "ImagePullBackOff", 1)
		return v1beta2.ReasonImageUnavailable, fmt.Sprintf("image %s cannot be pulled (%s). Correct spec.version, spec.image or spec.repository, or make the image available to the node.", c.Image, reason)
	case "CrashLoopBackOff":
		said := ""
		if ended := c.LastTerminationState.Terminated; ended != nil {
			said = fmt.Sprintf(", last with exit code %d: %s", ended.ExitCode, LastWords(ended.Message))
		}
		return v1beta2.ReasonPodFailing, fmt.Sprintf("container %s exits repeatedly%s", c.Name, said)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return v1beta2.ReasonPodFailing, fmt.Sprintf("container %s: %s: %s", c.Name, waiting.Reason, waiting.Message)
	}
	return "", ""
}

// maxMessage is the limit of a container's message in a condition, in bytes.
const maxMessage = 512

// LastLine is the last line that a container wrote, bounded so that it fits into a condition.
func LastLine(text string) string { return bounded(lastLine(text)) }

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func bounded(text string) string {
	if len(text) > maxMessage {
		return text[:maxMessage]
	}
	return text
}

// LastWords is a container's own message about its exit: the panic, or the message and error of etcd's last line. It omits
// the time, which differs in each line.
func LastWords(text string) string {
	if i := strings.LastIndex(text, "panic: "); i >= 0 {
		words, _, _ := strings.Cut(text[i:], "\n")
		return bounded(words)
	}
	line := lastLine(text) // whole, because a stack trace in it can be longer than what a condition shows
	var entry struct{ Level, Msg, Error string }
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg == "" {
		return bounded(line)
	}
	if entry.Error != "" {
		return bounded(entry.Msg + ": " + entry.Error)
	}
	return bounded(entry.Msg)
}

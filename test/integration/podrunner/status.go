package podrunner

import (
	"context"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newStatus(r *Runner, object *corev1.Pod) status {
	return status{runner: r, object: object.DeepCopy()}
}

// write patches the status with a change.
func (s *status) write(ctx context.Context, change func(*corev1.PodStatus)) {
	before := s.object.DeepCopy()
	change(&s.object.Status)
	after := s.object.DeepCopy()
	err := s.runner.client.Status().Patch(ctx, after, client.MergeFrom(before))
	if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		s.runner.t.Errorf("podrunner: write the status of Pod %s: %v", s.object.Name, err)
	}
}

func (s *status) unschedulable(ctx context.Context, message string) {
	if c := s.condition(corev1.PodScheduled); c != nil && c.Message == message {
		return
	}
	s.write(ctx, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodPending
		set(status, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, message)
	})
}

func (s *status) placed(ctx context.Context, address netip.Addr) {
	s.write(ctx, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodPending
		status.PodIP, status.PodIPs = address.String(), []corev1.PodIP{{IP: address.String()}}
		status.HostIP = "127.0.0.1"
		set(status, corev1.PodScheduled, corev1.ConditionTrue, "", "")
		set(status, corev1.PodInitialized, corev1.ConditionFalse, "", "")
		set(status, corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", "")
	})
}

func (s *status) initialized(ctx context.Context) {
	s.write(ctx, func(status *corev1.PodStatus) { set(status, corev1.PodInitialized, corev1.ConditionTrue, "", "") })
}

func (s *status) waiting(ctx context.Context, container, reason, message string) {
	if c := s.container(&s.object.Status, container); c.State.Waiting != nil && c.State.Waiting.Reason == reason {
		return
	}
	s.write(ctx, func(status *corev1.PodStatus) {
		s.container(status, container).State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

func (s *status) started(ctx context.Context, container string) {
	s.write(ctx, func(status *corev1.PodStatus) {
		if !s.initial(container) {
			status.Phase = corev1.PodRunning
		}
		c := s.container(status, container)
		if c.LastTerminationState.Terminated != nil {
			c.RestartCount++
		}
		started := true
		c.Started = &started
		c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	})
}

// ended writes how a container ended. Unless it is an init container that succeeded, it waits for its restart.
func (s *status) ended(ctx context.Context, container string, code int32, message string) {
	s.write(ctx, func(status *corev1.PodStatus) {
		c := s.container(status, container)
		ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.Now()}}
		started := false
		c.Ready, c.Started = code == 0 && s.initial(container), &started
		if c.Ready {
			c.State = ended
			return
		}
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}}
		c.LastTerminationState = ended
		set(status, corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", "")
	})
}

// ready writes the result of the probe: Ready after a success, not Ready after FailureThreshold failures.
func (s *status) ready(ctx context.Context, yes, no bool) {
	is := s.condition(corev1.PodReady)
	switch {
	case yes && (is == nil || is.Status != corev1.ConditionTrue):
	case no && is != nil && is.Status == corev1.ConditionTrue:
	default:
		return
	}
	s.write(ctx, func(status *corev1.PodStatus) {
		s.container(status, s.object.Spec.Containers[0].Name).Ready = yes
		value, reason := corev1.ConditionFalse, "ContainersNotReady"
		if yes {
			value, reason = corev1.ConditionTrue, ""
		}
		set(status, corev1.ContainersReady, value, reason, "")
		set(status, corev1.PodReady, value, reason, "")
	})
}

// final writes that the containers have ended for good.
func (s *status) final(ctx context.Context) {
	s.write(ctx, func(status *corev1.PodStatus) { status.Phase = corev1.PodSucceeded })
}

func (s *status) condition(kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range s.object.Status.Conditions {
		if s.object.Status.Conditions[i].Type == kind {
			return &s.object.Status.Conditions[i]
		}
	}
	return nil
}

// initial reports whether a container is an init container.
func (s *status) initial(container string) bool {
	return slices.ContainsFunc(s.object.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container })
}

func (s *status) container(status *corev1.PodStatus, name string) *corev1.ContainerStatus {
	list := &status.ContainerStatuses
	if s.initial(name) {
		list = &status.InitContainerStatuses
	}
	for i := range *list {
		if (*list)[i].Name == name {
			return &(*list)[i]
		}
	}
	*list = append(*list, corev1.ContainerStatus{Name: name})
	return &(*list)[len(*list)-1]
}

func set(status *corev1.PodStatus, kind corev1.PodConditionType, value corev1.ConditionStatus, reason, message string) {
	condition := corev1.PodCondition{Type: kind, Status: value, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Now())}
	for i, c := range status.Conditions {
		if c.Type == kind {
			if c.Status == value {
				condition.LastTransitionTime = c.LastTransitionTime
			}
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}

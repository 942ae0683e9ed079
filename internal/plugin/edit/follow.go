package edit

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// A Step is what following an object shows: one line, and whether the work ended, and how.
type Step struct {
	Line   string
	Done   bool
	Failed bool
}

// FollowCluster returns the progress of a change of a cluster until Ready has one of the reasons.
func FollowCluster(c v1beta2.EtcdCluster, version string, reasons ...string) Step {
	ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady)
	if ready == nil || c.Status.ObservedGeneration < c.Generation {
		return Step{Line: "waiting for cluster-operator to read the change"}
	}
	line := fmt.Sprintf("%s: %s", ready.Reason, terminal.OneLine(ready.Message))
	if version != "" {
		line = fmt.Sprintf("%s %s", bar(upgraded(c, version)), line)
	}
	stalled := observed.IsTrue(c.Status.Conditions, v1beta2.ConditionStalled)
	for _, reason := range reasons {
		if !stalled && ready.Reason == reason && (version == "" || c.Status.CurrentVersion == version) {
			return Step{Line: line, Done: true}
		}
	}
	return Step{Line: line, Done: stalled, Failed: stalled}
}

// FollowReadOnly returns the progress until etcd refuses writes, or accepts them again.
func FollowReadOnly(c v1beta2.EtcdCluster, readOnly bool) Step {
	condition := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReadOnly)
	switch {
	case c.Status.ObservedGeneration < c.Generation:
		return Step{Line: "waiting for cluster-operator to read the change"}
	case condition == nil && !readOnly:
		return Step{Line: "EtcdCluster " + c.Name + " accepts writes", Done: true}
	case condition == nil:
		return Step{Line: "the operator has not refused writes yet"}
	case readOnly && condition.Status == metav1.ConditionTrue:
		return Step{Line: fmt.Sprintf("EtcdCluster %s refuses writes after revision %d", c.Name, c.Status.LastRevision), Done: true}
	case readOnly && condition.Reason == v1beta2.ReasonReadOnlyNotSupported:
		return Step{Line: terminal.OneLine(condition.Message), Done: true, Failed: true}
	}
	return Step{Line: terminal.OneLine(condition.Message)}
}

// FollowPaused returns the progress until the operator has acknowledged spec.paused. Ready may have another reason then, for
// example that of a cluster that hibernates.
func FollowPaused(c v1beta2.EtcdCluster, paused bool) Step {
	if c.Status.ObservedGeneration < c.Generation || c.Status.ControlPaused != paused {
		return Step{Line: "cluster-operator has not acknowledged the change. Check that it runs and watches the namespace"}
	}
	if paused {
		return Step{Line: "the operator has paused EtcdCluster " + c.Name, Done: true}
	}
	return Step{Line: "the operator changes EtcdCluster " + c.Name + " again", Done: true}
}

// upgraded is the share of members of a version, in percent.
func upgraded(c v1beta2.EtcdCluster, version string) int32 {
	var done int
	for _, m := range c.Status.MemberStatuses {
		if m.Version == version {
			done++
		}
	}
	return int32(100 * done / max(1, len(c.Status.MemberStatuses)))
}

// FollowLeader returns the progress until a member no longer leads.
func FollowLeader(c v1beta2.EtcdCluster, member string) Step {
	return asked(c, Leader(c) != "" && Leader(c) != member, fmt.Sprintf("the leader is %s", terminal.Or(Leader(c))))
}

// FollowReplace returns the progress until a member is removed and the cluster is ready.
func FollowReplace(c v1beta2.EtcdCluster, member string) Step {
	for _, m := range c.Status.MemberStatuses {
		if m.Name == member {
			return asked(c, false, "member "+member+" is in the cluster")
		}
	}
	return asked(c, observed.IsTrue(c.Status.Conditions, v1beta2.ConditionReady), "member "+member+" is removed")
}

// FollowFence returns the progress until the client Service does not select a member, or selects it again. A refusal concerns only a new fence:
// the end of a fence may be what corrects it.
func FollowFence(c v1beta2.EtcdCluster, member string, fenced bool) Step {
	for _, m := range c.Status.MemberStatuses {
		switch {
		case m.Name != member:
		case m.Fenced == fenced && fenced:
			return Step{Line: "member " + member + " is fenced", Done: true}
		case m.Fenced == fenced:
			return Step{Line: "member " + member + " is not fenced", Done: true}
		case fenced:
			return asked(c, false, "member "+member+" is not fenced yet")
		default:
			return Step{Line: "member " + member + " is still fenced"}
		}
	}
	return Step{Line: "EtcdCluster " + c.Name + " has no member " + member + " any more", Done: true, Failed: fenced}
}

// asked is the progress of an annotation. The operator stalls if it refuses the request.
func asked(c v1beta2.EtcdCluster, done bool, text string) Step {
	if observed.HasReason(c.Status.Conditions, v1beta2.ReasonRequestRefused) {
		ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady)
		return Step{Line: ready.Reason + ": " + terminal.OneLine(ready.Message), Done: true, Failed: true}
	}
	return Step{Line: text, Done: done}
}

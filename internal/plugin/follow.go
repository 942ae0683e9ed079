package plugin

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A Step is what following an object shows: one line, and whether the work ended, and how.
type Step struct {
	Line   string
	Done   bool
	Failed bool
}

// FollowBackup returns the progress of a one-shot EtcdBackup.
func FollowBackup(b v1beta2.EtcdBackup) Step {
	step := work("EtcdBackup "+b.Name, b.Status.Conditions, v1beta2.ConditionComplete)
	if p := b.Status.Progress; p != nil && !step.Done {
		step.Line = fmt.Sprintf("%s %s %s", bar(p.Percent), p.Stage, speed(p.BytesPerSecond))
	}
	if s := b.Status.Snapshot; s != nil && step.Done && !step.Failed {
		step.Line = fmt.Sprintf("EtcdBackup %s is complete: %s, revision %d, %s", b.Name, s.Path, s.Revision, bytes(s.Size))
	}
	return step
}

// FollowRequest returns the progress of a snapshot that the annotation backup-now asked a series for.
func FollowRequest(b v1beta2.EtcdBackup, request string) Step {
	if s := b.Status.Snapshot; s != nil && b.Status.HandledRequest == request {
		return Step{Line: fmt.Sprintf("EtcdBackup %s has saved %s, revision %d, %s", b.Name, s.Path, s.Revision, bytes(s.Size)), Done: true}
	}
	step := FollowBackup(b)
	step.Done = step.Failed // Complete is about the snapshots before
	return step
}

// FollowRestore returns the progress of an EtcdRestore.
func FollowRestore(r v1beta2.EtcdRestore) Step {
	step := work("EtcdRestore "+r.Name, r.Status.Conditions, v1beta2.ConditionComplete)
	if r.Spec.DryRun && hasReason(r.Status.Conditions, v1beta2.ReasonDryRun) {
		step.Done, step.Failed = true, false
	}
	if !step.Done {
		step.Line = bar(r.Status.Percent) + " " + step.Line
	}
	return step
}

// FollowCluster returns the progress of a change of a cluster until Ready has one of the reasons.
func FollowCluster(c v1beta2.EtcdCluster, version string, reasons ...string) Step {
	ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady)
	if ready == nil || c.Status.ObservedGeneration < c.Generation {
		return Step{Line: "waiting for cluster-operator to read the change"}
	}
	line := fmt.Sprintf("%s: %s", ready.Reason, oneLine(ready.Message))
	if version != "" {
		line = fmt.Sprintf("%s %s", bar(upgraded(c, version)), line)
	}
	stalled := isTrue(c.Status.Conditions, v1beta2.ConditionStalled)
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
		return Step{Line: oneLine(condition.Message), Done: true, Failed: true}
	}
	return Step{Line: oneLine(condition.Message)}
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

func work(object string, conditions []metav1.Condition, complete string) Step {
	ready := meta.FindStatusCondition(conditions, v1beta2.ConditionReady)
	if ready == nil {
		return Step{Line: object + " waits for its operator"}
	}
	step := Step{Line: fmt.Sprintf("%s: %s. %s", object, ready.Reason, oneLine(ready.Message))}
	step.Failed = isTrue(conditions, v1beta2.ConditionFailed)
	step.Done = step.Failed || isTrue(conditions, complete)
	return step
}

func hasReason(conditions []metav1.Condition, reason string) bool {
	ready := meta.FindStatusCondition(conditions, v1beta2.ConditionReady)
	return ready != nil && ready.Reason == reason
}

// bar draws a share in percent.
func bar(percent int32) string {
	const width = 20
	done := int(min(max(percent, 0), 100)) * width / 100
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("#", done), strings.Repeat(".", width-done), percent)
}

func speed(bytesPerSecond int64) string {
	if bytesPerSecond <= 0 {
		return ""
	}
	return bytes(bytesPerSecond) + "/s"
}

// Transferred is how much of a file was read. The size is 0 if it is not known.
func Transferred(read, size int64) string {
	if size <= 0 {
		return bytes(read)
	}
	return fmt.Sprintf("%s %s", bar(int32(min(100, 100*read/size))), bytes(read))
}

// FollowLeader returns the progress until a member no longer leads.
func FollowLeader(c v1beta2.EtcdCluster, member string) Step {
	return asked(c, Leader(c) != "" && Leader(c) != member, fmt.Sprintf("the leader is %s", or(Leader(c))))
}

// FollowReplace returns the progress until a member is removed and the cluster is ready.
func FollowReplace(c v1beta2.EtcdCluster, member string) Step {
	for _, m := range c.Status.MemberStatuses {
		if m.Name == member {
			return asked(c, false, "member "+member+" is in the cluster")
		}
	}
	return asked(c, isTrue(c.Status.Conditions, v1beta2.ConditionReady), "member "+member+" is removed")
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
	if hasReason(c.Status.Conditions, v1beta2.ReasonRequestRefused) {
		ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady)
		return Step{Line: ready.Reason + ": " + oneLine(ready.Message), Done: true, Failed: true}
	}
	return Step{Line: text, Done: done}
}

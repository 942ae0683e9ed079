package plugin

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Severity orders findings: the lowest value is shown first.
type Severity int

// The severities.
const (
	Outage   Severity = iota // clients cannot write
	Blocked                  // the operator waits for a person
	Failed                   // a backup or a restore ended without success
	Degraded                 // a part does not work, and the operator acts or retries
	Progress                 // a change is under way
	Notice                   // the object is ready, and something should be known
)

// A Finding is one thing that keeps an object from being well.
type Finding struct {
	Severity Severity `json:"-"`
	Object   string   `json:"object"`
	Reason   string   `json:"reason"`
	Problem  string   `json:"problem"`
	Impact   string   `json:"impact"`
	Fix      string   `json:"fix"`
	Commands []string `json:"commands,omitempty"`
}

// progressing are the reasons of changes that end by themselves.
var progressing = []string{
	v1beta2.ReasonCreating, v1beta2.ReasonSettling, v1beta2.ReasonScaling, v1beta2.ReasonUpgrading, v1beta2.ReasonRolling,
	v1beta2.ReasonRestoring, v1beta2.ReasonDeleting, v1beta2.ReasonHibernating, v1beta2.ReasonHibernated, v1beta2.ReasonPaused,
	v1beta2.ReasonIssuingCertificates, v1beta2.ReasonRotatingCertificates, v1beta2.ReasonDefragmenting, v1beta2.ReasonResizingPod,
	v1beta2.ReasonResizingVolume, v1beta2.ReasonWaitingForRestore, v1beta2.ReasonRunning, v1beta2.ReasonPending, v1beta2.ReasonSuspended,
	v1beta2.ReasonScheduled, v1beta2.ReasonComplete, v1beta2.ReasonVerifying, v1beta2.ReasonVerified, v1beta2.ReasonSeeding,
	v1beta2.ReasonSwitching, v1beta2.ReasonGrowing, v1beta2.ReasonQueued, v1beta2.ReasonDryRun, v1beta2.ReasonReady, v1beta2.ReasonRemovingSnapshots,
	v1beta2.ReasonArchiveStarting, v1beta2.ReasonReadOnly, v1beta2.ReasonRestoringKeys,
}

// Findings returns what is wrong with a cluster, its Pods, backups and restores, the worst first.
func Findings(o Objects) []Finding {
	found := clusterFindings(o)
	found = append(found, alarmFindings(o, found)...)
	found = podFindings(o, found)
	for i, r := range RestoresOf(o.Cluster.Name, o.Restores) {
		if i == 0 || !isTrue(r.Status.Conditions, v1beta2.ConditionFailed) {
			found = append(found, restoreFindings(subjectOf(o), r)...)
		}
	}
	backups := BackupsOf(o.Cluster.Name, o.Backups)
	for _, b := range backups {
		if !outdated(b, backups) {
			found = append(found, backupFindings(subjectOf(o), b, o.Now)...)
		}
	}
	causesFirst(found, "EtcdCluster "+o.Cluster.Name)
	slices.SortStableFunc(found, func(a, b Finding) int { return int(a.Severity) - int(b.Severity) })
	return found
}

// causesFirst puts backups that only wait for a cluster below what keeps that cluster from serving.
func causesFirst(found []Finding, cluster string) {
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.Object == cluster }) {
		return
	}
	for i := range found {
		if found[i].Reason == v1beta2.ReasonClusterNotAvailable {
			found[i].Severity = Notice
		}
	}
}

func clusterFindings(o Objects) []Finding {
	c, about := o.Cluster, subjectOf(o)
	object := "EtcdCluster " + c.Name
	ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady)
	switch {
	case ready == nil:
		return []Finding{unseen(object, about, "cluster-operator")}
	case c.Status.ObservedGeneration >= 0 && c.Status.ObservedGeneration < c.Generation:
		return []Finding{behind(object, about, c, *ready)}
	case ready.Status == metav1.ConditionTrue && ready.Reason == v1beta2.ReasonReady:
		return nil
	}
	found := finding(clusterSeverity(c.Status.Conditions, *ready), object, about, *ready)
	return []Finding{withOutage(withUnhealed(found, c.Status), about, c.Status)}
}

// outages are the reasons whose page is about a cluster that does not serve.
var outages = []string{v1beta2.ReasonQuorumLost, v1beta2.ReasonNoSpace, v1beta2.ReasonDataCorrupt, v1beta2.ReasonRecovering}

// withOutage replaces what the reason means for one member by what it means for clients if nothing serves them.
func withOutage(f Finding, about subject, status v1beta2.EtcdClusterStatus) Finding {
	available := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionAvailable)
	switch {
	case f.Severity != Outage || available == nil || slices.Contains(outages, f.Reason) || slices.Contains(progressing, f.Reason):
		return f
	case f.Reason == v1beta2.ReasonMemberDown && strings.HasPrefix(available.Message, "No member serves"):
		// Its page is to wait for the replacement, and that needs a quorum.
		known := runbook()[v1beta2.ReasonQuorumLost]
		f.Impact, f.Fix, f.Commands = known.impact, known.fix, commandsFor(known.commands, about, f.Object, about.memberIn(f.Problem))
		return f
	}
	why, _, _ := strings.Cut(sentence(available.Message), ":")
	f.Impact = "Clients are not served."
	if why != "" {
		f.Impact += " " + strings.TrimSuffix(why, ".") + "."
	}
	return f
}

// withUnhealed adds the members that are down or missing while something else keeps the operator from healing them.
func withUnhealed(f Finding, status v1beta2.EtcdClusterStatus) Finding {
	degraded := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionDegraded)
	heldUp := f.Reason == v1beta2.ReasonPaused || isTrue(status.Conditions, v1beta2.ConditionStalled)
	named := slices.ContainsFunc(status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return strings.Contains(f.Problem, m.Name) })
	if degraded == nil || degraded.Status != metav1.ConditionTrue || !heldUp || named {
		return f
	}
	f.Severity = min(f.Severity, Degraded)
	f.Problem += " " + degraded.Message
	return f
}

func clusterSeverity(conditions []metav1.Condition, ready metav1.Condition) Severity {
	available := meta.FindStatusCondition(conditions, v1beta2.ConditionAvailable)
	switch {
	case ready.Reason == v1beta2.ReasonHibernated || ready.Reason == v1beta2.ReasonHibernating || ready.Reason == v1beta2.ReasonDeleting:
		return Progress
	case ready.Status == metav1.ConditionTrue:
		return Notice
	case available != nil && available.Status == metav1.ConditionFalse && ready.Reason != v1beta2.ReasonCreating:
		return Outage
	case isTrue(conditions, v1beta2.ConditionStalled):
		return Blocked
	case slices.Contains(progressing, ready.Reason):
		return Progress
	}
	return Degraded
}

// finding returns what the runbook says about the reason of a condition.
func finding(severity Severity, object string, of subject, c metav1.Condition) Finding {
	found := Finding{Severity: severity, Object: object, Reason: c.Reason, Problem: c.Message}
	if found.Problem == "" {
		found.Problem = "The status has no message."
	}
	known, ok := runbook()[c.Reason]
	if !ok {
		found.Impact = "This release of kubectl-etcd does not know the reason."
		found.Fix = "Follow the message. Install the kubectl-etcd of the operator's release."
		return found
	}
	found.Impact, found.Fix, found.Commands = about(object, known.impact), known.fix, commandsFor(known.commands, of, object, of.memberIn(object+" "+c.Message))
	return found
}

// behind reports that the operator has not read the last change. Whatever the status says is older.
func behind(object string, about subject, c v1beta2.EtcdCluster, ready metav1.Condition) Finding {
	found := unseen(object, about, "cluster-operator")
	found.Severity = Degraded
	found.Problem = fmt.Sprintf("The status is older than the spec: cluster-operator has read generation %d of %d.", c.Status.ObservedGeneration, c.Generation)
	if ready.Message != "" {
		found.Problem += " Before, it reported " + ready.Reason + ": " + ready.Message
	}
	found.Impact = "The last change of the spec has no effect yet. If cluster-operator does not run, it heals nothing. Members that run continue to serve."
	return found
}

// operatorPods lists the Pods of the operators.
const operatorPods = "kubectl get pods -A -l app.kubernetes.io/name=etcd-operator"

func unseen(object string, about subject, operator string) Finding {
	found := finding(Blocked, object, about, metav1.Condition{Reason: v1beta2.ReasonPending, Message: "No operator has read the object."})
	found.Impact = "Nothing happens until " + operator + " runs and watches this namespace."
	found.Fix = "Check that " + operator + " runs, and that --watch-namespaces and --shard include this object."
	found.Commands = []string{operatorPods}
	return found
}

// alarmFindings returns the alarms that members report and the conditions do not.
func alarmFindings(o Objects, found []Finding) []Finding {
	var more []Finding
	for _, m := range o.Cluster.Status.MemberStatuses {
		for alarm, reason := range map[string]string{"NOSPACE": v1beta2.ReasonNoSpace, "CORRUPT": v1beta2.ReasonDataCorrupt} {
			reported := func(f Finding) bool { return f.Reason == reason }
			if alarm == "CORRUPT" && fenced(o.Cluster) {
				continue // etcd does not say in /health which member an alarm names
			}
			if strings.Contains(o.Looks[m.Name].Alarms, alarm) && !slices.ContainsFunc(slices.Concat(found, more), reported) {
				message := fmt.Sprintf("Member %s reports the alarm %s, and the status does not show it yet.", m.Name, alarm)
				more = append(more, finding(Outage, "EtcdCluster "+o.Cluster.Name, subjectOf(o), metav1.Condition{Reason: reason, Message: message}))
			}
		}
	}
	return more
}

// fenced reports whether the operator refuses writes with a fence, which etcd shows as the alarm CORRUPT. The condition Ready reports a real
// corruption beside it.
func fenced(c v1beta2.EtcdCluster) bool {
	restore := c.Status.Restore
	return isTrue(c.Status.Conditions, v1beta2.ConditionReadOnly) || restore != nil && restore.Step == v1beta2.RestoreSwitching
}

func isTrue(conditions []metav1.Condition, kind string) bool {
	return meta.IsStatusConditionTrue(conditions, kind)
}

package findings

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
)

// Findings returns what is wrong with a cluster, its Pods, backups and restores, the worst first.
func Findings(o observed.Objects) []Finding {
	found := clusterFindings(o)
	found = append(found, alarmFindings(o, found)...)
	found = podFindings(o, found)
	for i, r := range observed.RestoresOf(o.Cluster.Name, o.Restores) {
		if i == 0 || !observed.IsTrue(r.Status.Conditions, v1beta2.ConditionFailed) {
			found = append(found, restoreFindings(subjectOf(o), r)...)
		}
	}
	backups := observed.BackupsOf(o.Cluster.Name, o.Backups)
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

func clusterFindings(o observed.Objects) []Finding {
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
	if found.Severity == Outage && isStandby(c) {
		found.Severity = workSeverity(c.Status.Conditions, *ready)
	}
	return []Finding{withOutage(withUnhealed(found, c.Status), about, c.Status)}
}

// outages are the reasons whose page is about a cluster that does not serve.
var outages = []string{v1beta2.ReasonQuorumLost, v1beta2.ReasonNoSpace, v1beta2.ReasonDataCorrupt, v1beta2.ReasonRecovering}

// withOutage replaces what the reason means for one member by what it means for clients if nothing serves them.
func withOutage(f Finding, about Subject, status v1beta2.EtcdClusterStatus) Finding {
	available := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionAvailable)
	switch {
	case f.Severity != Outage || available == nil || slices.Contains(outages, f.Reason) || slices.Contains(progressing, f.Reason):
		return f
	case f.Reason == v1beta2.ReasonMemberDown && strings.HasPrefix(available.Message, "No member serves"):
		// Its page is to wait for the replacement, and that needs a quorum.
		known := runbook.Pages()[v1beta2.ReasonQuorumLost]
		f.Impact, f.Fix, f.Commands = known.Impact, known.Fix, CommandsFor(known.Commands, about, f.Object, about.MemberIn(f.Problem))
		return f
	}
	why, _, _ := strings.Cut(runbook.Sentence(available.Message), ":")
	f.Impact = "Clients are not served."
	if why != "" {
		f.Impact += " " + strings.TrimSuffix(why, ".") + "."
	}
	return f
}

// withUnhealed adds the members that are down or missing while something else keeps the operator from healing them.
func withUnhealed(f Finding, status v1beta2.EtcdClusterStatus) Finding {
	degraded := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionDegraded)
	heldUp := f.Reason == v1beta2.ReasonPaused || observed.IsTrue(status.Conditions, v1beta2.ConditionStalled)
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
	case observed.IsTrue(conditions, v1beta2.ConditionStalled):
		return Blocked
	case slices.Contains(progressing, ready.Reason):
		return Progress
	}
	return Degraded
}

// behind reports that the operator has not read the last change. Whatever the status says is older.
func behind(object string, about Subject, c v1beta2.EtcdCluster, ready metav1.Condition) Finding {
	found := unseen(object, about, "cluster-operator")
	found.Severity = Degraded
	found.Problem = fmt.Sprintf("The status is older than the spec: cluster-operator has read generation %d of %d.", c.Status.ObservedGeneration, c.Generation)
	if ready.Message != "" {
		found.Problem += " Before, it reported " + ready.Reason + ": " + ready.Message
	}
	found.Impact = "The last change of the spec has no effect yet. If cluster-operator does not run, it heals nothing. Members that run continue to serve."
	return found
}

// alarmFindings returns the alarms that members report and the conditions do not.
func alarmFindings(o observed.Objects, found []Finding) []Finding {
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
	return observed.IsTrue(c.Status.Conditions, v1beta2.ConditionReadOnly) || restore != nil && restore.Step == v1beta2.RestoreSwitching
}

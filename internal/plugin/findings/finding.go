package findings

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
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
	v1beta2.ReasonFollowing,
}

// operatorPods lists the Pods of the operators.
const operatorPods = "kubectl get pods -A -l app.kubernetes.io/name=etcd-operator"

// finding returns what the runbook says about the reason of a condition.
func finding(severity Severity, object string, of Subject, c metav1.Condition) Finding {
	found := Finding{Severity: severity, Object: object, Reason: c.Reason, Problem: c.Message}
	if found.Problem == "" {
		found.Problem = "The status has no message."
	}
	known, ok := runbook.Pages()[c.Reason]
	if !ok {
		found.Impact = "This release of kubectl-etcd does not know the reason."
		found.Fix = "Follow the message. Install the kubectl-etcd of the operator's release."
		return found
	}
	found.Impact, found.Fix, found.Commands = about(object, known.Impact), known.Fix, CommandsFor(known.Commands, of, object, of.MemberIn(object+" "+c.Message))
	return found
}

func unseen(object string, about Subject, operator string) Finding {
	found := finding(Blocked, object, about, metav1.Condition{Reason: v1beta2.ReasonPending, Message: "No operator has read the object."})
	found.Impact = "Nothing happens until " + operator + " runs and watches this namespace."
	found.Fix = "Check that " + operator + " runs, and that --watch-namespaces and --shard include this object."
	found.Commands = []string{operatorPods}
	return found
}

package world

import "fmt"

// Invariant is a promise of the planner that the simulation checks at every step. Tests and decision records cite it by
// its number.
type Invariant int

// Invariants. ARCHITECTURE.md lists them.
const (
	AcknowledgedWritesSurvive Invariant = iota
	OneChangeAtATime
	QuorumIsKept
	OneIdentityOneHistory
	DataIsKept
	NoActionWithoutQuorum
	EveryRunSettles
	LeaderLast
	DataIsReadable
	AlarmsHaveACause
	ForeignMembersAreKept
	ReplacedIsSilent
)

// Invariants holds the name and one sentence of each, by number.
var Invariants = [...]struct{ Name, Sentence string }{
	AcknowledgedWritesSurvive: {"acknowledged writes survive", "A write that etcd acknowledged is never lost, unless the spec consents to it."},
	OneChangeAtATime:          {"one change at a time", "The membership changes by one member, and the next change waits until that one is complete."},
	QuorumIsKept:              {"quorum is kept", "No step of the operator, and no drain that its PodDisruptionBudget allows, takes quorum from a cluster that has it."},
	OneIdentityOneHistory:     {"one identity, one history", "No member starts under an old identity without its data, and a formed cluster is never bootstrapped again."},
	DataIsKept:                {"data is kept", "Data is deleted only after what replaces it was seen to serve."},
	NoActionWithoutQuorum:     {"no action without quorum", "While quorum is lost, the operator removes nothing and starts no member alone without the spec's consent."},
	EveryRunSettles:           {"every run settles", "Every run ends with a cluster that is as its spec asks, or with a status that names what a person must do."},
	LeaderLast:                {"leader last", "The leader is stopped after all others, and only after it handed over if another member could lead."},
	DataIsReadable:            {"data is readable", "No member is started on a version that cannot read its data, or the log that it is sent."},
	AlarmsHaveACause:          {"alarms have a cause", "An alarm is disarmed only after its cause is removed."},
	ForeignMembersAreKept:     {"foreign members are kept", "A member that the operator did not add is removed only if the user consents to it."},
	ReplacedIsSilent:          {"a replaced cluster is silent", "After the client Service selects a restored cluster, the cluster before it acknowledges no write."},
}

// String returns the number and the name of an invariant.
func (i Invariant) String() string {
	return fmt.Sprintf("invariant %d (%s)", int(i), Invariants[i].Name)
}

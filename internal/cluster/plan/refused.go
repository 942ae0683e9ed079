package plan

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// changeRefusedFor is how long etcd may refuse the same change before a person must look.
	changeRefusedFor = time.Minute
	// quotedAfter is how long etcd refuses a change before the status quotes it. After each new member, etcd refuses the next one for 5 s,
	// until it has seen all connections for that time.
	quotedAfter = 10 * time.Second
)

// RefusedForNow is the wait in place of a change that etcd refuses, although it may accept it later. said is what etcd answers.
func RefusedForNow(s state.State, step steps.Step, said string) steps.Wait {
	d := steps.Describe(s, step)
	wait := steps.Wait{Reason: d.Reason, Message: d.Message, Overdue: v1beta2.ReasonRefusedByEtcd, Limit: changeRefusedFor, Advice: howToBeAccepted(s)}
	if _, promotes := step.(steps.PromoteLearner); promotes { // etcd refuses it until the learner has caught up
		wait.Limit = state.CatchUpTime(s) + state.StartGrace
	}
	if _, lasted := state.Lasted(s, wait.Key()); lasted >= quotedAfter {
		wait.Message += planning.Sentence(" etcd refuses it for now: ", planning.Quote(cmp.Or(said, "no answer"), restore.MaxRefusal))
	}
	return wait
}

// RefusedForLong reports whether etcd has refused a change for so long that a person must look.
func RefusedForLong(s state.State, step steps.Step) bool {
	_, lasted := state.Lasted(s, RefusedForNow(s, step, "").Key())
	return lasted >= changeRefusedFor
}

// howToBeAccepted says what a person does if etcd refuses a change for long. etcd adds no member while a voter is down.
func howToBeAccepted(s state.State) string {
	for _, m := range s.ForeignMembers {
		if !m.Learner {
			return fmt.Sprintf("etcd adds no member while a voter is down. The operator did not add voter %s and cannot see whether it runs: start it, or remove it. %s", m.Label(), state.WayOutOfForeign(s, m))
		}
	}
	if names := state.Unanswered(repair.OwnVoters(s)); names != "" {
		return planning.Sentence("etcd adds no member while a voter is down. These members do not serve: ", names)
	}
	return "All voters answer the operator. Read the logs of the members, and check the connections between them and their clocks."
}

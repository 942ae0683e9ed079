package membership

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// PromoteLearner gives a learner its vote. If the cluster must shrink, the learner is removed first instead. etcd refuses
// until the learner has caught up.
func PromoteLearner(s state.State) steps.Step {
	if s.Surplus() > len(steps.LeavingMembers(s)) {
		return nil
	}
	for _, m := range s.Membership() {
		if m.Learner && m.Started && m.Answers && steps.LeavingCause(s, m) == "" {
			if wait := waits.OutgrowsBudget(s, m); wait != nil {
				return wait
			}
			if s.Promoting != m.Name {
				return steps.RecordPromotion{Name: m.Name}
			}
			return steps.PromoteLearner{ID: m.ID, Name: m.Name}
		}
	}
	return nil
}

package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A standby was restarted three times in the months in which it followed. When it was promoted and served, the switch removed it with its volume, which was the only copy.
// A standby whose users refuse the operator, or that ends too often, was removed in the same way.
func TestAStandbyIsRemovedOnlyWithItsEtcdRestore(t *testing.T) {
	troubles := map[string]func(*state.Member){
		"it was restarted three times": func(m *state.Member) { m.Seed.Failures = 3 },
		"it can never start":           func(m *state.Member) { m.Seed.Failures, m.Seed.Hopeless, m.Serving = 9, true, false },
		"its users refuse": func(m *state.Member) {
			m.Refusal, m.Serving, m.UnreadySince = etcd.RefusedPassword, false, noon.AddDate(0, 0, -1)
		},
		"its Pods end": func(m *state.Member) { m.Pod, m.Serving = state.PodEnded, false },
		"its Pod does not start": func(m *state.Member) {
			m.Pod, m.Serving, m.UnreadySince = state.PodBlocked, false, noon.AddDate(0, 0, -1)
		},
		"it lacks revisions": func(m *state.Member) { m.Revision = 1 },
	}
	for name, trouble := range troubles {
		for _, step := range []v1beta2.RestoreStep{v1beta2.RestoreSeeding, v1beta2.RestoreSwitching} {
			s := stateWith(standsBy, askedToPromote, aSeed(serving, func(m *state.Member) {
				m.Seed = &state.Seed{Promoting: true, DoneAt: noon.AddDate(0, 0, -1), Promoted: &v1beta2.PromotedStatus{Timeline: 1, Revision: 42}}
			}, trouble))
			s.Restore.Step, s.Restore.ClusterID, s.Restore.Revision = step, seedID, 1000000042
			for rule, got := range map[string]steps.Step{"the restore": restore.Restore(s), "the plan": Plan(s)} {
				if failed, fails := got.(steps.FailRestore); fails {
					t.Errorf("%s, while %s: %s removes the standby: %s", name, step, rule, failed.Message)
				}
			}
		}
	}
}

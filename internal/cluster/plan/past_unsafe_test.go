package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// unsafeWaits are states in which the operator waits, and a step of a later rule would lose data, or writes that etcd has acknowledged.
var unsafeWaits = map[string][]change{
	"the seed takes over":                            {members(3), restored(v1beta2.RestoreSwitching), asked, aSeed(onVolume, pod(state.PodStarting)), with(1, gone)},
	"quorum is lost":                                 {members(3), recorded, noQuorum, with(0, gone), with(1, gone)},
	"no quorum answers":                              {members(3), recorded, noQuorum},
	"only copies of volumes are left":                {members(3), recorded, noQuorum, with(0, withoutPod, copied), with(1, withoutPod, copied), with(2, gone)},
	"a survivor runs with --force-new-cluster":       {members(1), func(s *state.State) { s.Members[0].Start, s.Members[0].Pod = state.StartForce, state.PodDeleting }},
	"the last member stops for a hibernation":        {members(3), with(0, withoutPod), with(1, withoutPod), with(2, pod(state.PodDeleting)), func(s *state.State) { s.Spec.Hibernate = true }},
	"the user paused the cluster":                    {members(3), with(1, gone), func(s *state.State) { s.Spec.Paused = true }},
	"the Service selects members that are not there": {members(3), with(1, gone), servicesFor(7, "")},
	"a member is stopping":                           {members(3), with(1, pod(state.PodDeleting)), func(s *state.State) { s.Certificates.Trust = "new" }},
	"a member has a copy that cannot be set aside":   {members(3), recorded, with(2, withoutPod, copied, unreadyFor(24*time.Hour)), refusesAside(2)},
	"so, and the cluster shrinks":                    {members(3), size(1), recorded, with(2, withoutPod, copied, unreadyFor(24*time.Hour)), refusesAside(2)},
}

// refusesAside: the API server refuses to set aside the volume of a member.
func refusesAside(i int) change {
	return func(s *state.State) { Refuse(s, steps.SetAsideVolume{Name: nameOf(i)}) }
}

func TestNothingIsDonePastAWaitIfThatIsUnsafe(t *testing.T) {
	for name, changes := range unsafeWaits {
		s := stateWith(append([]change{formed}, changes...)...)
		if step := Plan(s); steps.Acts(step) {
			t.Errorf("%s: the operator returns %T %+v, want it to wait", name, step, step)
		}
	}
}

// Two of three voters serve, and the third cannot be added. A restart of one would leave no quorum.
func TestAClusterBelowItsSizeRestartsNoMemberThatItsQuorumNeeds(t *testing.T) {
	s := stateWith(formed, members(2), noClass, func(s *state.State) { s.Certificates.Trust = "new" })
	if step := Plan(s); steps.Acts(step) {
		t.Errorf("the operator returns %T %+v, want it to wait", step, step)
	}
}

// Rules after which no member may start or restart stop these steps whatever they wait for.
func TestTheWaitsThatLetNoMemberStartAreListed(t *testing.T) {
	for _, rule := range []string{"cancelDowngrade", "refuseTLSChange", "issueCertificates", "missingSecrets", "refuseForeignServices", "contradictedService", "forceNewCluster", "corruptAlarm", "peersRefuseCertificate"} {
		h, listed := waitHolds[rule]
		s := stateWith(formed, members(3))
		if !listed || slices.ContainsFunc([]bool{true, false}, func(stalled bool) bool { return h.reach(s, steps.Wait{Stalled: stalled}) > spaceOnly }) {
			t.Errorf("a wait of rule %s lets members start", rule)
		}
	}
}

package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

const (
	restoreUID  = "uid-restore"
	seedCluster = etcd.ID(0xdef)
	proven      = 1000 // revision of the snapshot
)

// seeds are the possible conditions of the seed of a restore.
var seeds = []condition{
	{"no seed", func(*state.Member) {}},
	{"volume only", func(m *state.Member) { m.Volume = state.VolumePresent }},
	{"starting", func(m *state.Member) { has(m, state.PodStarting) }},
	{"serving", serves},
	{"serving a lower revision than the snapshot", func(m *state.Member) {
		serves(m)
		m.Revision = proven - 1
	}},
	{"serving, volume being deleted", func(m *state.Member) {
		serves(m)
		m.Volume = state.VolumeDeleting
	}},
	{"volume being deleted", func(m *state.Member) { m.Volume = state.VolumeDeleting }},
	{"stopping", func(m *state.Member) { has(m, state.PodDeleting) }},
	{"evicted", func(m *state.Member) { has(m, state.PodEnded) }},
	{"no node", func(m *state.Member) {
		has(m, state.PodBlocked)
		m.PodReason = v1beta2.ReasonPodUnschedulable
	}},
	{"waits for its volume", func(m *state.Member) {
		has(m, state.PodBlocked)
		m.Volume, m.PodReason = state.VolumeNone, v1beta2.ReasonPodUnschedulable
	}},
	{"failed 3 times", func(m *state.Member) {
		has(m, state.PodStarting)
		m.Seed = &state.Seed{Failures: 3, Message: "the store does not answer"}
	}},
	{"failed, and a retry cannot help", func(m *state.Member) {
		has(m, state.PodStarting)
		m.Seed = &state.Seed{Failures: 1, Hopeless: true, Message: "the object does not exist"}
	}},
}

func serves(m *state.Member) {
	runs(m)
	m.Revision, m.ClusterID, m.ID, m.Started = proven, seedCluster, 77, true
}

// olds are the possible conditions of the old members.
var olds = map[string][]condition{
	"none":            nil,
	"healthy":         {ready, ready, ready},
	"quorum lost":     {ready, lost, lost},
	"stopping":        {deleting, deleting, missing},
	"all lost":        {lost},
	"outdated":        {outdatedReady, ready, learnerAdded},
	"already stopped": {missing, missing, missing},
}

// requests are the possible states of the EtcdRestore.
var requests = map[string]func(*state.State){
	"asked for": func(s *state.State) { s.Request = request(restoreUID) },
	"deleted":   func(*state.State) {},
	"another":   func(s *state.State) { s.Request = request("uid-another") },
}

func request(uid string) *state.RestoreRequest {
	return &state.RestoreRequest{Name: uid, UID: types.UID(uid), Revision: proven}
}

func TestEveryRestoreSettles(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	steps := []v1beta2.RestoreStep{"", v1beta2.RestoreSeeding, v1beta2.RestoreSwitching, v1beta2.RestoreGrowing, v1beta2.RestoreFailed}
	for _, durable := range []bool{true, false} {
		if testing.Short() && !durable {
			continue
		}
		for _, step := range steps {
			for old, conditions := range olds {
				for asked, ask := range requests {
					for _, seed := range seeds {
						for fate := world.FateGood; fate <= world.FateTooOld; fate++ {
							s := restoring(durable, step, conditions, seed)
							ask(&s)
							w := observe.From(s)
							for i := range w.Restores {
								w.Restores[i].Seed = fate
							}
							count.run(w, fmt.Sprintf("durable %v, step %q, old cluster %s, seed %s, restore %s, fate %d", durable, step, old, seed.name, asked, fate))
						}
					}
				}
			}
		}
	}
	count.tell()
}

// Any end of an operator, and any change of an EtcdRestore, may leave a fence behind. If it is neither continued nor taken back, the old members
// refuse writes, and nothing replaces them.
func TestEachFenceIsContinuedOrTakenBack(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	for _, step := range []v1beta2.RestoreStep{"", v1beta2.RestoreSeeding, v1beta2.RestoreSwitching, v1beta2.RestoreFailed} {
		for _, fencer := range []types.UID{restoreUID, "uid-another", "uid-gone"} {
			for old, conditions := range olds {
				for asked, ask := range requests {
					for _, seed := range seeds {
						s := restoring(true, step, conditions, seed)
						ask(&s)
						for i := range s.Members {
							if m := &s.Members[i]; m.Incarnation == s.Incarnation && m.Answers {
								m.Alarms = append(m.Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: etcd.FenceID(fencer)})
							}
						}
						count.run(observe.From(s), fmt.Sprintf("step %q, fence of %s, old cluster %s, seed %s, restore %s", step, fencer, old, seed.name, asked))
					}
				}
			}
		}
	}
	count.tell()
}

// restoring returns a State in which a restore has reached a step.
func restoring(durable bool, step v1beta2.RestoreStep, conditions []condition, seed condition) state.State {
	s := formed(3, durable, conditions)
	if conditions == nil {
		s.ClusterID, s.Incarnation, s.KnownVersion, s.MembershipKnown = "", 0, "", false
		s.Services = state.Services{}
	}
	if step == "" {
		return s
	}
	s.Restore = &v1beta2.ClusterRestoreStatus{Name: restoreUID, UID: restoreUID, Step: step, Incarnation: 2, ClusterIDBefore: s.ClusterID}
	m := state.Member{Name: state.InitialNames(s, 2, 1)[0], Incarnation: 2, Start: state.StartSeed}
	seed.set(&m)
	m.Start = state.StartSeed
	if !durable {
		m.Volume = state.VolumeNone
	}
	switch step {
	case v1beta2.RestoreSwitching:
		s.Restore.ClusterID, s.Restore.Revision = seedCluster.String(), proven
		m.ClusterID, m.ID, m.Started = seedCluster, 77, true
	case v1beta2.RestoreGrowing:
		s.Restore.ClusterID, s.Restore.Revision = seedCluster.String(), proven
		s.ClusterID, s.Incarnation, s.KnownVoters, s.MembershipKnown = seedCluster.String(), 2, []string{m.Name}, true
		for i := range s.Members {
			s.Members[i].InMembership = false
		}
		m.ClusterID, m.ID, m.Started, m.InMembership = seedCluster, 77, true, true
	}
	if m.Pod != state.PodNone || m.Volume != state.VolumeNone || m.InMembership {
		s.Members = append(s.Members, m)
	}
	return s
}

// TestARestoreOfAClusterWithDeadNodesEndsOrTouchesNothing restores clusters with some dead nodes. If the dead nodes have no
// quorum, the restore completes. Otherwise the operator neither fences nor stops the old members that serve.
func TestARestoreOfAClusterWithDeadNodesEndsOrTouchesNothing(t *testing.T) {
	for size := 1; size <= 5; size++ {
		for dead := range size + 1 {
			for _, durable := range []bool{true, false} {
				s := formed(size, durable, slices.Repeat([]condition{ready}, size))
				s.Now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
				s.MembershipKnown = size-dead >= etcd.Quorum(size)
				for i := range dead {
					has(&s.Members[i], state.PodDeleting)
					s.Members[i].GoneBy = s.Now.Add(-time.Hour)
					s.Members[i].Answers, s.Members[i].Serving, s.Members[i].PodReady = false, false, false
				}
				s.Request = request(restoreUID)
				w := observe.From(s)
				o := run.Run(w, changingNothing(t))
				_, done := o.Last.(steps.Done)
				stops := slices.ContainsFunc(o.Steps, func(step steps.Step) bool {
					_, fences := step.(steps.FenceWrites)
					_, stops := step.(steps.StopMembers)
					return fences || stops
				})
				if wants := dead < etcd.Quorum(size); done != wants || stops != wants || len(w.Violations) > 0 {
					t.Errorf("%d of %d nodes dead, durable %v: %v\n%s\n%+v", dead, size, durable, w.Violations, trace(o), o.Last)
				}
			}
		}
	}
}

// TestASwitchBesideAQuorumOfOldMembersIsCaught plants a bug: the seed takes over while two of three old members may run.
func TestASwitchBesideAQuorumOfOldMembersIsCaught(t *testing.T) {
	adopts := plan.PlanWith(plan.Instead("restore", func(s state.State) steps.Step {
		return steps.AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
	}))
	for name, test := range map[string]struct {
		old    []condition
		caught bool
	}{"two of three may run": {[]condition{deleting, deleting, missing}, true}, "one of three may run": {[]condition{deleting, missing, missing}, false}} {
		s := restoring(true, v1beta2.RestoreSwitching, test.old, condition{"serving", serves})
		s.Request = request(restoreUID)
		w := observe.From(s)
		check.Step(w, adopts(observe.Observe(w)))
		if caught := len(w.Violations) > 0; caught != test.caught {
			t.Errorf("%s: %v", name, w.Violations)
		}
	}
}

// TestASeedWhosePersistentVolumeIsLostEndsItsRestore: the restore fails after 15 minutes, and the old members serve.
func TestASeedWhosePersistentVolumeIsLostEndsItsRestore(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	w.Restores = []world.Restore{{UID: restoreUID, Verified: true, Revision: proven}}
	for created := false; !created; {
		_, step := run.Pass(w, plan.Plan)
		_, created = step.(steps.CreateMember)
	}
	fault.LoseVolume(w, 3)
	if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || !w.Restores[0].Failed || len(w.Violations) > 0 {
		t.Errorf("it ends with %+v, %v\n%s", o.Last, w.Violations, trace(o))
	}
}

// TestASeedThatHoldsTooLittleNeverBecomesTheCluster: no client writes to a seed, so the operator still detects its low revision
// if it was down for 100 seconds (SIM_SEED=1, world 999).
func TestASeedThatHoldsTooLittleNeverBecomesTheCluster(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	w.Restores = []world.Restore{{UID: restoreUID, Verified: true, Revision: proven, Seed: world.FateTooOld}}
	for created := false; !created; {
		_, step := run.Pass(w, plan.Plan)
		_, created = step.(steps.CreateMember)
	}
	for range 100 {
		effects.Second(w)
	}
	if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || !w.Restores[0].Failed || len(w.Violations) > 0 {
		t.Errorf("it ends with %+v, %v\n%s", o.Last, w.Violations, trace(o))
	}
}

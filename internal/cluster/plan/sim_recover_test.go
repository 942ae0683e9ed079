package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

var corrupt = condition{"corrupt", func(m *state.Member) {
	votes(m)
	has(m, state.PodBlocked)
	m.PodReason, m.Corrupt = v1beta2.ReasonPodFailing, true
}}

// wrecks are the possible conditions of the members of a cluster that has lost its quorum.
var wrecks = []condition{
	missing, starting, deleting, ended, hung, unschedulable, corrupt, lost, lostWithPod, losing, learnerAdded, removedVolume,
}

// TestEveryLostQuorumSettles starts with and without consent. If the conditions are recoverable, consent recovers the cluster.
func TestEveryLostQuorumSettles(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	for n := 1; n <= fewMembers; n++ {
		if testing.Short() && n > 3 {
			continue
		}
		for _, size := range []int{1, 3, 5} {
			for _, consents := range []bool{false, true} {
				multisets(wrecks, n, func(conditions []condition) {
					s := formed(size, true, conditions)
					if consents {
						s.Spec.Recovery = consent()
					}
					about := fmt.Sprintf("size %d, consent %v: %s", size, consents, words(conditions))
					w := observe.From(s)
					fault.Lag(w)
					o := count.run(w, about)
					if _, done := o.Last.(steps.Done); consents && recoverable(conditions) && !done {
						t.Errorf("%s: not recovered\n%s", about, trace(o))
					}
				})
			}
		}
	}
	count.tell()
}

// recoverable reports whether a voter has data, and all members are in conditions from which consent must recover the cluster.
func recoverable(conditions []condition) bool {
	fine := []string{missing.name, starting.name, deleting.name, lost.name, lostWithPod.name}
	holds := false
	for _, c := range conditions {
		if !slices.Contains(fine, c.name) {
			return false
		}
		holds = holds || (c.name != lost.name && c.name != lostWithPod.name)
	}
	return holds
}

// survivors are the possible conditions of a chosen survivor.
var survivors = []condition{
	missing, starting, deleting, ended, unschedulable, corrupt, losing, lost,
	{"with the flag, starting", flagged(starting)},
	{"with the flag, stopping", flagged(deleting)},
	{"with the flag, evicted", flagged(ended)},
	{"with the flag, unschedulable", flagged(unschedulable)},
	{"with the flag, crashing", flagged(crashing)},
	{"with the flag, hung", flagged(hung)},
}

func flagged(c condition) func(*state.Member) {
	return func(m *state.Member) {
		c.set(m)
		m.Start, m.InService = state.StartForce, false
	}
}

// TestEveryRecoveryMidwaySettles starts at each half-way point, with and without the status, and with and without the consent.
func TestEveryRecoveryMidwaySettles(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	for _, survivor := range survivors {
		others := []condition{lost, missing, losing, starting, deleting}
		if strings.HasPrefix(survivor.name, "with the flag") {
			others = others[:3] // they had stopped before
		}
		for _, other := range others {
			for _, consents := range []bool{false, true} {
				for _, told := range []bool{false, true} {
					s := formed(3, true, []condition{survivor, other, lost})
					if consents {
						s.Spec.Recovery = consent()
					}
					if told {
						s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: s.Members[0].Name}
					}
					w := observe.From(s)
					fault.Consented(w)
					count.run(w, fmt.Sprintf("survivor %s, another %s, consent %v, in the status %v", survivor.name, other.name, consents, told))
				}
			}
		}
	}
	count.tell()
}

// A user applied an EtcdRestore while a cluster recovered from a lost quorum, and the restore failed. The status then had no recovery. The
// volumes with the data from before were deleted at once, and backup-operator continued its archive with the other history.
func TestARestoreThatFailsDoesNotHideARecovery(t *testing.T) {
	for name, begun := range map[string]func(state.State) bool{
		"before the others have stopped": func(s state.State) bool { return s.Recovery != nil },
		"while the survivor runs with the flag": func(s state.State) bool {
			return slices.ContainsFunc(s.Members, func(m state.Member) bool { return m.Start == state.StartForce && m.Pod == state.PodRunning })
		},
		"while the cluster grows": func(s state.State) bool { return s.Recovery != nil && s.Recovery.Step == v1beta2.RecoveryGrowing },
	} {
		t.Run(name, func(t *testing.T) {
			s := formed(5, true, []condition{missing, missing, lost, lost, lost})
			s.Spec.Recovery = consent()
			w := observe.From(s)
			fault.Lag(w)
			for pass := 0; !begun(observe.Observe(w)); pass++ {
				if run.Pass(w, plan.Plan); pass > 100 {
					t.Fatalf("the recovery does not come so far: %+v", w.Cluster.Status.Recovery)
				}
				effects.Tick(w)
			}
			w.Restores = append(w.Restores, world.Restore{UID: restoreUID, Verified: true, Revision: proven, Seed: world.FateNever})
			o := run.Run(w, plan.Plan)
			status := w.Cluster.Status
			if _, done := o.Last.(steps.Done); !done || len(w.Violations) > 0 || status.Restore.Step != v1beta2.RestoreFailed {
				t.Fatalf("%v\n%s", w.Violations, trace(o))
			}
			if status.Recovery == nil || status.Recovery.Step != v1beta2.RecoveryComplete || len(status.Recovery.Voters) != 5 {
				t.Errorf("the status tells of no recovery: %+v", status.Recovery)
			}
			if len(status.ReplacedVolumes) != 1 || status.ReplacedVolumes[0].Name != s.Members[1].Name {
				t.Errorf("the volumes with the data from before are %+v, want that of %s", status.ReplacedVolumes, s.Members[1].Name)
			}
		})
	}
}

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// every condition is tried in clusters of up to fewMembers, the common ones in clusters of up to maxMembers.
var (
	every = []condition{
		ready, outdatedReady, starting, missing, ended, deleting, unschedulable, crashing, hung, lost, lostWithPod, losing, losingReady,
		neverStarted, neverStartedMissing, neverStartedLost,
		learner, learnerAdded, learnerStarting, learnerLost, learnerLosing, removed, removedVolume,
	}
	common = []condition{ready, outdatedReady, missing, unschedulable, lost, learner, learnerAdded, removedVolume}
)

const (
	fewMembers   = 4
	maxMembers   = 7
	mostNewborns = 5
)

// tally runs worlds to their end and counts how they end.
type tally struct {
	t              *testing.T
	starts, passes int
	failures       int
	ends           map[string]int
}

// maxFailures is the number of failures that are logged. More would add nothing.
const maxFailures = 20

func (c *tally) run(w *world.World, words string) run.Outcome {
	c.t.Helper()
	o := run.Run(w, plan.Plan)
	c.starts, c.passes = c.starts+1, c.passes+o.Passes
	if c.ends == nil {
		c.ends = map[string]int{}
	}
	c.ends[steps.Describe(state.State{}, o.Last).Reason]++
	if len(w.Violations) == 0 {
		return o
	}
	if c.failures++; c.failures <= maxFailures {
		c.t.Errorf("%s: %s\n%s", words, w.Violations[0], trace(o))
	}
	return o
}

func (c *tally) tell() {
	c.t.Helper()
	c.t.Logf("%d starts, %d passes, %d failures; ends: %v", c.starts, c.passes, c.failures, c.ends)
}

func TestEverySmallClusterSettles(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	for _, durable := range []bool{true, false} {
		for n := range maxMembers + 1 {
			all := every
			if n > fewMembers {
				all = common
			}
			if testing.Short() && n > 3 {
				continue
			}
			for _, size := range []int{1, 3, 5, 7} {
				multisets(all, n, func(conditions []condition) {
					for _, leader := range leaders(conditions) {
						s := formed(size, durable, conditions)
						if leader >= 0 {
							s.Members[leader].Leader = true
						}
						count.run(observe.From(s), fmt.Sprintf("size %d, durable %v, leader %d: %s", size, durable, leader, words(conditions)))
					}
				})
			}
		}
	}
	count.tell()
}

func TestEtcdWithoutLearnersGrows(t *testing.T) {
	for from := 1; from <= 3; from++ {
		for size := from; size <= maxMembers; size++ {
			s := formed(size, true, slices.Repeat([]condition{ready}, from))
			s.Spec.Version, s.KnownVersion = "3.3.27", "3.3.27"
			for i := range s.Members {
				s.Members[i].Version, s.Members[i].PodImage = "3.3.27", image("3.3.27")
			}
			w := observe.From(s)
			o := run.Run(w, plan.Plan)
			if _, settled := o.Last.(steps.Advice); !settled || len(w.Violations) > 0 { // such an old etcd is advised against
				t.Errorf("from %d to %d: %v\n%s", from, size, w.Violations, trace(o))
			}
		}
	}
}

// leaders returns the members that may lead: each one that serves in a small cluster. -1 leaves the choice to the model.
func leaders(conditions []condition) []int {
	able := []int{-1}
	for i, c := range conditions {
		var m state.Member
		c.set(&m)
		if m.Serving && len(conditions) < fewMembers {
			able = append(able, i)
		}
	}
	if len(able) > 1 {
		able = able[1:]
	}
	return able
}

// newborns are the possible conditions of an initial member of a cluster that has not formed.
var newborns = []condition{
	{"nothing", func(*state.Member) {}},
	{"volume only", func(m *state.Member) { m.Volume = state.VolumePresent }},
	{"starting", func(m *state.Member) { has(m, state.PodStarting) }},
	{"running", runs},
	{"stopping", func(m *state.Member) { has(m, state.PodDeleting) }},
	{"no node", func(m *state.Member) {
		has(m, state.PodBlocked)
		m.PodReason = v1beta2.ReasonPodUnschedulable
	}},
	{"ran, volume left", func(m *state.Member) { m.Started, m.Volume = true, state.VolumePresent }},
	{"ran, volume being deleted", func(m *state.Member) { m.Started, m.Volume = true, state.VolumeDeleting }},
	{"ran, lost", func(m *state.Member) { m.Started = true }},
}

func TestEveryBirthSettles(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	for _, durable := range []bool{true, false} {
		for n := 1; n <= mostNewborns; n++ {
			if testing.Short() && n > 3 {
				continue
			}
			for _, size := range []int{n, n%7 + 1} {
				multisets(newborns, n, func(conditions []condition) {
					s := unborn(size, durable, conditions)
					count.run(observe.From(s), fmt.Sprintf("size %d, durable %v: %s", size, durable, words(conditions)))
				})
			}
		}
	}
	count.tell()
}

// unborn returns the State of a cluster that has not formed. If a member has run, all volumes were created before.
func unborn(size int, durable bool, conditions []condition) state.State {
	s := formed(size, durable, nil)
	s.ClusterID, s.Incarnation, s.KnownVersion, s.MembershipKnown = "", 0, "", false
	s.Services = state.Services{}
	ran := false
	for i, name := range state.InitialNames(s, 1, len(conditions)) {
		m := state.Member{Name: name, Incarnation: 1, ID: etcd.ID(i + 1)}
		conditions[i].set(&m)
		if m.Pod != state.PodNone || m.Volume != state.VolumeNone {
			m.InitialSize, m.Start = len(conditions), state.StartNew
		}
		if !durable {
			m.Volume = state.VolumeNone
		}
		m.Started = m.Started || m.Answers
		ran = ran || m.Started
		s.Members = append(s.Members, m)
	}
	for i := range s.Members {
		s.Members[i].InMembership = ran
	}
	if ran && durable {
		s.Incarnation = 1
	}
	return s
}

func trace(o run.Outcome) string {
	var b strings.Builder
	for i, s := range o.Steps {
		if i > 12 {
			fmt.Fprintf(&b, "  ... %d more\n", len(o.Steps)-i)
			break
		}
		fmt.Fprintf(&b, "  %T%+v\n", s, s)
	}
	fmt.Fprintf(&b, "  last %T%+v", o.Last, o.Last)
	return b.String()
}

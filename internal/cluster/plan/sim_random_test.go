package plan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

const (
	// randomSteps is the number of steps in all. stepsWithFaults is the number in one world before its faults end.
	randomSteps     = 1_000_000
	stepsWithFaults = 300
)

func TestRandomFaultsBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps, worlds{})
}

// TestRandomFaultsOfFullClustersBreakNothing adds used-up quotas and corruption to all other faults.
func TestRandomFaultsOfFullClustersBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/10, worlds{crowded: true})
}

// TestRandomFaultsWhileDataIsMovedOntoVolumesBreakNothing adds the removal of emptyDir from the spec to all other faults.
func TestRandomFaultsWhileDataIsMovedOntoVolumesBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/5, worlds{moving: true})
}

// TestRandomFaultsOfMembershipsChangedByHandBreakNothing adds changes with etcdctl, records that are lost or old, and restarts of all
// containers to all other faults.
func TestRandomFaultsOfMembershipsChangedByHandBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/5, worlds{handmade: true})
}

// TestRandomFaultsWhileTheClockJumpsBreakNothing sets the clock of the operator in both directions among all other faults. The API server has
// the right time.
func TestRandomFaultsWhileTheClockJumpsBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/10, worlds{clocks: true})
}

// If a rule changed the lists that it reads, the rules after it and the status would decide about other members than those observed.
func TestRulesLeaveTheObservedListsAsTheyAre(t *testing.T) {
	t.Parallel()
	for number := uint64(0); number < 20 && !t.Failed(); number++ {
		live(changingNothing(t), simSeed(), number, worlds{handmade: number%2 == 0, moving: number%4 == 1})
	}
}

// changingNothing plans, and fails the test if that changed what was observed.
func changingNothing(t *testing.T) run.Planner {
	return func(s state.State) steps.Step {
		before := s
		before.Members, before.ForeignMembers, before.Foreign = slices.Clone(s.Members), slices.Clone(s.ForeignMembers), slices.Clone(s.Foreign)
		before.Held, before.PodFailures, before.SetAside = slices.Clone(s.Held), slices.Clone(s.PodFailures), slices.Clone(s.SetAside)
		step := plan.Plan(s)
		if !reflect.DeepEqual(s, before) {
			t.Errorf("%T changed what was observed:\n%s\nbefore:\n%s", step, brief(s), brief(before))
		}
		return step
	}
}

// simSeed is the same in every build, so that a build fails only because of its own change. make simulate runs other worlds.
func simSeed() uint64 {
	if os.Getenv("SIM_SEED") == "random" {
		return rand.Uint64()
	}
	if given, err := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64); err == nil {
		return given
	}
	return 1
}

// simWorlds returns the numbers of the first world to run and of the one after the last: all, or only that of SIM_WORLD.
func simWorlds() (first, end uint64) {
	if given, err := strconv.ParseUint(os.Getenv("SIM_WORLD"), 10, 64); err == nil {
		return given, given + 1
	}
	return 0, math.MaxUint64
}

// worlds selects the faults that are added to all others.
type worlds struct{ crowded, estranged, resizing, moving, handmade, volatile, clocks, refusing, managed, static bool }

func randomWorlds(t *testing.T, wanted int, of worlds) {
	seed := simSeed()
	t.Logf("SIM_SEED=%d", seed)
	number, end := simWorlds()
	first, stepCount, ends, kinds := number, 0, map[string]int{}, map[reflect.Type]int{}
	unchanging := changingNothing(t) // in one of eight worlds, because it takes twice the time
	planner := func(s state.State) steps.Step {
		var step steps.Step
		if number%8 == 0 {
			step = unchanging(s)
		} else {
			step = plan.Plan(s)
		}
		kinds[reflect.TypeOf(step)]++
		return step
	}
	if testing.Short() {
		wanted /= 20
	}
	for ; stepCount < wanted && number < end && !t.Failed(); number++ {
		w, o, said := live(planner, seed, number, of)
		stepCount += said + o.Passes
		ends[fmt.Sprintf("%T %s", o.Last, steps.Describe(state.State{}, o.Last).Reason)]++
		if len(w.Violations) > 0 {
			t.Errorf("SIM_SEED=%d, world %d: %s", seed, number, w.Violations[0])
			retell(t, seed, number, of)
		}
	}
	t.Logf("%d steps in %d worlds, which ended so: %v; steps planned: %v", stepCount, number-first, ends, kinds)
}

// live runs one world, first with faults and then without.
func live(planner run.Planner, seed, number uint64, of worlds, logf ...func(string, ...any)) (*world.World, run.Outcome, int) {
	r := rand.New(rand.NewPCG(seed, number))
	w := world.New(1+r.IntN(7), r.IntN(4) > 0 && !of.moving)
	w.Gentle, w.Crowded, w.Estranged, w.Resizing, w.Moving = r.IntN(3) > 0, of.crowded, of.estranged, of.resizing, of.moving
	w.Handmade, w.Volatile, w.Clocks, w.Refusing = of.handmade, of.volatile, of.clocks, of.refusing
	if of.managed || of.static {
		w.Secure(of.managed)
		w.PlainProbes = r.IntN(3) == 0
		w.Clocks = w.Clocks || r.IntN(4) == 0
	}
	w.Cluster.UID = types.UID(fmt.Sprintf("uid-%d", r.IntN(1000))) // the names of members are hashes of it, so that they have another order
	w.Chance(r)
	log := len(logf) > 0
	if log {
		planned := planner
		planner = func(s state.State) steps.Step {
			logf[0]("    %s", brief(s))
			return planned(s)
		}
	}
	n := run.Noise{World: w, Plan: planner, Rand: r}
	if log {
		n.Log = logf[0]
	}
	stepCount := 0
	for ; stepCount < stepsWithFaults && len(w.Violations) == 0; stepCount++ {
		n.Step()
	}
	if len(w.Violations) > 0 {
		return w, run.Outcome{Last: steps.Done{}}, stepCount
	}
	fault.Repair(w)
	if log {
		logf[0]("--- repaired")
	}
	o := run.Run(w, func(s state.State) steps.Step {
		step := planner(s)
		if log {
			logf[0]("%T%+v", step, step)
		}
		return step
	})
	run.CheckLost(w, o)
	return w, o, stepCount
}

// brief returns the parts of a State that most often explain a Step.
func brief(s state.State) string {
	line := fmt.Sprintf("%d of %s, known %s", s.Spec.Size, s.Spec.EtcdVersion(), s.KnownVersion)
	if c := s.VersionChange; c != nil {
		line += fmt.Sprintf(", %s for %s", c.Step, c.To)
	}
	for _, m := range s.Members {
		_, image, _ := strings.Cut(m.PodImage, ":v")
		line += fmt.Sprintf(" | %s %d %s%s", strings.TrimPrefix(m.Name, s.Name+"-"), m.Incarnation, m.Volume, strings.Join([]string{"", string(m.Pod), image, string(m.Start)}, " "))
		if s.Spec.TLS != nil {
			line += fmt.Sprintf(" trusts %s (%s, ready: %t, answers: %t)", m.Trust, s.Certificates.Trust, m.PodReady, m.Answers)
		}
		if m.Answers {
			line += fmt.Sprintf(" %s of %s, down %q", m.Version, m.StorageVersion, m.Downgrade)
		}
	}
	return line
}

// retell runs a world again, and logs its last steps.
func retell(t *testing.T, seed, number uint64, of worlds) {
	t.Helper()
	var lines []string
	live(plan.Plan, seed, number, of, func(format string, a ...any) {
		lines = append(lines, fmt.Sprintf(format, a...))
	})
	last := 80
	if os.Getenv("SIM_SEED") != "" {
		last = len(lines)
	}
	told := slices.Compact(lines)
	for _, line := range told[max(0, len(told)-last):] {
		t.Log(line)
	}
}

package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// lasting are the steps that have no effect and no limit, and why a user need not be told after a time.
var lasting = map[string]string{
	"Done":          "the cluster is as its spec asks",
	"Idle":          "the user paused the cluster or deletes it",
	"Hibernating":   "the user wants no Pods",
	"AwaitResize":   "a driver may take hours for a large volume, the members serve, and the message has what the driver reports",
	"VolumeMayFill": "the cluster is ready, and the message is an advice",
	"Advice":        "the cluster is ready, and the message is an advice",
}

func TestEachStepWithoutAnEffectHasALimitOrAReasonToLast(t *testing.T) {
	for _, step := range everyStep {
		name := reflect.TypeOf(step).Name()
		if _, waits := step.(steps.Wait); !waits && !steps.Acts(step) && lasting[name] == "" {
			t.Errorf("%s may be the last step for ever, and nothing tells the user to look", name)
		}
	}
}

// waited is a state in which the operator has waited so long for what the wait is about.
func waited(wait steps.Wait, d time.Duration) change {
	return func(s *state.State) {
		s.Waiting.Saw([]state.WaitKey{wait.Key()}, s.Now.Add(-d))
	}
}

// Whatever rule waits, also one that is written tomorrow: after a time the user is told.
func TestTheWaitOfEachRuleIsStalledAfterItsLimit(t *testing.T) {
	for i, r := range allRules() {
		planted := allRules()
		wait := steps.Wait{Reason: "Planted", Message: "It waits."}
		planted[i].Decide = func(state.State) steps.Step { return wait }
		for name, test := range map[string]struct {
			d       time.Duration
			stalled bool
		}{"before": {state.WaitLimit - time.Second, false}, "after": {state.WaitLimit, true}} {
			s := stateWith(waited(wait, test.d))
			step := first([]group{{Rules: planted[i:]}}, s, func(string, steps.Step) bool { return false }).step
			got, _ := step.(steps.Wait)
			if got.Stalled != test.stalled || test.stalled && (got.Reason != v1beta2.ReasonWaitTooLong || !strings.Contains(got.Message, "It waits. The operator has waited since")) {
				t.Errorf("rule %s, %s the limit: %+v", r.Name, name, got)
			}
		}
	}
}

func TestTheTimeOfAWaitBeginsAgainWhen(t *testing.T) {
	wait := steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "It restores.", Progress: 10}
	var w state.Waiting
	w.Saw([]state.WaitKey{wait.Key()}, noon)
	stalled := func(step steps.Wait, after time.Duration) bool {
		s := state.State{Now: noon.Add(after), Waiting: w}
		return Bounded(s, step).Stalled
	}
	if !stalled(wait, state.WaitLimit) {
		t.Error("a wait is not stalled after its limit")
	}
	ahead := wait
	ahead.Progress = 20
	if stalled(ahead, state.WaitLimit) {
		t.Error("a wait that progresses is stalled")
	}
	other := wait
	other.Reason = v1beta2.ReasonScaling
	if stalled(other, state.WaitLimit) {
		t.Error("another wait is stalled at once")
	}
	reported := Bounded(state.State{Now: noon.Add(state.WaitLimit), Waiting: w}, wait)
	w.Saw([]state.WaitKey{reported.Key()}, noon.Add(state.WaitLimit))
	if !stalled(wait, state.WaitLimit+time.Second) {
		t.Error("a wait that was reported as stalled begins again")
	}
	w.Saw(nil, noon.Add(state.WaitLimit))
	if stalled(wait, 2*state.WaitLimit) {
		t.Error("a pass without the wait does not end it")
	}
	w.Saw([]state.WaitKey{wait.Key()}, noon.Add(time.Hour)) // by a clock that was ahead
	w.Saw([]state.WaitKey{wait.Key()}, noon)
	if !stalled(wait, state.WaitLimit) {
		t.Error("a clock that was ahead once keeps the wait from its limit")
	}
}

// A wait that is reported behind another one has a limit, too, and what is repaired past it does not change since when it lasts.
func TestEachWaitOfAPassHasATimeOfItsOwn(t *testing.T) {
	ahead := steps.Wait{Reason: "First", Message: "It waits.", Limit: time.Hour}
	behind := steps.Wait{Reason: "Behind", Message: "It waits, too."}
	rules := allRules()
	planted := func(repair steps.Step) state.State {
		rules[slices.IndexFunc(rules, func(r rule) bool { return r.Name == "promoteLearner" })].Decide = func(state.State) steps.Step { return ahead }
		rules[slices.IndexFunc(rules, func(r rule) bool { return r.Name == "scaleUp" })].Decide = func(state.State) steps.Step { return behind }
		rules[slices.IndexFunc(rules, func(r rule) bool { return r.Name == "reclaimSpace" })].Decide = func(state.State) steps.Step { return repair }
		return stateWith(formed, members(3))
	}
	choose := func(s state.State) choice {
		return first([]group{{Rules: rules}}, s, func(string, steps.Step) bool { return false })
	}
	s := planted(nil)
	c := choose(s)
	want := []state.WaitKey{ahead.Key(), behind.Key()}
	if diff := cmp.Diff(want, c.waits); diff != "" {
		t.Errorf("the waits of a pass: %s", diff)
	}
	s.Waiting.Saw(c.waits, s.Now.Add(-state.WaitLimit))
	c = choose(s)
	if wait, _ := c.step.(steps.Wait); !wait.Stalled || !strings.Contains(wait.Message, "Meanwhile: It waits, too. The operator has waited since") {
		t.Errorf("the status says %+v, want the wait behind the first one to be reported after its limit", c.step)
	}
	repaired := planted(steps.CompactHistory{})
	c = choose(repaired)
	if _, is := c.step.(steps.CompactHistory); !is || !slices.Contains(c.waits, ahead.Key()) {
		t.Errorf("the plan returns %T and the waits %v, want a repair past the first wait", c.step, c.waits)
	}
}

func TestWhatEtcdRefusesReachesTheStatus(t *testing.T) {
	add := steps.AddLearner{Name: nameOf(3), PeerURL: "http://x"}
	const said = "etcdserver: unhealthy\ncluster"
	for name, test := range map[string]struct {
		lasted  time.Duration
		changes []change
		stalled bool
		has     []string
	}{
		"just now":           {time.Second, nil, false, []string{"is adding member"}},
		"for 10 s":           {quotedAfter, nil, false, []string{"etcd refuses it for now: etcdserver: unhealthy cluster."}},
		"for a minute":       {changeRefusedFor, nil, true, []string{"etcdserver: unhealthy cluster", "The operator has waited since", "All voters answer"}},
		"a member is silent": {changeRefusedFor, []change{with(2, silent)}, true, []string{"a voter is down", nameOf(2)}},
		"a foreign voter":    {changeRefusedFor, []change{guest()}, true, []string{"etcdserver: unhealthy cluster", "did not add voter", "guest", "start it, or remove it", v1beta2.AnnotationRemoveForeign}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(append([]change{formed, members(3), size(4)}, test.changes...)...)
			s.Waiting.Saw([]state.WaitKey{RefusedForNow(s, add, said).Key()}, s.Now.Add(-test.lasted))
			wait := Bounded(s, RefusedForNow(s, add, said))
			if wait.Stalled != test.stalled || (wait.Reason == v1beta2.ReasonRefusedByEtcd) != test.stalled {
				t.Errorf("stalled: %t, reason %s", wait.Stalled, wait.Reason)
			}
			for _, want := range test.has {
				if !strings.Contains(wait.Message, want) {
					t.Errorf("the status says %q, want %q", wait.Message, want)
				}
			}
		})
	}
}

// etcd refuses to promote a learner until it has caught up, which takes long with a large database.
func TestALearnerThatCatchesUpIsNoRefusalForAPerson(t *testing.T) {
	s := stateWith(formed, members(3))
	promote := steps.PromoteLearner{Name: nameOf(3)}
	s.Waiting.Saw([]state.WaitKey{RefusedForNow(s, promote, "not in sync").Key()}, s.Now.Add(-5*time.Minute))
	if wait := Bounded(s, RefusedForNow(s, promote, "not in sync")); wait.Stalled {
		t.Errorf("the status says %+v", wait)
	}
}

// A change that etcd refuses for long held up all that comes after it: no write was accepted, and no member trusted the new CA.
func TestAChangeThatEtcdRefusesDoesNotStopTheRepairs(t *testing.T) {
	s := stateWith(formed, members(3), size(4), database(100*mi, 90*mi), full)
	add, is := Plan(s).(steps.AddLearner)
	if !is {
		t.Fatalf("the plan returns %T, want AddLearner", Plan(s))
	}
	Obstruct(&s, add, RefusedForNow(s, add, "unhealthy cluster"))
	step := Plan(s)
	if _, is := step.(steps.CompactHistory); !is {
		t.Errorf("the plan returns %T %+v, want room to be made", step, step)
	}
	s.Waiting.Saw([]state.WaitKey{RefusedForNow(s, add, "").Key()}, s.Now.Add(-time.Second))
	if refused := RefusedForNow(s, add, ""); !slices.Contains(Waits(s, step), refused.Key()) {
		t.Errorf("a repair ends the time of the refusal: the waits are %v", Waits(s, step))
	}
	s = stateWith(formed, members(3), size(4), func(s *state.State) { s.Certificates.Trust = "new" })
	s.Waiting.Saw([]state.WaitKey{RefusedForNow(s, add, "unhealthy cluster").Key()}, s.Now.Add(-changeRefusedFor))
	Obstruct(&s, add, RefusedForNow(s, add, "unhealthy cluster"))
	if _, is := Plan(s).(steps.DeletePod); !is {
		t.Errorf("the plan returns %T %+v, want members to restart for the new CA", Plan(s), Plan(s))
	}
}

// A preparation for another minor version is cancelled as long as a member is yet to be added.
func TestNoVersionChangeBeginsWhileEtcdRefusesANewMember(t *testing.T) {
	s := stateWith(formed, members(3), size(4), func(s *state.State) { s.Spec.Version = "3.7.3" })
	add, is := Plan(s).(steps.AddLearner)
	if !is {
		t.Fatalf("the plan returns %T, want a new member", Plan(s))
	}
	s.Waiting.Saw([]state.WaitKey{RefusedForNow(s, add, "unhealthy cluster").Key()}, s.Now.Add(-time.Hour))
	Obstruct(&s, add, RefusedForNow(s, add, "unhealthy cluster"))
	if step := Plan(s); steps.Acts(step) {
		t.Errorf("the plan returns %T %+v, want it to wait", step, step)
	}
}

func TestAMessageOfALongAnswerIsBounded(t *testing.T) {
	s := stateWith(formed, members(3), size(4))
	add := steps.AddLearner{Name: nameOf(3)}
	s.Waiting.Saw([]state.WaitKey{RefusedForNow(s, add, "").Key()}, s.Now.Add(-quotedAfter))
	if wait := RefusedForNow(s, add, strings.Repeat("x", 5000)); len(wait.Message) > planning.MaxNote {
		t.Errorf("the message has %d bytes", len(wait.Message))
	}
}

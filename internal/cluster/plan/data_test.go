package plan

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// effect is what a step takes away: Pods that it stops, and volumes that it deletes or takes from the members.
type effect struct {
	stops, deletes func(state.State, steps.Step) []string
	// asides: the volume is kept, but is no member's any more.
	asides bool
}

func nothing(state.State, steps.Step) []string { return nil }

func named(_ state.State, step steps.Step) []string {
	return []string{reflect.ValueOf(step).FieldByName("Name").String()}
}

// allBut are the members of all incarnations but one.
func allBut(s state.State, step steps.Step) []string {
	var stopped []string
	for _, m := range s.Members {
		if except := reflect.ValueOf(step).FieldByName("Except").Int(); int64(m.Incarnation) != except {
			stopped = append(stopped, m.Name)
		}
	}
	return stopped
}

// takesAway declares of each step that stops Pods, or deletes volumes, which ones.
var takesAway = map[string]effect{
	"DeletePod":      {stops: named, deletes: nothing},
	"ForceDeletePod": {stops: named, deletes: nothing},
	"StopMembers":    {stops: allBut, deletes: nothing},
	"DeleteVolume":   {stops: nothing, deletes: named},
	"SetAsideVolume": {stops: nothing, deletes: named, asides: true},
}

// others are the steps whose act calls the same functions of the API and takes no Pod or volume away.
var takesOtherObjects = []string{"WithdrawBudget", "WithdrawNetworkPolicy", "RemovePreviousCA", "HandOutCA", "WithdrawUserCertificates", "RequestCertificates", "ApplyServices"}

// TestEveryStepThatTakesAPodOrAVolumeAwayIsDeclared reads which steps delete objects, or patch a volume off its member, from the source of
// the act. Such a step that is not declared in takesAway is not among those that TestNoRuleStopsTheOnlyCopy looks at.
func TestEveryStepThatTakesAPodOrAVolumeAwayIsDeclared(t *testing.T) {
	functions, calls := actFunctions(t)
	deletes := map[string]bool{"setAsideVolume": true}
	for changed := true; changed; {
		changed = false
		for name, called := range calls {
			reaches := slices.ContainsFunc(called, func(c string) bool {
				return c == "Delete" || c == "DeleteAllOf" || c == "delete" || c == "Evict" || deletes[c]
			})
			if reaches && !deletes[name] && name != "Act" && !strings.HasPrefix(name, "actOn") {
				deletes[name], changed = true, true
			}
		}
	}
	found := 0
	for _, f := range functions {
		ast.Inspect(f, func(node ast.Node) bool {
			clause, is := node.(*ast.CaseClause)
			if !is || !slices.ContainsFunc(callsOf(clause), func(c string) bool { return deletes[c] || c == "Delete" }) {
				return true
			}
			for _, step := range stepsOf(clause) {
				found++
				if _, declared := takesAway[step]; !declared && !slices.Contains(takesOtherObjects, step) {
					t.Errorf("%s deletes an object: declare in takesAway which Pods it stops and which volumes it deletes", step)
				}
			}
			return true
		})
	}
	if found < len(takesAway) {
		t.Errorf("only %d steps that delete something were found in the source", found)
	}
}

// actFunctions returns the functions of the act, and what each calls.
func actFunctions(t *testing.T) (functions []*ast.FuncDecl, calls map[string][]string) {
	t.Helper()
	files, err := filepath.Glob("../act/*.go")
	if err != nil {
		t.Fatal(err)
	}
	calls = map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			f, is := declaration.(*ast.FuncDecl)
			if !is || f.Body == nil {
				continue
			}
			calls[f.Name.Name] = append(calls[f.Name.Name], callsOf(f)...)
			if f.Name.Name == "Act" || strings.HasPrefix(f.Name.Name, "actOn") {
				functions = append(functions, f)
			}
		}
	}
	return functions, calls
}

func callsOf(node ast.Node) (called []string) {
	ast.Inspect(node, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is {
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				called = append(called, f.Sel.Name)
			case *ast.Ident:
				if f.Name != "delete" { // of a map
					called = append(called, f.Name)
				}
			}
		}
		return true
	})
	return called
}

func stepsOf(clause *ast.CaseClause) (steps []string) {
	for _, expression := range clause.List {
		if s, is := expression.(*ast.SelectorExpr); is {
			steps = append(steps, s.Sel.Name)
		}
	}
	return steps
}

// only are the states of a volume in which the next Pod would not have the data that runs now.
var only = map[string]func(*state.Member){
	"being deleted": volume(state.VolumeDeleting),
	"lost":          volume(state.VolumeLost),
	"gone":          func(m *state.Member) { volume(state.VolumeNone)(m) },
	"another one":   func(m *state.Member) { m.VolumeID = state.VolumeID{Claim: "another", Volume: "pv-another"} },
	"in the Pod":    func(m *state.Member) { m.Volume, m.DataInPod = state.VolumeNone, true },
}

// conditionsOfMembers are what can be wrong with a member, so that some rule wants to stop it.
var conditionsOfMembers = map[string]func(*state.Member){
	"well":             func(*state.Member) {},
	"outdated":         func(m *state.Member) { m.Outdated = true },
	"of another image": withImage("3.6.15"),
	"of another CA":    func(m *state.Member) { m.Trust = "old" },
	"beside":           func(m *state.Member) { besideFails(time.Hour)(m); m.Outdated = true },
	"just unready":     func(m *state.Member) { silent(m); m.UnreadySince = noon.Add(-2 * time.Minute); m.Outdated = true },
	"unready for long": func(m *state.Member) { silent(m); m.UnreadySince = noon.Add(-time.Hour) },
	"silent, old CA":   func(m *state.Member) { silent(m); m.UnreadySince, m.Trust = noon.Add(-time.Hour), "old" },
	"failing": func(m *state.Member) {
		blockedBy(v1beta2.ReasonPodFailing)(m)
		m.Ran, m.UnreadySince = true, noon.Add(-2*time.Minute)
	},
	"failing, outdated": func(m *state.Member) { blockedBy(v1beta2.ReasonPodFailing)(m); m.Ran, m.Outdated = true, true },
	"of a seed":         func(m *state.Member) { m.Start = state.StartSeed },
	"flagged":           func(m *state.Member) { forced(m) },
	"to grow its file system": func(m *state.Member) {
		silent(m)
		m.UnreadySince, m.FileSystemPendingSince, m.PodCreated = noon.Add(-time.Hour), noon.Add(-30*time.Minute), noon.Add(-2*time.Hour)
	},
}

// clusterStates are what a user may ask for, and what may be wrong with the cluster.
var clusterStates = map[string]change{
	"as asked":               func(*state.State) {},
	"to hibernate":           hibernating,
	"without quorum":         noQuorum,
	"without quorum, asleep": func(s *state.State) { noQuorum(s); hibernating(s) },
	"without quorum for long": func(s *state.State) {
		noQuorum(s)
		for i := range s.Members {
			s.Members[i].UnreadySince, s.Members[i].PodReady = noon.Add(-time.Hour), false
		}
	},
	"to shrink":            size(1),
	"to grow":              size(5),
	"without StorageClass": noClass,
	"with failed learners": failures(3, time.Minute),
	"with a foreign voter": guest(),
	"onto emptyDir":        ontoPods,
	"corrupt":              func(s *state.State) { s.Members[0].Hash = "odd" },
	"fenced":               func(s *state.State) { s.Asked.Fence = []string{nameOf(0)} },
	"to be replaced":       func(s *state.State) { s.Asked.Replace = []string{nameOf(0)} },
	"recovered":            func(s *state.State) { s.Recovery = recoveredFrom(0) },
	"restored":             restored(v1beta2.RestoreGrowing),
	"with a seed": func(s *state.State) {
		restored(v1beta2.RestoreSeeding)(s)
		asked(s)
	},
	"paused": func(s *state.State) { s.Spec.Paused = true },
}

func recoveredFrom(i int) *v1beta2.ClusterRecoveryStatus {
	return &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(i), Voters: []string{nameOf(0), nameOf(1)}}
}

// TestNoRuleStopsTheOnlyCopy puts every state of a member's data into every state of a cluster. If a rule stops the Pod that has the only
// copy of its data, the user loses what that member alone may know, and with all members of a storage that lost its volumes, everything.
func TestNoRuleStopsTheOnlyCopy(t *testing.T) {
	states := 0
	for clusterName, inState := range clusterStates {
		for firstName, first := range conditionsOfMembers {
			for othersName, others := range conditionsOfMembers {
				for lossName, loss := range only {
					for _, n := range []int{1, 3} {
						for _, all := range []bool{false, true} {
							s := stateWith(formed, members(n), size(n), managed, recorded)
							for i := range s.Members {
								m := &s.Members[i]
								if i == 0 {
									first(m)
								} else {
									others(m)
								}
								if i == 0 || all {
									loss(m)
								}
							}
							inState(&s)
							states++
							what := fmt.Sprintf("%d members, cluster %s, volume of member 0 %s (all: %t), member 0 %s, others %s", n, clusterName, lossName, all, firstName, othersName)
							checkStops(t, s, what)
						}
					}
				}
			}
		}
	}
	t.Logf("%d states", states)
}

// checkStops follows a plan past steps that the API server refuses, so that later rules are asked, too.
func checkStops(t *testing.T, s state.State, what string) {
	t.Helper()
	for range 3 {
		step, rule := Choose(s)
		taken := takesAway[reflect.TypeOf(step).Name()]
		if taken.stops == nil {
			return
		}
		for _, name := range taken.stops(s, step) {
			m, _ := state.Find(s, name)
			if onlyInItsPod(s, m) && !redundant(s, m) && !consented(s, step) {
				t.Errorf("%s: %s stops the Pod of %s, which has the only copy of its data: %+v", what, rule, name, step)
			}
		}
		for _, name := range taken.deletes(s, step) {
			m, _ := state.Find(s, name)
			if lost := m.Volume == state.VolumePresent && m.InMembership && m.VolumeID.Claim != "another"; lost {
				t.Errorf("%s: %s takes the volume of member %s away: %+v", what, rule, name, step)
			}
		}
		if !Independent(s, rule, step) {
			return
		}
		Refuse(&s, step)
	}
}

// onlyInItsPod says in words of its own what dataOf should say.
func onlyInItsPod(s state.State, m state.Member) bool {
	runs := m.Pod == state.PodRunning || m.Pod == state.PodBlocked
	return runs && m.Incarnation == s.Incarnation && (m.Volume != state.VolumePresent || m.VolumeID.Claim == "another" || !s.Durable())
}

// redundant: a quorum of others serves, and the member does not run, so that it may be replaced; or etcd has it no more.
func redundant(s state.State, m state.Member) bool {
	return s.MembershipKnown && (!m.InMembership || (!m.Serving && m.Pod == state.PodBlocked))
}

// consented: a restore or a recovery replaces the data.
func consented(s state.State, step steps.Step) bool {
	if stop, is := step.(steps.DeletePod); is && stop == recovery.FenceStop(state.Member{Name: stop.Name}) {
		return s.Spec.ForcesNewCluster()
	}
	_, all := step.(steps.StopMembers)
	return all && s.Switching()
}

func TestADrainLeavesTheOnlyCopy(t *testing.T) {
	for name, loss := range only {
		for _, n := range []int{1, 2} {
			s := stateWith(formed, members(n), size(n), recorded)
			if got := state.MinAvailable(s); got != n-1 || state.DataInPods(s) {
				t.Errorf("%d members with their volumes: a drain must leave %d, and unready Pods are kept: %t", n, got, state.DataInPods(s))
			}
			for i := range s.Members {
				loss(&s.Members[i])
			}
			if got := state.MinAvailable(s); got != n {
				t.Errorf("%d members, volumes %s: a drain must leave only %d", n, name, got)
			}
			if !state.DataInPods(s) {
				t.Errorf("%d members, volumes %s: a drain may take a member that is not ready", n, name)
			}
		}
	}
}

func TestMembersThatWouldLoseTheirDataAreReplacedBeforeAHibernation(t *testing.T) {
	for name, loss := range only {
		if name == "in the Pod" {
			continue // as the spec asked, and only a change of the spec is a reason to replace it
		}
		s := stateWith(formed, members(1), size(1), hibernating, recorded, with(0, loss))
		s.Budget.MinAvailable = state.MinAvailable(s)
		step := Plan(s)
		for range 3 { // the volume of unknown data is set aside first
			if aside, is := step.(steps.SetAsideVolume); is {
				Refuse(&s, aside)
				step = Plan(s)
			}
		}
		if add, is := step.(steps.AddLearner); !is {
			t.Errorf("volume %s: the plan is %T %+v, so the cluster never hibernates", name, step, step)
		} else if add.Name == nameOf(0) {
			t.Errorf("volume %s: %+v", name, add)
		}
	}
}

// All members trust an earlier CA, and one of them lost its volume. The two others are a quorum that has every acknowledged write.
func TestANewCARestartsOnlyMembersThatKeepTheirData(t *testing.T) {
	long := func(m *state.Member) { silent(m); m.UnreadySince, m.Trust = noon.Add(-time.Hour), "old" }
	all := func(s *state.State) {
		for i := range s.Members {
			long(&s.Members[i])
		}
	}
	s := stateWith(formed, members(3), managed, recorded, noQuorum, all, with(0, volume(state.VolumeLost)))
	if stop, is := Plan(s).(steps.DeletePod); !is || stop.Name == nameOf(0) {
		t.Errorf("the plan is %+v", Plan(s))
	}
	for i := range s.Members {
		volume(state.VolumeLost)(&s.Members[i])
	}
	wait, is := Plan(s).(steps.Wait)
	if !is || !wait.Stalled || !strings.Contains(wait.Message, "Put the previous CA back") || !strings.Contains(wait.Message, nameOf(2)) {
		t.Errorf("the plan is %+v", Plan(s))
	}
}

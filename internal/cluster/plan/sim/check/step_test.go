package check_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A simulation that does not know when a member could serve finds no plan that replaces members for the time of an outage, or for their time as
// learners.
func TestARemovalForATimeInWhichTheMemberCouldNotServeIsFound(t *testing.T) {
	for name, cannot := range map[string]func(w *world.World, l *world.Life, run bool){
		"no quorum": func(w *world.World, _ *world.Life, run bool) {
			for i := range w.Pods {
				w.Pods[i].Hung = i == 2 || !run
			}
			raft.Elect(w)
		},
		"a learner": func(w *world.World, l *world.Life, run bool) {
			e := &l.Entries[2]
			if run {
				e.CaughtUp, w.Pod(e.Name).Hung = true, false
				if err := raft.Promote(w, l, e.ID); err != nil {
					t.Fatal(err)
				}
			}
			e.Learner, w.Pod(e.Name).Hung = !run, true
			raft.Elect(w)
		},
	} {
		w := world.New(3, true)
		run.Run(w, plan.Plan)
		l := w.Formed()
		cannot(w, l, false)
		w.Now += 360
		cannot(w, l, true)
		dead := steps.RemoveMember{ID: l.Entries[2].ID, Name: l.Entries[2].Name, Cause: "it has not served for 5m"}
		for _, found := range []bool{true, false} {
			w.Violations = nil
			check.Step(w, dead)
			if is := strings.Contains(strings.Join(w.Violations, " "), "after it could serve at the earliest"); is != found {
				t.Errorf("%s: found %t, want %t: %v", name, is, found, w.Violations)
			}
			w.Now += 61
		}
	}
}

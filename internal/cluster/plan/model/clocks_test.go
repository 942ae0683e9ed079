package model

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A simulation that does not know when a member could serve finds no plan that replaces members for the time of an outage, or for their time as
// learners.
func TestARemovalForATimeInWhichTheMemberCouldNotServeIsFound(t *testing.T) {
	for name, cannot := range map[string]func(w *World, l *life, run bool){
		"no quorum": func(w *World, _ *life, run bool) {
			for i := range w.pods {
				w.pods[i].hung = i == 2 || !run
			}
			w.elect()
		},
		"a learner": func(w *World, l *life, run bool) {
			e := &l.entries[2]
			if run {
				e.caughtUp, w.pod(e.name).hung = true, false
				if err := w.promote(l, e.id); err != nil {
					t.Fatal(err)
				}
			}
			e.learner, w.pod(e.name).hung = !run, true
			w.elect()
		},
	} {
		w := New(3, true)
		w.Run(plan.Plan)
		l := w.formed()
		cannot(w, l, false)
		w.now += 360
		cannot(w, l, true)
		dead := steps.RemoveMember{ID: l.entries[2].id, Name: l.entries[2].name, Cause: "it has not served for 5m"}
		for _, found := range []bool{true, false} {
			w.Violations = nil
			w.Check(dead)
			if is := strings.Contains(strings.Join(w.Violations, " "), "after it could serve at the earliest"); is != found {
				t.Errorf("%s: found %t, want %t: %v", name, is, found, w.Violations)
			}
			w.now += 61
		}
	}
}

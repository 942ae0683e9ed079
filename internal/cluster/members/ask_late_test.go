package members

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// late makes all answers too old to be used, as if the cluster had waited long for its turn.
func (a *asking) late(t *testing.T) {
	t.Helper()
	select {
	case <-a.q.Wake:
	case <-time.After(2 * AskTimeout):
		t.Fatal("the last answer started no pass")
	}
	for _, q := range a.known().Questions {
		<-q.Done
		q.asked, q.answered = q.asked.Add(-freshness), q.answered.Add(-freshness)
	}
}

// The members of a thousand clusters answered within a second instead of half a second. Each pass came too late to use the answers
// and asked again, so no pass of any cluster ever had all answers.
func TestAPassThatComesTooLateForTheAnswersWaitsForNewOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.takes = 2 * longestWait
		if _, complete, _ := a.pass(t); complete {
			t.Fatal("the first pass waited for all answers")
		}
		a.late(t)
		if v, complete, _ := a.pass(t); !complete || !v.Members[0].Serving {
			t.Fatal("the second pass has no answers either")
		}
		if _, complete, _ := a.pass(t); complete {
			t.Error("a pass that is not late waits, too")
		}
	})
}

// A member hung, and the turn of its cluster always came over 5 s later. Each step was planned with an answer that was too old, so the
// operator did not take it. The next pass ended before the member had answered again. The status did not report that.
func TestAPassThatComesTooLateAsksAMemberThatHungAgain(t *testing.T) {
	for name, hangs := range map[string][]int{"the first member": {0}, "the second member": {1}, "two members": {0, 2}, "all members": {0, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newAsking(t)
				for _, i := range hangs {
					a.hang(plantest.NameOf(i), true)
				}
				if _, complete, _ := a.pass(t); complete {
					t.Fatal("the first pass waited for all answers")
				}
				a.late(t)
				v, complete, took := a.pass(t)
				if !complete || v.Remembered || took < AskTimeout {
					t.Errorf("complete: %t, remembered: %t, took %s, expected that all members were asked again", complete, v.Remembered, took)
				}
				if v, _, took := a.pass(t); took > longestWait || !v.Remembered {
					t.Errorf("the next pass took %s, remembered: %t, expected that it does not wait for members that hang", took, v.Remembered)
				}
			})
		})
	}
}

// A ready member checked the operator's password for 10 s. A late pass waited for only 2 s, and the next one came too late again.
func TestALatePassWaitsForAMemberThatTookLongerToCheckAPassword(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		if _, complete, _ := a.pass(t); !complete {
			t.Fatal("the members did not answer")
		}
		a.login = &clustertest.SlowPassword{Takes: AskTimeout + longestWait}
		if _, complete, _ := a.pass(t); complete {
			t.Fatal("a pass that is not late waited for the password check")
		}
		a.late(t)
		a.login.Done.Store(false) // the token has expired meanwhile
		if v, complete, _ := a.pass(t); !complete || !v.Members[1].Serving {
			t.Errorf("complete: %t, member: %+v, expected that the pass waited for the password check", complete, v.Members[1])
		}
	})
}

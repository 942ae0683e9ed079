package cluster

import (
	"testing"
	"time"
)

// late makes all answers too old to be used, as if the cluster had waited long for its turn.
func (a *asking) late(t *testing.T) {
	t.Helper()
	select {
	case <-a.r.wake:
	case <-time.After(2 * askTimeout):
		t.Fatal("the last answer started no pass")
	}
	for _, q := range a.known.questions {
		<-q.done
		q.answered = q.answered.Add(-freshness)
	}
}

// A thousand clusters answered within a second instead of half of one. Each pass came too late to use the answers and asked again, so
// no pass of any cluster ever had all answers.
func TestAPassThatComesTooLateForTheAnswersWaitsForNewOnes(t *testing.T) {
	t.Parallel()
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
}

package spool

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// busy is the slot of a job in a lane whose workers are all in use until free is closed.
type busy struct{ free chan struct{} }

func (b busy) Leave() {}

func (b busy) Return(_ context.Context, wait bool) {
	if wait {
		<-b.free
	}
}

// The status of a backup that had its space and waited for a worker was "waiting for space on the spool volume: ", so a user looked for the wrong limit.
func TestTheReasonIsTheWorkerIfAJobHasItsSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, worker := on(900*mib), busy{make(chan struct{})}
		held, err := s.Of("a").Reserve(t.Context(), 9*mib)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan *Share, 1)
		go func() {
			share, err := s.Of("b").Reserve(turns.WithSlot(t.Context(), worker), 8*mib)
			if err != nil {
				t.Error(err)
			}
			ended <- share
		}()
		synctest.Wait()
		for _, step := range []struct {
			does func()
			why  turns.Reason
		}{
			{func() {}, turns.AllInUse},
			{held.Release, turns.Worker},
			{func() { close(worker.free) }, turns.None},
		} {
			step.does()
			synctest.Wait()
			if why := s.Of("b").Why(); why != step.why {
				t.Errorf("the reason is %q instead of %q", why, step.why)
			}
		}
		(<-ended).Release()
	})
}

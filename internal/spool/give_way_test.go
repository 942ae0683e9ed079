package spool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// urgentJob reserves urgent space and keeps it until it ends, after most or for others.
func urgentJob(t *testing.T, s *Spool, namespace string, size float64, most time.Duration) (waited time.Duration, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), longestUrgent)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	began := time.Now()
	share, err := s.Of(namespace).ReserveUrgent(ctx, gib(size))
	if err != nil {
		return time.Since(began), err
	}
	defer share.Release()
	share.EndForOthers(ctx, end)
	waited = time.Since(began)
	select {
	case <-time.After(most):
		return waited, nil
	case <-ctx.Done():
		return waited, context.Cause(ctx)
	}
}

// Two namespaces with slow members held the space for safety snapshots for 14 minutes, and then took it again.
func TestTwoNamespacesGiveWayToTheSafetySnapshotOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("reading").Reserve(t.Context(), gib(16))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		for _, namespace := range []string{"slow", "slow too", "slow", "slow too"} {
			go func() {
				for ctx.Err() == nil {
					_, _ = urgentJob(t, s, namespace, 2.9, longestUrgent)
				}
			}()
			synctest.Wait()
		}
		<-time.After(time.Minute)
		waited, err := urgentJob(t, s, "other", 2, 6*time.Minute)
		if waited > urgentTurn || err != nil {
			t.Errorf("the safety snapshot of another namespace waited for %s, and ended with %v", waited, err)
		}
		stop()
		reading.Release()
		<-time.After(time.Hour)
	})
}

// If a fast large safety snapshot ended a slow small one, a tenant could keep the cluster of another one from ever being saved before its restore.
func TestOnlyTheOneThatHoldsMostGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		asks  float64 // of another namespace, while "small" holds 2 GiB and "large" 2.7 GiB
		gives string
	}{
		"one that is no larger than the large one": {2.5, "large"},
		"one that would hold more than any":        {2.9, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, ended := safetySpool(), make(chan string, 2)
				reading, err := s.Of("reading").Reserve(t.Context(), gib(16.6))
				if err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				for namespace, size := range map[string]float64{"small": 2, "large": 2.7} {
					all.Go(func() {
						if _, err := urgentJob(t, s, namespace, size, longestUrgent); errors.Is(err, turns.ErrOthersWaited) {
							ended <- namespace
						}
					})
				}
				synctest.Wait()
				_, _ = urgentJob(t, s, "other", c.asks, time.Minute)
				reading.Release()
				all.Wait()
				close(ended)
				if gave := <-ended; gave != c.gives {
					t.Errorf("%q gave way, and should be %q", gave, c.gives)
				}
				if again, more := <-ended; more {
					t.Errorf("%q gave way, too", again)
				}
			})
		})
	}
}

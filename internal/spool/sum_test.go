package spool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// checks holds the slot of checks of databases for that long.
func checks(ctx context.Context, g *turns.Gate, namespace string, bytes int64, most time.Duration) error {
	leave, err := g.Enter(ctx, namespace)
	if err != nil {
		return err
	}
	defer leave()
	return g.Limited(ctx, namespace, bytes, func(ctx context.Context, _ *turns.Allowance) error {
		select {
		case <-time.After(most):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// A tenant restores a crafted database again and again whose check does not end, and the safety snapshots of another namespace have ended it three times. Then they wait for
// it up to seven minutes. Before that, the next one waited seven minutes for space. So its 14 minutes passed, although it needs one minute.
func TestASafetySnapshotThatWaitedForSpaceDoesNotWaitAsLongForItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := safetySpool(), turns.NewGate(1)
		ctx, stop := context.WithCancel(t.Context())
		begins := func() (deleted context.CancelFunc) {
			object, deleted := context.WithCancel(ctx)
			go func() {
				for object.Err() == nil {
					_ = checks(object, g, "tenant", 8<<30, 24*time.Hour)
				}
			}()
			synctest.Wait()
			return deleted
		}
		deleted := begins()
		for range 3 {
			if err := checks(turns.Urgent(t.Context()), g, "other", 1<<30, time.Second); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Second)
		}
		reading, err := s.Of("reading").Reserve(t.Context(), gib(16))
		if err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"slow", "slow too", "slow", "slow too"} {
			go func() { _, _ = urgentJob(t, s, namespace, 2.9, longestUrgent) }()
			synctest.Wait()
		}
		limited, end := context.WithTimeout(turns.Urgent(t.Context()), longestUrgent)
		defer end()
		began := time.Now()
		share, err := s.Of("other").ReserveUrgent(limited, gib(2))
		if err != nil {
			t.Fatal(err)
		}
		space := time.Since(began)
		deleted()
		synctest.Wait()
		begins()                       // another EtcdRestore of the tenant
		<-time.After(30 * time.Second) // of the transfer
		if err := checks(limited, g, "other", 2<<30, 20*time.Second); err != nil {
			t.Errorf("the safety snapshot waited %s for space, and had no result after %s: %v", space, time.Since(began), err)
		}
		share.Release()
		stop()
		reading.Release()
		<-time.After(time.Hour)
	})
}

package spool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// repeats reads one snapshot after the other until ctx ends, with a second between them.
func repeats(ctx context.Context, s *Spool, namespace string, bytes int64, holds time.Duration) {
	for ctx.Err() == nil {
		share, err := s.Of(namespace).Reserve(ctx, bytes)
		if err != nil {
			return
		}
		rest(ctx, holds)
		share.Release()
		rest(ctx, time.Second)
	}
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// A user restored a large database, and small ones after each other. A tenant always had one of two slow readings. Whenever a small restore had ended, one of
// these was left, and the next small restore began. While that ran, the large one waited for its own namespace, so the tenant's next reading overtook it. The
// large restore never began.
func TestALargeReadingBeginsAlthoughItsNamespaceHasSmallOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		ctx, stop := context.WithCancel(t.Context())
		for first := range 2 {
			go func() {
				rest(ctx, time.Duration(first)*longestReading/2)
				repeats(ctx, s, "tenant", gib(1), longestReading)
			}()
		}
		go func() {
			rest(ctx, time.Minute)
			repeats(ctx, s, "user", gib(0.7), 10*time.Minute)
		}()
		rest(ctx, 90*time.Minute)
		within, cancel := context.WithTimeout(ctx, 5*24*time.Hour)
		defer cancel()
		began := time.Now()
		share, err := s.Of("user").Reserve(within, gib(16.6))
		if waited := time.Since(began); err != nil || waited > waitOfReading {
			t.Errorf("the large restore waited for %s: %v", waited, err)
		}
		share.Release()
		stop()
		synctest.Wait()
	})
}

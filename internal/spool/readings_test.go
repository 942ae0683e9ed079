package spool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// reads keeps space for a reading until it ends, after most or for a safety snapshot of others.
func reads(ctx context.Context, s *Spool, namespace string, size float64, most time.Duration) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	share, err := s.Of(namespace).Reserve(ctx, gib(size))
	if err != nil {
		return err
	}
	defer share.Release()
	share.EndForOthers(ctx, end)
	select {
	case <-time.After(most):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A large safety snapshot waited for the readings of other namespaces, which may take hours. Its restore continued without it after 15 minutes, and what its
// cluster had acknowledged since its last backup was lost.
func TestReadingsGiveWayToALargeSafetySnapshot(t *testing.T) {
	seed := rand.Uint64()
	for round := range uint64(60) {
		t.Run(fmt.Sprintf("seed %d, round %d", seed, round), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := safetySpool(), rand.New(rand.NewPCG(seed, round))
				ctx, stop := context.WithCancel(t.Context())
				for i := range 1 + r.IntN(8) {
					namespace, own := fmt.Sprint("reading ", r.IntN(3)), rand.New(rand.NewPCG(seed, uint64(i)))
					go func() {
						for ctx.Err() == nil {
							_ = reads(ctx, s, namespace, hostileSizes[own.IntN(len(hostileSizes))]*0.8, longestReading)
							<-time.After(time.Second)
						}
					}()
				}
				for i := range 5 { // a namespace that has overtaken a reading which starves waits for that one the next time
					<-time.After(time.Duration(r.Int64N(int64(4 * time.Hour))))
					if waited, err := urgentJob(t, s, fmt.Sprint("safety ", i), 3+r.Float64()*13, 6*time.Minute); err != nil || waited > urgentTurn+time.Minute {
						t.Errorf("a large safety snapshot waited for %s: %v", waited, err)
					}
				}
				stop()
				<-time.After(time.Hour)
			})
		})
	}
}

// A tenant who starts large safety snapshots again and again would keep the restore of another one from its end.
func TestALongReadingReachesItsEndAlthoughLargeSafetySnapshotsFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				_, _ = urgentJob(t, s, "tenant", 10, time.Minute)
				<-time.After(10 * time.Minute)
			}
		}()
		synctest.Wait()
		ended := 0
		for ; ended <= 10; ended++ {
			if err := reads(t.Context(), s, "honest", 12, 3*time.Hour); err == nil {
				break
			} else if !errors.Is(err, turns.ErrOthersWaited) {
				t.Fatal(err)
			}
		}
		if ended != readingGives {
			t.Errorf("the reading has ended %d times for others, want %d", ended, readingGives)
		}
		stop()
		<-time.After(time.Hour)
	})
}

// A small safety snapshot has a part of its own. If it ended readings, too, each one would cost others a reading of hours.
func TestAReadingDoesNotGiveWayToASmallSafetySnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ended := safetySpool(), make(chan error, 2)
		for _, namespace := range []string{"reading", "another"} {
			go func() { ended <- reads(t.Context(), s, namespace, 8, longestReading) }()
		}
		synctest.Wait()
		for range 20 {
			if waited, err := urgentJob(t, s, "safety", 2.9, 5*time.Minute); err != nil || waited > 0 {
				t.Errorf("a small safety snapshot waited for %s: %v", waited, err)
			}
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("a reading ended with %v", err)
			}
		}
	})
}

// A tenant waits until the reading of another namespace is nearly at its end. If each of these ends counted for a day only, a reading of more than eight hours
// would begin again without end.
func TestAReadingOfHoursReachesItsEndAlthoughItEndsForOthersEachTimeShortBeforeThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begins := safetySpool(), make(chan struct{}, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for range begins {
				<-time.After(9*time.Hour + 45*time.Minute)
				_, _ = urgentJob(t, s, "tenant", 10, time.Minute)
			}
		}()
		ended := 0
		for ; ended <= 10; ended++ {
			begins <- struct{}{}
			if err := reads(ctx, s, "honest", 12, 10*time.Hour); err == nil {
				break
			}
		}
		if ended != readingGives {
			t.Errorf("the reading has ended %d times for others, want %d", ended, readingGives)
		}
		close(begins)
		stop()
		<-time.After(24 * time.Hour)
	})
}

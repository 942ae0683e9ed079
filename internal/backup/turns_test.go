package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// patience is how long something of one namespace may wait while another one stalls.
const patience = 5 * time.Second

// One namespace had all slots of a bucket, of the deletions, of the copies or of the restore tests.
func TestANamespaceThatStallsDelaysNoAttemptOfAnother(t *testing.T) {
	options := Options{MaxConcurrent: 4, MaxPerNamespace: 3, MaxPerStore: 3, MaxRestoreTests: 1}
	for _, kind := range []Kind{KindSnapshot, KindDrill, KindPurge, KindPrune, KindCopy} {
		t.Run("kind "+string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lanes := options.lanes()
				lanes[laneCopy] = maxCopies
				attempts := newAttempts(lanes)
				start := func(namespace string, n int, run func(context.Context)) worker.Key {
					o := jobSpecOf(one())
					o.Kind, o.Namespace, o.Copy = kind, namespace, &o.Target
					name := fmt.Sprint(namespace, n)
					key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(name)}
					attempts.start(key, options.limits().claim(o), &jobProgress{kind: kind}, func(ctx context.Context, _ *jobProgress) Result { run(ctx); return Result{} })
					return key
				}
				var last worker.Key
				for n := range 10 {
					last = start("stalls", n, func(ctx context.Context) { <-ctx.Done() })
				}
				other := start("other", 0, func(context.Context) {})
				<-time.After(patience)
				if _, done, _ := attempts.pool.Result(other); !done {
					t.Errorf("the attempt of another namespace waits: %+v", attempts.find(other))
				}
				if found := attempts.find(last); !found.Queued || found.Progress.Why != turns.OwnShare {
					t.Errorf("the last attempt of the namespace: %+v", found)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = attempts.pool.Run(ctx)
			})
		})
	}
}

// A restore test held the memory of all restore tests while it read from a store that stalled.
func TestAStoreThatStallsKeepsNoMemoryOfRestoreTests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		limits := newTests(1, 0, func(context.Context, dbfile.Trial) (dbfile.KVHash, error) { return dbfile.KVHash{Hash: 7}, nil })
		stall := func(progress *jobProgress) {
			if done, err := limits.enter(ctx, "stalls", progress); err == nil {
				<-ctx.Done()
				done()
			}
		}
		for range 5 {
			go stall(&jobProgress{})
		}
		synctest.Wait()
		waits := &jobProgress{}
		go stall(waits)
		synctest.Wait()
		if got := waits.now(); got.Why != turns.OwnShare {
			t.Errorf("the other tests of the namespace wait: %q", got)
		}
		begin, progress := time.Now(), &jobProgress{}
		done, err := limits.enter(ctx, "other", progress)
		if err != nil {
			t.Fatal(err)
		}
		if hash, err := limits.trial("other", progress)(ctx, dbfile.Trial{}); err != nil || hash.Hash != 7 {
			t.Errorf("hash %d, error %v", hash.Hash, err)
		}
		if done(); time.Since(begin) > patience {
			t.Errorf("it waited for %s", time.Since(begin))
		}
		cancel()
		synctest.Wait()
	})
}

// One namespace could take all places. They are kept for months, so the archives of other namespaces ended at the next restart.
func TestANamespaceWithManyArchivesLeavesPlacesToOthers(t *testing.T) {
	job := &archiveJob{job: &job{spool: spool.New(t.TempDir(), spool.Options{Limit: 20 << 30})}}
	taken := map[string]int{}
	for _, namespace := range []string{"a", "b", "c", "d"} {
		for {
			if _, err := job.reserve(t.Context(), namespace); errors.Is(err, spool.ErrTooSmall) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			taken[namespace]++
		}
	}
	if taken["a"] != 105 || taken["b"] < 10 || taken["c"] < 1 {
		t.Errorf("of 120 places, the namespaces have %v", taken)
	}
}

// trickle is a member that sends a byte every 29 s.
type trickle struct{ ctx context.Context } //nolint:containedctx // the stream owns it

func (trickle) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(trickle{ctx}), 10 << 30, nil
}

func (s trickle) Read(p []byte) (int, error) {
	select {
	case <-time.After(29 * time.Second):
		p[0] = 0
		return 1, nil
	case <-s.ctx.Done():
		return 0, context.Cause(s.ctx)
	}
}

func TestAMemberThatSendsAByteNowAndThenEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.source = func(string, ask.Access) snapshot.Source { return trickle{} }
		w.save = func(ctx context.Context, r snapshot.Request) (snapshot.Saved, error) {
			stream, _, err := r.Source.Snapshot(ctx)
			if err != nil {
				return snapshot.Saved{}, err
			}
			defer stream.Close()
			_, err = io.Copy(io.Discard, stream)
			return snapshot.Saved{}, err
		}
		begin := time.Now()
		r := w.attempt(one(func(s *State) { s.Spec.BackupPolicy = policyOf(86400) }))
		if r.Failure == nil || r.Failure.Reason != "TransferTooSlow" {
			t.Errorf("%+v", r.Failure)
		}
		if took := time.Since(begin); took > 6*time.Minute {
			t.Errorf("it ended after %s", took)
		}
	})
}

func TestAnAttemptLastsAtMostADay(t *testing.T) {
	s := one(func(s *State) { s.Spec.BackupPolicy = policyOf(1 << 40) })
	if got := s.Timeout(); got != 24*time.Hour {
		t.Errorf("the limit is %s", got)
	}
}

func TestTheStatusShowsWhyAnAttemptWaits(t *testing.T) {
	for want, p := range map[string]Progress{
		"The attempt is queued for a worker of the operator: this namespace uses as much as one namespace may.":           {Why: turns.OwnShare},
		"The operator is waiting for space on the spool volume: everything is in use, and namespaces take turns.":         {Stage: "waiting for space on the spool volume", Why: turns.AllInUse},
		"The operator is waiting for space on the spool volume: it is the turn of one that has waited longer.":            {Stage: "waiting for space on the spool volume", Why: turns.Earlier},
		"The attempt is queued for a worker of the operator: this bucket has as many at the same time as one bucket may.": {Why: turns.Bucket},
	} {
		if got := p.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

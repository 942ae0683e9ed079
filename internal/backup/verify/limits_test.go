package verify

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// A namespace kept the one process of restore tests for its own timeoutInSecond, which may be a day, and waited for it again at once. The
// snapshots of all others were not tested meanwhile, and no archive was proven.
func TestARestoreTestDoesNotWaitForHoursForOneOfAnotherNamespace(t *testing.T) {
	killed := func(ctx context.Context) error {
		<-ctx.Done() // it computes
		return dbfile.Refused(errors.New("killed"))
	}
	for name, run := range map[string]func(context.Context, *Tester, *queue.Progress) error{
		"a restore test": func(ctx context.Context, j *Tester, progress *queue.Progress) error {
			_, err := j.Tests.Trial("crafted", progress)(ctx, dbfile.Trial{})
			return err
		},
		"a proof of an archive": func(ctx context.Context, j *Tester, progress *queue.Progress) error {
			return j.replayInTurn(ctx, "crafted", replay.Order{Progress: func(int64) {}}, func(int64) error { return nil }, progress)
		},
	} {
		statetest.Bubble(t, name, func(t *testing.T) {
			j := &Tester{
				Tests:  queue.NewTests(1, 1<<30, func(ctx context.Context, _ dbfile.Trial) (dbfile.KVHash, error) { return dbfile.KVHash{}, killed(ctx) }),
				Replay: func(ctx context.Context, _ replay.Order) (replay.Result, error) { return replay.Result{}, killed(ctx) },
			}
			began := time.Now()
			ended := make(chan error, 1)
			go func() {
				ctx, limit, cancel := queue.WithTimeLimit(t.Context(), 24*time.Hour, func() bool { return true })
				defer cancel()
				ended <- run(ctx, j, &queue.Progress{Limit: limit})
			}()
			<-time.After(time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 48*time.Hour)
			defer cancel()
			done, err := j.Tests.Process(ctx, "other", &queue.Progress{})
			if waited := time.Since(began); err != nil || waited > 5*time.Minute {
				t.Errorf("the restore test of another namespace waited %s, error %v", waited, err)
			}
			if err == nil {
				done()
			}
			if err := <-ended; !errors.Is(err, turns.ErrOthersWaited) || condemns(err) || refutes(err) {
				t.Errorf("it is a failed proof, or a failed restore test: %v", err)
			}
		})
	}
}

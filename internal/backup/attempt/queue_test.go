package attempt_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Without this, one slow restore test of a tenant stops the snapshots of all others for hours.
func TestAttemptsThatWaitForARestoreTestDelayNoSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := attempttest.NewWorld(t)
		free := make(chan struct{})
		w.Drill = func(ctx context.Context, _ proof.RestoreTestRequest) (proof.RestoreTestResult, error) {
			select { // the slow restore test of one tenant
			case <-free:
				return proof.RestoreTestResult{Compared: true}, nil
			case <-ctx.Done():
				return proof.RestoreTestResult{}, context.Cause(ctx)
			}
		}
		options := queue.Options{MaxConcurrent: 4, MaxRestoreTests: 1}
		attempts, limits := queue.NewAttempts(options.Lanes()), options.Limits()
		start := func(namespace, name string, kind state.Kind, changes ...statetest.Change) worker.Key {
			s := statetest.One(changes...)
			s.Namespace, s.Name, s.UID = namespace, name, types.UID(namespace+name)
			s.Spec.S3 = &v1beta2.S3Source{Path: namespace + "/" + namespace + name}
			s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
			o := state.JobSpecOf(s)
			o.Kind = kind
			key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: name}, UID: s.UID}
			attempts.Start(key, limits.Claim(o), &queue.Progress{Kind: kind}, func(ctx context.Context, p *queue.Progress) state.Result { return w.Run(ctx, o, p) })
			return key
		}
		day := func(s *state.State) { s.Spec.BackupPolicy = statetest.PolicyOf(24 * 3600) }
		start("slow", "drill", state.KindDrill, day) // its own limit is a day
		synctest.Wait()
		start("a", "1", state.KindSnapshot, statetest.Verifies)
		start("a", "2", state.KindSnapshot, statetest.Verifies)
		start("b", "1", state.KindSnapshot, statetest.Verifies)
		start("b", "2", state.KindSnapshot, statetest.Verifies)
		synctest.Wait()
		plain := start("c", "1", state.KindSnapshot) // verify: Checksum
		<-time.After(12 * time.Hour)
		synctest.Wait()
		if _, done, _ := attempts.Pool.Result(plain); !done {
			t.Errorf("a snapshot without a restore test has waited for 12 hours: %d wait, %d saves", func() int { n, _ := attempts.Pool.Queue(queue.LaneSnapshot); return n }(), len(w.Saves))
		}
		close(free)
		synctest.Wait()
	})
}

package backup

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// The clock of the operator is ahead of that of the API server, which has set the time of the deletion.
func TestAFinalSnapshotIsTriedForTenMinutesAlsoIfTheClockIsAhead(t *testing.T) {
	statetest.Bubble(t, "by 11 minutes", func(t *testing.T) {
		b := object(statetest.Series(statetest.Proven(time.Minute), func(s *state.State) { s.Spec.FinalSnapshot = true }))
		b.Finalizers = []string{v1beta2.FinalizerSnapshots}
		r := newRig(t, b)
		r.now = func() time.Time { return time.Now().Add(plan.FinalLimit + time.Minute) }
		tried := 0
		r.attempt = func(context.Context, state.JobSpec, *queue.Progress) state.Result {
			tried++
			return state.Result{EndedAt: r.now(), Failure: &state.Failure{Reason: "StoreUnreachable", Message: "No answer."}}
		}
		if err := r.client.Delete(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		deleted, gone := time.Now(), false
		for range 60 {
			result := r.pass()
			if err := r.live.Get(t.Context(), request.NamespacedName, &v1beta2.EtcdBackup{}); apierrors.IsNotFound(err) {
				gone = true
				break
			}
			<-time.After(max(result.RequeueAfter, time.Millisecond))
			synctest.Wait()
		}
		if held := time.Since(deleted); !gone || tried < 5 || held < plan.FinalLimit-time.Minute || held > plan.FinalLimit+time.Minute {
			t.Errorf("released %v after %s and %d attempts", gone, held, tried)
		}
	})
}

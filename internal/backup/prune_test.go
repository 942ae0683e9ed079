package backup

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestADeletedSeriesIsKeptUntilItsFinalSnapshotIsTaken(t *testing.T) {
	for name, fails := range map[string]bool{"is released after the final snapshot": false, "is released after ten minutes without a final snapshot": true} {
		statetest.Bubble(t, name, func(t *testing.T) {
			b := object(statetest.Series(statetest.Proven(time.Minute), func(s *state.State) { s.Spec.FinalSnapshot = true }))
			b.Finalizers = []string{v1beta2.FinalizerSnapshots}
			r := newRig(t, b)
			var asked []string
			r.attempt = func(_ context.Context, o state.JobSpec, _ *queue.Progress) state.Result {
				asked = append(asked, o.Request)
				if fails {
					return state.Result{EndedAt: time.Now(), Failure: &state.Failure{Reason: "StoreUnreachable", Message: "No answer."}}
				}
				return state.Result{EndedAt: time.Now(), Snapshot: statetest.SnapshotAt("bucket/dir/snap.db/ns/b/0000000000000001/y.db", time.Now())}
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
			took := time.Since(deleted)
			if !gone || fails != (took > 9*time.Minute) || took > 12*time.Minute || fails != (len(asked) > 1) || !strings.HasPrefix(asked[0], "final ") {
				t.Errorf("released: %v after %s, attempts %q", gone, took, asked)
			}
			var events []string
			for len(r.events.Events) > 0 {
				events = append(events, <-r.events.Events)
			}
			if all := strings.Join(events, "\n"); strings.Contains(all, "FinalSnapshotMissed") != fails {
				t.Errorf("events:\n%s", all)
			}
		})
	}
}

package backup

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestAThousandBackupsDueAtOnceAreTakenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const backups = 1000
		var objects []client.Object
		for i := range backups {
			b := object(statetest.One())
			b.Name, b.UID = fmt.Sprintf("b%04d", i), types.UID(fmt.Sprintf("u%04d", i))
			objects = append(objects, b)
		}
		r := newRig(t, objects...)
		r.attempts = queue.NewAttempts(map[string]int{queue.LaneSnapshot: 5}) // of which one namespace has 4
		var order []string
		var running, most atomic.Int32
		slot := make(chan struct{}, 1)
		r.attempt = func(_ context.Context, o state.JobSpec, p *queue.Progress) state.Result {
			slot <- struct{}{}
			order = append(order, o.Name)
			<-slot
			p.Stage("streaming")
			most.Store(max(most.Load(), running.Add(1)))
			<-time.After(10 * time.Second)
			running.Add(-1)
			return state.Result{EndedAt: time.Now(), Snapshot: statetest.SnapshotAt("bucket/dir/snap.db", time.Now())}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		for _, b := range objects {
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := runtime.NumGoroutine() - goroutines; got > 20 {
			t.Errorf("%d goroutines while 4 attempts run and the others wait", got)
		}
		last := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(objects[backups-1])}
		result, err := r.Reconcile(t.Context(), last)
		if err != nil || result.RequeueAfter < time.Hour {
			t.Errorf("a queued EtcdBackup is read again after %s, error %v", result.RequeueAfter, err)
		}
		waiting, _ := r.attempts.Pool.Queue(queue.LaneSnapshot)
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%d attempts wait; the heap grew by %d KiB, with the status of each in the fake API", waiting, (int64(after.HeapInuse)-int64(before.HeapInuse))>>10)
		if waiting != backups-4 {
			t.Errorf("%d attempts wait", waiting)
		}
		<-time.After(backups * 10 * time.Second)
		if len(order) != backups || most.Load() != 4 {
			t.Fatalf("%d attempts ran, %d at once", len(order), most.Load())
		}
		for place, name := range order {
			if got := fmt.Sprintf("b%04d", place); name[:4] != got[:4] && name[:3] != got[:3] {
				t.Fatalf("%s ran in place %d", name, place)
			}
		}
	})
}

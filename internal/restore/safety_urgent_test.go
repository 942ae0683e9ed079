package restore

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// The save of a safety snapshot waited behind all checks of snapshots to restore, until its restore had continued without it.
func TestTheSaveOfASafetySnapshotIsUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, order := turns.NewGate(1), make(chan string, 3)
		pass := func(ctx context.Context, name string) {
			leave, err := gate.Enter(ctx, name)
			if err != nil {
				t.Error(err)
				return
			}
			order <- name
			<-time.After(time.Second)
			leave()
		}
		r := &saver{now: time.Now, access: &access{identity: allowing("ns")}, save: func(ctx context.Context, _ state.SafetyOrder, _ SafetySecrets) (string, snapshot.Manifest, error) {
			pass(ctx, "safety")
			return "", snapshot.Manifest{}, nil
		}}
		go pass(t.Context(), "reading")
		synctest.Wait()
		go pass(t.Context(), "another reading")
		synctest.Wait()
		target := storage.Location{Provider: v1beta2.StorageS3, Bucket: "backups", Key: "safety-snapshots"}
		key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "restore"}}
		saved := r.saveOldData(t.Context(), key, attempt{order: state.SafetyOrder{Namespace: "ns", Cluster: "example", Target: target}, asked: time.Now()})
		if first, second := <-order, <-order; first != "reading" || second != "safety" {
			t.Errorf("%s and %s passed first, and the save is %+v", first, second, saved)
		}
		<-order
		<-time.After(time.Minute) // let all of them leave
	})
}

// Two namespaces whose members send slowly held all workers of safety snapshots. The restore of a third one continued without its safety snapshot.
func TestTwoNamespacesDoNotHoldAllWorkersOfSafetySnapshots(t *testing.T) {
	for _, readings := range []int{1, 2, 3, 10} {
		synctest.Test(t, func(t *testing.T) {
			pool := worker.New[state.Safety](safetyWorkers(readings))
			start := func(namespace string, n int, run func(context.Context)) worker.Key {
				key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: types.UID(fmt.Sprint(namespace, n))}
				pool.StartIn(key, worker.Claim{Namespace: safetiesOfOne}, func(ctx context.Context) (state.Safety, error) { run(ctx); return state.Safety{}, nil })
				return key
			}
			for n := range 5 {
				for _, namespace := range []string{"slow", "slow too"} {
					start(namespace, n, func(ctx context.Context) { <-ctx.Done() })
				}
			}
			other := start("other", 0, func(context.Context) {})
			synctest.Wait()
			if _, done, _ := pool.Result(other); !done {
				t.Errorf("with %d readings, another namespace waits for a worker", readings)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = pool.Run(ctx)
		})
	}
}

// Three namespaces may have two safety snapshots each, which are all six workers. With slow members they held them for 14 minutes, and the restore of a
// fourth namespace continued without its safety snapshot. So its user lost the data that the restore replaced.
func TestSlowMembersOfFiveNamespacesDelayNoSafetySnapshotOfOthers(t *testing.T) {
	for _, hostile := range []int{3, 5} {
		synctest.Test(t, func(t *testing.T) {
			pool := worker.New[state.Safety](safetyWorkers(3))
			start := func(namespace string, n int, run func(context.Context)) worker.Key {
				key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: types.UID(fmt.Sprint(namespace, n))}
				pool.StartIn(key, safetyClaim, func(ctx context.Context) (state.Safety, error) {
					ctx, cancel := context.WithTimeout(turns.Urgent(ctx), safetyTimeout)
					defer cancel()
					run(ctx)
					return state.Safety{}, nil
				})
				return key
			}
			for n := range 5 {
				for i := range hostile {
					start(fmt.Sprint("slow", i), n, func(ctx context.Context) { <-ctx.Done() })
				}
			}
			other := start("other", 0, func(context.Context) {})
			<-time.After(2 * time.Minute)
			if _, done, _ := pool.Result(other); !done {
				t.Errorf("beside %d namespaces with slow members, another one waits for a worker", hostile)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = pool.Run(ctx)
		})
	}
}

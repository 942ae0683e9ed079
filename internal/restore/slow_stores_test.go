package restore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// slowReader reads snapshots whose stores send a number of bytes a second. The name of the namespace decides.
type slowReader map[string]int64

const readSize = 4 << 30

func (s slowReader) read(ctx context.Context, asked Asked) (Found, error) {
	kind, _, _ := strings.Cut(asked.Namespace, " ")
	for sent := int64(0); sent < readSize; {
		select {
		case <-ctx.Done():
			return Found{}, context.Cause(ctx)
		case <-time.After(10 * time.Second):
		}
		sent += 10 * s[kind]
		asked.Progress(min(sent, readSize), readSize)
	}
	return Found{}, nil
}

// readers are the workers of readings, as Setup creates them.
func readers(rates slowReader) *Reconciler {
	return &Reconciler{
		proofs: worker.New[plan.Proof](3), writings: worker.New[plan.Writing](3), now: time.Now, read: rates.read,
		client: fake.NewClientBuilder().Build(), identity: grant.List{{Namespaces: []string{grant.All}, PathPrefix: grant.All}},
	}
}

func (r *Reconciler) stopReaders() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = r.proofs.Run(ctx), r.writings.Run(ctx)
}

func readingOf(namespace string, n int) worker.Key {
	return worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: types.UID(fmt.Sprint(namespace, n))}
}

// again reads a source again as soon as the reading has a result, as for a tenant who creates one EtcdRestore after the other. It counts the attempts.
func (r *Reconciler) again(ctx context.Context, key worker.Key) (attempts int, last plan.Proof) {
	for ctx.Err() == nil {
		restore := theRestore()
		r.begin(ctx, key, plan.Verify{Source: v1beta2.RestoreSource{StorageType: v1beta2.StorageS3, Bucket: "b", Key: "k"}}, restore)
		r.begun.recorded(key)
		attempts++
		for done := false; !done && ctx.Err() == nil; last, done, _ = r.proofs.Result(key) {
			<-time.After(time.Second)
		}
		if last.Progress == plan.ProofDone {
			return attempts, last
		}
	}
	return attempts, last
}

// Two namespaces restore snapshots of 4 GiB from stores that send 1 MiB a second. Nothing ends that for five hours, because it is much more than a transfer
// needs, and they held all three workers. All restores of the other namespaces waited, also those of a few KiB after a disaster.
func TestSlowStoresOfAFewNamespacesDelayNoRestoreOfAnotherForHours(t *testing.T) {
	for _, hostile := range []int{2, 3, 7} {
		t.Run(fmt.Sprint(hostile, " namespaces"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := readers(slowReader{"slow": 1 << 20, "other": readSize})
				defer r.stopReaders()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				for i := range hostile {
					for n := range 3 {
						go r.again(ctx, readingOf(fmt.Sprint("slow ", i), n))
					}
				}
				<-time.After(time.Minute)
				for n, most := range []time.Duration{6 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
					began := time.Now()
					limited, cancel := context.WithTimeout(ctx, 5*time.Hour)
					r.again(limited, readingOf("other", n))
					if waited := time.Since(began); waited > most {
						t.Errorf("restore %d of another namespace waited %s for a worker", n, waited)
					}
					cancel()
				}
				stop()
				synctest.Wait()
			})
		})
	}
}

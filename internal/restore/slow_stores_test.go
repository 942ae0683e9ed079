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
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
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
func readers(rates slowReader) *reader {
	identity := grant.List{{Namespaces: []string{grant.All}, PathPrefix: grant.All}}
	return &reader{
		proofs: worker.New[state.Proof](3), now: time.Now, read: rates.read, urls: &signedURLs{},
		access: &access{client: fake.NewClientBuilder().Build(), identity: identity},
	}
}

func (r *reader) stopReaders() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.proofs.Run(ctx)
}

func readingOf(namespace string, n int) worker.Key {
	return worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: types.UID(fmt.Sprint(namespace, n))}
}

// again reads a source again as soon as the reading has a result, as for a tenant who creates one EtcdRestore after the other. It counts the attempts.
func (r *reader) again(ctx context.Context, key worker.Key) (attempts int, last state.Proof) {
	for ctx.Err() == nil {
		restore := theRestore()
		r.begin(ctx, key, steps.Verify{Source: v1beta2.RestoreSource{StorageType: v1beta2.StorageS3, Bucket: "b", Key: "k"}}, restore)
		r.begun.recorded(key)
		attempts++
		for done := false; !done && ctx.Err() == nil; last, done, _ = r.proofs.Result(key) {
			<-time.After(time.Second)
		}
		if last.Progress == state.ProofDone {
			return attempts, last
		}
	}
	return attempts, last
}

// Two namespaces restore snapshots of 4 GiB from stores that send 1 MiB a second. Nothing ends that for five hours, because it is much more than a transfer
// needs, and they held all three workers. All restores of the other namespaces waited, also those of a few KiB after a disaster.
func TestSlowStoresOfAFewNamespacesDelayNoRestoreOfAnotherForHours(t *testing.T) {
	for name, test := range map[string]struct {
		hostile int
		most    time.Duration
	}{"2 namespaces": {2, 6 * time.Minute}, "3 namespaces": {3, 10 * time.Minute}, "7 namespaces": {7, 15 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := readers(slowReader{"slow": 1 << 20, "other": readSize})
				defer r.stopReaders()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				for i := range test.hostile {
					for n := range 3 {
						go r.again(ctx, readingOf(fmt.Sprint("slow ", i), n))
					}
				}
				<-time.After(time.Minute)
				for n := range 3 {
					began := time.Now()
					limited, cancel := context.WithTimeout(ctx, 5*time.Hour)
					r.again(limited, readingOf("other", n))
					if waited := time.Since(began); waited > test.most {
						t.Errorf("restore %d of another namespace waited %s for a worker", n, waited)
					}
					cancel()
				}
				stop()
				<-time.After(time.Minute)
			})
		})
	}
}

// A reading from an honest slow store ends for others, too. It must reach its end although tenants always have more readings that wait: as many readings as
// there are workers get more time, and those come first that have ended most often.
func TestAReadingFromASlowStoreReachesItsEndBesideManyOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := readers(slowReader{"slow": 1 << 20, "honest": 1 << 20})
		defer r.stopReaders()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for i := range 7 {
			for n := range 3 {
				go r.again(ctx, readingOf(fmt.Sprint("slow ", i), n))
			}
		}
		<-time.After(6 * time.Hour)
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, 24*time.Hour)
		defer cancel()
		attempts, last := r.again(limited, readingOf("honest", 0))
		t.Logf("it took %s and %d attempts", time.Since(began), attempts)
		if last.Progress != state.ProofDone {
			t.Errorf("after %s and %d attempts the reading has no result: %+v", time.Since(began), attempts, last)
		}
		stop()
		<-time.After(time.Minute)
	})
}

// The status of a reading that gave way must say why, and must not blame the store for it.
func TestTheStatusSaysThatAReadingEndedForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := readers(slowReader{"slow": 1 << 10})
		defer r.stopReaders()
		key := readingOf("slow", 0)
		r.begin(t.Context(), key, steps.Verify{Source: v1beta2.RestoreSource{StorageType: v1beta2.StorageS3, Bucket: "b", Key: "k"}}, theRestore())
		r.begun.recorded(key)
		for i := range 8 {
			r.proofs.StartIn(readingOf(fmt.Sprint("other ", i), 0), worker.Claim{Patience: readingPatience}, func(ctx context.Context) (state.Proof, error) {
				<-ctx.Done()
				return state.Proof{}, nil
			})
		}
		<-time.After(10 * time.Minute)
		proof, done, _ := r.proofs.Result(key)
		if !done || proof.Reason != v1beta2.ReasonRetrying || proof.Final || !strings.Contains(proof.Message, "this held a worker for longer than it may while they wait") {
			t.Errorf("%t: %+v", done, proof)
		}
	})
}

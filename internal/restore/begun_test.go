package restore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// A reading that waited for a worker begins when the status says so. A tenant made the object so large meanwhile that no status could be written, and the
// reading kept its worker without end. Two namespaces held all workers in this way, so that nobody else could restore.
func TestAReadingWhoseStatusCannotBeWrittenLeavesItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{proofs: worker.New[state.Proof](1), now: time.Now}
		key := worker.Key{Object: types.NamespacedName{Namespace: "tenant", Name: "back"}, UID: "1"}
		r.begin(t.Context(), key, steps.Verify{}, theRestore())
		other := worker.Key{Object: types.NamespacedName{Namespace: "other", Name: "back"}, UID: "2"}
		r.proofs.Start(other, func(context.Context) (state.Proof, error) { return state.Proof{}, nil })
		<-time.After(time.Hour)
		if _, done, _ := r.proofs.Result(other); !done {
			t.Error("the restore of another namespace waits for a worker")
		}
		if proof, done, _ := r.proofs.Result(key); !done || proof.Progress != state.ProofFailed || proof.Final {
			t.Errorf("the reading has the result %+v", proof)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = r.proofs.Run(ctx)
	})
}

package restore

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Two EtcdRestores of one namespace read from stores that send a byte now and then. Nothing limits that.
func TestOneNamespaceDoesNotBlockTheRestoresOfAllOthers(t *testing.T) {
	b := newBench(t, good, interceptor.Funcs{}, theCluster(), awsSecret())
	b.r.proofs = worker.New[plan.Proof](2) // the default of --max-proofs
	for _, name := range []string{"one", "two"} {
		key := worker.Key{Object: types.NamespacedName{Namespace: "tenant", Name: name}, UID: types.UID(name)}
		b.r.proofs.Start(key, func(ctx context.Context) (plan.Proof, error) { <-ctx.Done(); return plan.Proof{}, ctx.Err() })
	}
	b.pass()
	time.Sleep(200 * time.Millisecond)
	b.clock = b.clock.Add(24 * time.Hour)
	b.pass()
	if b.reads.Load() == 0 {
		t.Error("the restore of another namespace has not begun to read after a day")
		for _, c := range b.restore().Status.Conditions {
			if c.Type == "Ready" && strings.Contains(c.Message, "is reading") {
				t.Errorf("and its status says: %s: %s", c.Reason, c.Message)
			}
		}
	}
}

package killer_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

// TestHealthyClustersAreOnlyPolledAndNeverWritten runs the operator in a manager with its watches.
func TestHealthyClustersAreOnlyPolledAndNeverWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: newer,
		// Checks for due defragmentation must cause no calls either.
		Defragmentation: &v1beta2.DefragmentationPolicy{Schedule: "0 3 1 1 *", FreePercent: ptr.To[int32](50)},
	})
	var count killer.Count
	life := killer.NewLife(t.Context(), &count)
	b.runManager(life)
	kubetest.Create(t, b.cluster)
	b.awaitReady()
	// The operator still processes the last watch events of the cluster's creation.
	kubetest.Eventually(t, "the operator makes no calls for 2 seconds", func(ctx context.Context) error {
		count.Reset()
		pause(ctx, 2*time.Second)
		if calls := count.Calls(); len(calls) > 0 {
			return fmt.Errorf("it made the calls %v", calls)
		}
		return nil
	})
	count.Reset()
	const periods = 2
	pause(t.Context(), periods*healthyPeriod)
	if writes := count.Writes(); len(writes) > 0 {
		t.Errorf("the operator wrote to a healthy cluster: %q", writes)
	}
	polls := 0
	for call, times := range count.Calls() {
		if !strings.HasPrefix(call, "Maintenance/Status") {
			continue
		}
		if polls++; times > periods+1 { // one poll at the start of the first period, and one at the end of each
			t.Errorf("the operator called %s %d times in %d periods, the limit is %d", call, times, periods, periods+1)
		}
	}
	if polls != 3 {
		t.Errorf("the operator polled %d members, expected 3, so the test tested nothing", polls)
	}
}

// runManager runs cluster-operator in a manager with its watches.
func (b *bench) runManager(life *killer.Life) {
	b.Helper()
	kubetest.RunManager(b, b.cluster.Namespace, func(_ context.Context, mgr manager.Manager) error {
		return cluster.Setup(mgr, cluster.Options{
			SeedImage: podrunner.SeedImage,
			Dial: func(endpoint etcd.Endpoint, config *tls.Config) (members.Etcd, error) {
				return etcd.Open(endpoint, config, life.Dial(endpoint.URL)...)
			},
		})
	}, func(c client.WithWatch) client.WithWatch { return life.Client(c, b.client) })
}

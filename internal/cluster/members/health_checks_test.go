package members

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var aCluster = client.ObjectKey{Namespace: "ns", Name: "example"}

// With a thousand clusters, full looks are rare. The operator must detect dangers to the data as fast as with few
// clusters.
func TestAMemberThatIsNotHealthyStartsAFullLookAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var sick atomic.Bool
	woken := make(chan metav1.ObjectMeta, 10)
	h := NewHealthChecks(func(_ context.Context, address string) error {
		if address == "192.0.2.2:2381" && sick.Load() {
			return errors.New("ALARM CORRUPT")
		}
		return nil
	}, func(cluster metav1.ObjectMeta) { woken <- cluster })
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	h.Resume(aCluster, []string{"192.0.2.1", "192.0.2.2"}, 10*time.Millisecond, time.Now())
	select {
	case <-woken:
		t.Error("healthy members started a full look")
	case <-time.After(3 * healthTick):
	}
	sick.Store(true)
	select {
	case cluster := <-woken:
		if cluster.Namespace != aCluster.Namespace || cluster.Name != aCluster.Name {
			t.Errorf("started a look at %+v", cluster)
		}
	case <-time.After(10 * time.Second):
		t.Error("no full look was started")
	}
	select {
	case <-woken:
		t.Error("another look was started before the first has ended")
	case <-time.After(3 * healthTick):
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNoHealthIsCheckedWhileAClusterIsLookedAt(t *testing.T) {
	h := NewHealthChecks(nil, func(metav1.ObjectMeta) { t.Error("a check that the look outran started another look") })
	h.Resume(aCluster, []string{"192.0.2.1"}, time.Second, plantest.Noon)
	if due := h.Due(plantest.Noon.Add(time.Second / 2)); len(due) != 0 {
		t.Errorf("checked before the interval has passed: %v", due)
	}
	if due := h.Due(plantest.Noon.Add(2 * time.Second)); len(due) != 1 {
		t.Errorf("%d clusters are due, expected 1", len(due))
	}
	h.Pause(aCluster)
	h.fail(aCluster, plantest.Noon)
	if due := h.Due(plantest.Noon.Add(time.Hour)); len(due) != 0 {
		t.Errorf("checked while it is looked at: %v", due)
	}
}

// A network policy may block the operator's access to the port.
func TestHealthChecksThatFailForNoReasonEndForTenMinutes(t *testing.T) {
	h := NewHealthChecks(nil, func(metav1.ObjectMeta) {})
	resume := func(after time.Duration) bool {
		return h.Resume(aCluster, []string{"192.0.2.1"}, time.Second, plantest.Noon.Add(after))
	}
	for n := range falseAlarms {
		if !resume(0) {
			t.Errorf("not checked again after %d false alarms", n)
		}
		h.fail(aCluster, plantest.Noon)
	}
	if resume(distrusted - time.Second) {
		t.Error("checks that fail for no reason go on")
	}
	if !resume(distrusted) {
		t.Error("not tried again")
	}
	h.fail(aCluster, plantest.Noon)
	h.Forget(aCluster) // the look found that the check was right
	for range falseAlarms {
		if !resume(0) {
			t.Error("a check that was right counts as a false alarm")
		}
		h.fail(aCluster, plantest.Noon)
	}
}

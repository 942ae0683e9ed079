package members

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (

	// healthTick is how often the operator starts the health checks that are due.
	healthTick = 250 * time.Millisecond
	// healthChecksAtOnce is how many EtcdClusters are checked at the same time. A member that hangs holds one for AskTimeout.
	healthChecksAtOnce = 64
	// falseAlarms is how many failed checks of a cluster that was as its spec asks end its checks for distrusted. A network policy
	// may keep the operator from the port.
	falseAlarms = 2
	distrusted  = 10 * time.Minute
)

// HealthChecks ask the members of many EtcdClusters for their health between full looks. A check sees that a member does not
// answer, has no quorum, or that an alarm is on. It sees no change of the membership and no size of a database.
type HealthChecks struct {
	// healthy asks one member at "host:port".
	healthy func(ctx context.Context, address string) error
	// wake starts a full look.
	wake func(metav1.ObjectMeta)

	mu       sync.Mutex
	clusters map[client.ObjectKey]*checked
}

// checked is one EtcdCluster.
type checked struct {
	// addresses of the members; empty while a full look runs, or if the cluster is not as its spec asks.
	addresses []string
	interval  time.Duration
	next      time.Time
	// failed checks after which a full look found nothing, and when the newest failed.
	failed   int
	failedAt time.Time
}

// NewHealthChecks returns checks that call healthy with the address of a member, and wake if a full look is needed.
func NewHealthChecks(healthy func(context.Context, string) error, wake func(metav1.ObjectMeta)) *HealthChecks {
	return &HealthChecks{healthy: healthy, wake: wake, clusters: map[client.ObjectKey]*checked{}}
}

// Resume checks a cluster again after a full look that found it as its spec asks. It returns false if its checks cannot be
// trusted.
func (h *HealthChecks) Resume(cluster client.ObjectKey, addresses []string, interval time.Duration, now time.Time) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.clusters[cluster]
	if c == nil {
		c = &checked{}
		h.clusters[cluster] = c
	}
	if now.Sub(c.failedAt) >= distrusted {
		c.failed = 0
	}
	if c.failed >= falseAlarms {
		return false
	}
	c.addresses, c.interval, c.next = addresses, interval, now.Add(wait.Jitter(interval, queue.Jitter))
	return true
}

// Pause ends the checks of a cluster while it is looked at.
func (h *HealthChecks) Pause(cluster client.ObjectKey) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clusters[cluster]; c != nil {
		c.addresses = nil
	}
}

// Forget ends the checks of a cluster that is not as its spec asks, so failed checks of it were right.
func (h *HealthChecks) Forget(cluster client.ObjectKey) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clusters, cluster)
}

// Due returns the clusters to check now, and when they are checked next.
func (h *HealthChecks) Due(now time.Time) map[client.ObjectKey][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := map[client.ObjectKey][]string{}
	for key, c := range h.clusters {
		if len(c.addresses) > 0 && !now.Before(c.next) {
			due[key] = c.addresses
			c.next = now.Add(wait.Jitter(c.interval, queue.Jitter))
		}
	}
	return due
}

// Run checks until ctx ends.
func (h *HealthChecks) Run(ctx context.Context) error {
	var checks errgroup.Group
	checks.SetLimit(healthChecksAtOnce)
	tick := time.NewTicker(healthTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return checks.Wait()
		case now := <-tick.C:
			for cluster, addresses := range h.Due(now) {
				checks.Go(panics.InGroup(func() error {
					panics.Caught(func() { h.check(ctx, cluster, addresses) }, func(error) { h.fail(cluster, time.Now()) })()
					return nil
				}))
			}
		}
	}
}

// check starts a full look if a member is not healthy.
func (h *HealthChecks) check(ctx context.Context, cluster client.ObjectKey, addresses []string) {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	for _, address := range addresses {
		if err := h.healthy(ctx, net.JoinHostPort(address, strconv.Itoa(int(v1beta2.MetricsPort)))); err != nil {
			h.fail(cluster, time.Now())
			return
		}
	}
}

func (h *HealthChecks) fail(cluster client.ObjectKey, now time.Time) {
	h.mu.Lock()
	c := h.clusters[cluster]
	current := c != nil && len(c.addresses) > 0
	if current {
		c.failed, c.failedAt, c.addresses = c.failed+1, now, nil
	}
	h.mu.Unlock()
	if current { // else a full look began meanwhile
		h.wake(metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name})
	}
}

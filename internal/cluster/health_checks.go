package cluster

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
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	// fullLooksPerSecond limits the full looks at clusters whose health is checked between them. A full look at three members
	// makes three TLS connections. A health check costs a twentieth of it.
	fullLooksPerSecond = 20
	// healthTick is how often the operator starts the health checks that are due.
	healthTick = 250 * time.Millisecond
	// healthChecksAtOnce is how many EtcdClusters are checked at the same time. A member that hangs holds one for askTimeout.
	healthChecksAtOnce = 64
	// falseAlarms is how many failed checks of a cluster that was as its spec asks end its checks for distrusted. A network policy
	// may keep the operator from the port.
	falseAlarms = 2
	distrusted  = 10 * time.Minute
)

// healthChecks ask the members of many EtcdClusters for their health between full looks. A check sees that a member does not
// answer, has no quorum, or that an alarm is on. It sees no change of the membership and no size of a database.
type healthChecks struct {
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

func newHealthChecks(healthy func(context.Context, string) error, wake func(metav1.ObjectMeta)) *healthChecks {
	return &healthChecks{healthy: healthy, wake: wake, clusters: map[client.ObjectKey]*checked{}}
}

// resume checks a cluster again after a full look that found it as its spec asks. It returns false if its checks cannot be
// trusted.
func (h *healthChecks) resume(cluster client.ObjectKey, addresses []string, interval time.Duration, now time.Time) bool {
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
	c.addresses, c.interval, c.next = addresses, interval, now.Add(wait.Jitter(interval, jitter))
	return true
}

// pause ends the checks of a cluster while it is looked at.
func (h *healthChecks) pause(cluster client.ObjectKey) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clusters[cluster]; c != nil {
		c.addresses = nil
	}
}

// forget ends the checks of a cluster that is not as its spec asks, so failed checks of it were right.
func (h *healthChecks) forget(cluster client.ObjectKey) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clusters, cluster)
}

// due returns the clusters to check now, and when they are checked next.
func (h *healthChecks) due(now time.Time) map[client.ObjectKey][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := map[client.ObjectKey][]string{}
	for key, c := range h.clusters {
		if len(c.addresses) > 0 && !now.Before(c.next) {
			due[key] = c.addresses
			c.next = now.Add(wait.Jitter(c.interval, jitter))
		}
	}
	return due
}

// run checks until ctx ends.
func (h *healthChecks) run(ctx context.Context) error {
	var checks errgroup.Group
	checks.SetLimit(healthChecksAtOnce)
	tick := time.NewTicker(healthTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return checks.Wait()
		case now := <-tick.C:
			for cluster, addresses := range h.due(now) {
				checks.Go(panics.InGroup(func() error {
					panics.Caught(func() { h.check(ctx, cluster, addresses) }, func(error) { h.fail(cluster, time.Now()) })()
					return nil
				}))
			}
		}
	}
}

// check starts a full look if a member is not healthy.
func (h *healthChecks) check(ctx context.Context, cluster client.ObjectKey, addresses []string) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, address := range addresses {
		if err := h.healthy(ctx, net.JoinHostPort(address, strconv.Itoa(int(v1beta2.MetricsPort)))); err != nil {
			h.fail(cluster, time.Now())
			return
		}
	}
}

func (h *healthChecks) fail(cluster client.ObjectKey, now time.Time) {
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

// healthAddresses are those of the members of a cluster whose health says all that matters until the next full look. They are
// empty if the cluster is not as its spec asks, or if a member has etcd 3.4.
func (v *view) healthAddresses(step plan.Step) []string {
	if _, done := step.(plan.Done); !done || v.ClusterID == "" || v.refusals() != nil || v.remembered {
		return nil
	}
	var addresses []string
	for _, m := range v.Members {
		running, ok := etcdversion.Parse(m.Version)
		if !ok || running.Before(healthSince) || !m.Answers || !m.Serving || !m.PodReady || len(m.Alarms) > 0 || v.addresses[m.Name] == "" {
			return nil
		}
		addresses = append(addresses, v.addresses[m.Name])
	}
	return addresses
}

// healthSince is the first version whose members may be asked for their health.
var healthSince = etcdversion.MustParse("3.5.0")

// nextLook is the interval until the next full look at a cluster, if the plan asks for interval. Of many clusters that have nothing
// to do, each is looked at less often, and its health is checked between looks.
func (r *Reconciler) nextLook(v *view, step plan.Step, interval time.Duration) time.Duration {
	cluster, clusters := client.ObjectKeyFromObject(v.cluster), r.memory.count()
	if interval < slowest {
		r.health.forget(cluster)
		return interval
	}
	seldom := spread(clusters, fullLooksPerSecond)
	often := max(interval, spread(clusters, looksPerSecond))
	addresses := v.healthAddresses(step)
	if len(addresses) == 0 {
		r.health.forget(cluster)
		return often
	}
	if seldom <= slowest || !r.health.resume(cluster, addresses, often, v.Now) {
		return often
	}
	return max(interval, seldom)
}

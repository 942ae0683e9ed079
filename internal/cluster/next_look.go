package cluster

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// fullLooksPerSecond limits the full looks at clusters whose health is checked between them. A full look at three members
// makes three TLS connections. A health check costs a twentieth of it.
const fullLooksPerSecond = 20

// healthAddresses are those of the members of a cluster whose health says all that matters until the next full look. They are
// empty if the cluster is not as its spec asks, or if a member has etcd 3.4.
func healthAddresses(v *view.View, step steps.Step) []string {
	if _, done := step.(steps.Done); !done || v.ClusterID == "" || failure.RefusalsOf(v) != nil || v.Remembered {
		return nil
	}
	var addresses []string
	for _, m := range v.Members {
		running, ok := etcdversion.Parse(m.Version)
		if !ok || running.Before(healthSince) || !m.Answers || !m.Serving || !m.PodReady || len(m.Alarms) > 0 || v.Addresses[m.Name] == "" {
			return nil
		}
		addresses = append(addresses, v.Addresses[m.Name])
	}
	return addresses
}

// healthSince is the first version whose members may be asked for their health.
var healthSince = etcdversion.MustParse("3.5.0")

// nextLook is the interval until the next full look at a cluster, if the plan asks for interval. Of many clusters that have nothing
// to do, each is looked at less often, and its health is checked between looks.
func (r *Reconciler) nextLook(v *view.View, step steps.Step, interval time.Duration) time.Duration {
	cluster, clusters := client.ObjectKeyFromObject(v.Cluster), r.memory.Count()
	if interval < queue.Slowest {
		r.health.Forget(cluster)
		return interval
	}
	seldom := queue.Spread(clusters, fullLooksPerSecond)
	often := max(interval, queue.Spread(clusters, queue.LooksPerSecond))
	addresses := healthAddresses(v, step)
	if len(addresses) == 0 {
		r.health.Forget(cluster)
		return often
	}
	if seldom <= queue.Slowest || !r.health.Resume(cluster, addresses, often, v.Now) {
		return often
	}
	return max(interval, seldom)
}

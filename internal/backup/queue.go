package backup

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// The lanes of the pool. Restore tests and deletions do not delay snapshots: an attempt moves to the lane of verifications
// when its snapshot is in the store. That lane has no limit, because the slots of restore tests limit what runs in it.
const (
	laneSnapshot = "snapshot"
	laneVerify   = "verification"
	laneDrill    = "restore-test"
	lanePurge    = "purge"
)

// maxPurges is how many deletions run at the same time. They need little more than requests to the store.
const maxPurges = 3

var laneOf = map[Kind]string{KindSnapshot: laneSnapshot, KindDrill: laneDrill, KindPurge: lanePurge, KindPrune: lanePurge, KindCopy: laneCopy}

// lanes are the limits. The gates of the restore tests limit those that wait in their lane.
func (o Options) lanes() map[string]int {
	return map[string]int{laneSnapshot: o.MaxConcurrent, laneDrill: readers(o.MaxRestoreTests), lanePurge: maxPurges}
}

// limits of the snapshots of one namespace, and of those to one bucket. 0 means turns.Share of what is shared.
type limits struct{ namespace, store int }

func (o Options) limits() limits {
	out := limits{namespace: o.MaxPerNamespace, store: o.MaxPerStore}
	if out.store == 0 {
		out.store = turns.Share(o.MaxConcurrent)
	}
	if out.namespace == 0 {
		out.namespace = turns.Share(out.store)
	}
	return out
}

// claim names the limits of an attempt. In each bucket, the pool lets one namespace leave a slot to others, too.
func (l limits) claim(o jobSpec) worker.Claim {
	claim := worker.Claim{Lane: laneOf[o.Kind]}
	if o.Kind == KindSnapshot && l.store > 0 {
		claim.Namespace, claim.Groups = l.namespace, map[string]int{bucketOf(o.Target): l.store}
	}
	if o.Kind == KindCopy && o.Copy != nil {
		claim.Groups = map[string]int{bucketOf(*o.Copy): turns.Share(maxCopies)}
	}
	return claim
}

func bucketOf(l storage.Location) string {
	return fmt.Sprintf("store %s %s %s", l.Provider, l.Endpoint, l.Bucket)
}

// watchQueue registers the metrics of the queue.
func watchQueue(registry prometheus.Registerer, pool *worker.Pool[Result], lanes ...string) error {
	for _, lane := range lanes {
		labels := prometheus.Labels{"lane": lane}
		for _, c := range []prometheus.Collector{
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "etcd_operator_backup_queue_length", Help: "Number of attempts that wait for a worker of the operator, by lane: snapshot, verification, restore-test, purge or copy.", ConstLabels: labels,
			}, func() float64 { waiting, _ := pool.Queue(lane); return float64(waiting) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "etcd_operator_backup_running", Help: "Number of attempts that a worker of the operator runs, by lane: snapshot, verification, restore-test, purge or copy.", ConstLabels: labels,
			}, func() float64 { _, running := pool.Queue(lane); return float64(running) }),
		} {
			if err := registry.Register(c); err != nil {
				return fmt.Errorf("register metrics of the queue: %w", err)
			}
		}
	}
	return nil
}

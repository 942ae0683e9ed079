package queue

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// WatchQueue registers the metrics of the queue.
func WatchQueue(registry prometheus.Registerer, pool *worker.Pool[state.Result], lanes ...string) error {
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

// WatchSpool registers the metrics of the spool.
func WatchSpool(registry prometheus.Registerer, s *spool.Spool) error {
	gauge := func(name, help string, read func(reserved, limit int64, waiting int) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return read(s.Usage()) })
	}
	for _, c := range []prometheus.Collector{
		gauge("etcd_operator_backup_spool_reserved_bytes", "Bytes of the spool volume that running attempts have reserved.",
			func(reserved, _ int64, _ int) float64 { return float64(reserved) }),
		gauge("etcd_operator_backup_spool_limit_bytes", "Bytes of the spool volume that attempts can reserve together. 0 means no limit.",
			func(_, limit int64, _ int) float64 { return float64(limit) }),
		gauge("etcd_operator_backup_spool_waiting", "Number of attempts that wait for space on the spool volume.",
			func(_, _ int64, waiting int) float64 { return float64(waiting) }),
	} {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("register metrics of the spool: %w", err)
		}
	}
	return nil
}

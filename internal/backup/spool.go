package backup

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// minSpool is the smallest limit of a spool that makes sense: a restore test of a small database needs about 140 MiB.
const minSpool = 256 << 20

// patientSpool reserves space for one attempt. Its time limit does not count while it waits for other attempts.
type patientSpool struct {
	spool.Namespace
	progress *jobProgress
	then     string // the next stage
}

func (p patientSpool) Reserve(ctx context.Context, bytes int64) (*spool.Share, error) {
	done := p.progress.waiting("waiting for space on the spool volume", p.Why)
	defer p.progress.stage(p.then)
	defer done()
	return p.Namespace.Reserve(ctx, bytes)
}

// openSpool checks that the options fit each other.
func openSpool(o Options) (*spool.Spool, error) {
	switch {
	case o.SpoolLimit != 0 && o.SpoolLimit < minSpool:
		return nil, fmt.Errorf("the spool limit of %d bytes is less than %d MiB: no snapshot could be verified in it; raise backupOperator.spool.sizeLimit", o.SpoolLimit, minSpool>>20)
	case o.SpoolKeepFree < 0 || o.SpoolKeepFree > 90:
		return nil, fmt.Errorf("%d percent of the disk cannot be left free: write a number from 0 to 90", o.SpoolKeepFree)
	case o.MaxConcurrent < 1:
		return nil, fmt.Errorf("the maximum number of concurrent snapshots is %d: write 1 or more", o.MaxConcurrent)
	}
	return spool.New(o.SpoolDir, spool.Options{Limit: o.SpoolLimit, KeepFree: o.SpoolKeepFree}), nil
}

// watchSpool registers the metrics of the spool.
func watchSpool(registry prometheus.Registerer, s *spool.Spool) error {
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

// Package backups measures backup-operator with many EtcdBackups that are due in the same minute. It is not part of the tests: run
// make bench-backups.
package backups

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/backupfleet"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const (
	limit = 25 * time.Minute
	// memoryLimit of the operator, in MiB of RssAnon.
	memoryLimit = 300
	// createRate is how many EtcdBackups the benchmark surely creates in a second.
	createRate = 15
	idleTime   = 30 * time.Second
	mib        = 1 << 20
)

// run is one run of the benchmark.
type run struct {
	*testing.B
	*backupfleet.Fleet
	n int
}

func (r *run) row(what, result string, values ...any) {
	fmt.Printf("| %s | %s |\n", what, fmt.Sprintf(result, values...))
}

func (r *run) usage() fleet.Usage {
	used, err := r.Operator.Usage()
	if err != nil {
		r.Fatal(err)
	}
	return used
}

// BenchmarkBackups creates EtcdBackups in namespaces of unequal size, whose first snapshot is due in the same minute.
func BenchmarkBackups(b *testing.B) {
	r := &run{B: b, n: measure.Setting(b, "BENCH_N", 100)}
	r.Fleet = backupfleet.New(b, backupfleet.Options{N: r.n})
	due := time.Now().UTC().Add(time.Duration(r.n/createRate)*time.Second + 90*time.Second).Truncate(time.Minute)
	r.Start("--jitter=0")
	r.row("memory without EtcdBackups (RssAnon)", "%d MiB", measure.Anonymous(r.Operator.PID())/mib)
	r.Create(v1beta2.BackupPolicy{Schedule: fmt.Sprintf("%d %d * * *", due.Minute(), due.Hour()), MaxBackups: 2}, 0, len(backupfleet.Shares))
	if time.Now().After(due.Add(-2 * time.Second)) {
		b.Fatal("the EtcdBackups were not created in time")
	}
	<-time.After(time.Until(due.Add(-2 * time.Second)))
	r.row("EtcdBackups, due at the same time", "%d", r.n)
	r.row("memory before they are due", "%d MiB", measure.Anonymous(r.Operator.PID())/mib)
	r.work(due)
	r.fairness(due)
	r.idle()
}

// work waits until all are done.
func (r *run) work(due time.Time) {
	before, cpu, most := r.usage(), measure.CPU(r.Operator.PID()), 0
	r.Await("all snapshots are complete", limit, func() bool {
		most = max(most, measure.Anonymous(r.Operator.PID()))
		return len(r.Done()) >= r.n
	})
	r.AwaitReported(time.Minute)
	took, used := time.Since(due), r.usage().Since(before)
	r.row("all done after", "%s (%.1f in a second)", took.Round(100*time.Millisecond), float64(r.n)/took.Seconds())
	r.row("most memory (RssAnon)", "%d MiB of %d", most/mib, memoryLimit)
	r.row("CPU of the operator", "%s", (measure.CPU(r.Operator.PID()) - cpu).Round(10*time.Millisecond))
	r.row("attempts that a worker began, snapshots in the store", "%d, %d", used.Begun, len(r.Done()))
	r.row("requests for each: reads, other requests to the API server, requests to the store", "%.1f, %.1f, %.1f",
		float64(used.Reads)/float64(r.n), float64(used.Sent)/float64(r.n), float64(r.Requests())/float64(r.n))
	if most > memoryLimit*mib || used.Begun != r.n || len(r.Done()) != r.n {
		r.Errorf("%d MiB, %d attempts and %d snapshots for %d EtcdBackups", most/mib, used.Begun, len(r.Done()), r.n)
	}
	for _, b := range r.Backups() {
		if b.Status.Attempts != 0 {
			r.Errorf("EtcdBackup %s/%s counts %d attempts at its next snapshot", b.Namespace, b.Name, b.Status.Attempts)
		}
	}
}

// fairness prints when the first, half and all of each namespace were done.
func (r *run) fairness(due time.Time) {
	for namespace := range backupfleet.Shares {
		var times []time.Duration
		for _, d := range r.Done() {
			if d.Namespace == namespace {
				times = append(times, d.Time.Sub(due).Round(100*time.Millisecond))
			}
		}
		r.row(fmt.Sprintf("a namespace with %d: first, half, all done after", len(times)), "%s, %s, %s", times[0], times[len(times)/2], times[len(times)-1])
	}
}

func (r *run) idle() {
	<-time.After(10 * time.Second)
	before, store, cpu, begin := r.usage(), r.Requests(), measure.CPU(r.Operator.PID()), time.Now()
	<-time.After(idleTime)
	used, took := r.usage().Since(before), time.Since(begin)
	r.row("idle: requests to the store in 30 s", "%d", r.Requests()-store)
	r.row("idle: reads and other requests to the API server in a second", "%.2f, %.2f", float64(used.Reads)/took.Seconds(), float64(used.Sent)/took.Seconds())
	r.row("idle: CPU of one core, memory", "%.2f %%, %d MiB", 100*float64(measure.CPU(r.Operator.PID())-cpu)/float64(took), measure.Anonymous(r.Operator.PID())/mib)
	if r.Requests() > store {
		r.Error("the operator asks the store although nothing is due")
	}
}

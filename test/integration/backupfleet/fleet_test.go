package backupfleet_test

import (
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/backupfleet"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const (
	backups = 60
	// slots is the default of --max-concurrent-snapshots.
	slots = 4
)

// The largest namespace has filled the queue before the others have anything to do. The operator is stopped before all are done.
func TestManyBackupsThatAreDueAtOnceAreDoneInTurnAndCountedOnce(t *testing.T) {
	f := backupfleet.New(t, backupfleet.Options{N: backups, Slow: 500 * time.Millisecond})
	policy := v1beta2.BackupPolicy{BackupIntervalInSecond: 3600, MaxBackups: 2}
	f.Create(policy, 0, 1)
	f.Start()
	f.Await("the largest namespace has filled the queue", time.Minute, func() bool {
		return !slices.ContainsFunc(f.Backups(), func(b v1beta2.EtcdBackup) bool { return b.Status.Attempts == 0 && !b.Status.Succeeded })
	})
	before := len(f.Done())
	f.Create(policy, 1, len(backupfleet.Shares))
	f.Await("half of the snapshots are complete", time.Minute, func() bool { return len(f.Done()) >= backups/2 })
	restart(t, f)
	f.AwaitReported(time.Minute)
	if done := len(f.Done()); done != backups {
		t.Errorf("%d snapshots are in the store for %d EtcdBackups", done, backups)
	}
	inTurn(t, f, before)
	idle(t, f)
}

// restart checks that only attempts that ran count as interrupted.
func restart(t *testing.T, f *backupfleet.Fleet) {
	t.Helper()
	f.Operator.Stop()
	interrupted, complete := 0, map[client.ObjectKey]bool{} // the status may not say yet that a snapshot is complete
	for _, d := range f.Done() {
		complete[d.Backup] = true
	}
	for _, b := range f.Backups() {
		if p := b.Status.Progress; !complete[client.ObjectKeyFromObject(&b)] && b.Status.Attempts > 0 && !b.Status.Succeeded && (p == nil || p.Stage != "queued") {
			interrupted++
		}
	}
	if interrupted > slots {
		t.Errorf("%d attempts count as interrupted, and no more than %d ran", interrupted, slots)
	}
	f.Start()
}

// inTurn checks that the small namespaces do not wait for the largest one.
func inTurn(t *testing.T, f *backupfleet.Fleet, before int) {
	t.Helper()
	counts := map[int]int{}
	for _, d := range f.Done() {
		counts[d.Namespace]++
		late := f.Count(0) - counts[0]
		if d.Namespace > 1 && counts[d.Namespace] == f.Count(d.Namespace) && late < slots && before < f.Count(0)/2 {
			t.Errorf("namespace %d with %d EtcdBackups was done when %d of %d were left in the largest namespace", d.Namespace, f.Count(d.Namespace), late, f.Count(0))
		}
	}
	for _, b := range f.Backups() {
		if b.Status.Attempts != 0 {
			t.Errorf("EtcdBackup %s/%s counts %d attempts at its next snapshot", b.Namespace, b.Name, b.Status.Attempts)
		}
	}
	t.Logf("done %v, of which %d before the others were created", counts, before)
}

// idle checks that EtcdBackups that are not due cost nothing.
func idle(t *testing.T, f *backupfleet.Fleet) {
	t.Helper()
	f.Await("the operator is idle", time.Minute, func() bool {
		before := usage(t, f)
		<-time.After(time.Second)
		after := usage(t, f).Since(before)
		return after.Sent == 0
	})
	before, store := usage(t, f), f.Requests()
	<-time.After(5 * time.Second)
	after := usage(t, f).Since(before)
	// Watches that end are begun again, a few in each minute.
	if used := f.Requests() - store; used > 0 || after.Sent > 0 || after.Reads > slots {
		t.Errorf("in 5 idle seconds: %d requests to the store, %d reads and %d other requests to the API server", used, after.Reads, after.Sent)
	}
}

func usage(t *testing.T, f *backupfleet.Fleet) fleet.Usage {
	t.Helper()
	used, err := f.Operator.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return used
}

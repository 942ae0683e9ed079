package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

const (
	rounds = 15
	// noise is what a machine with other work adds to a median time of some hundred milliseconds, and littleNoise to the time in which a third
	// of them has ended, because other work does not delay all.
	noise, littleNoise = 2 * time.Second, 500 * time.Millisecond
)

// One namespace that ends the shared operators, or holds their places, ends the backups of all others.
func TestTwentyHostileObjectsTakeNeitherTheMemoryNorTheTimeOfAnotherNamespace(t *testing.T) {
	w := newWorld(t)
	backupPeak, restorePeak := peak(w.backup), peak(w.restore)
	backups, restores := w.times("alone")
	w.attack()
	underAttack, restoresUnderAttack := w.times("attacked")
	for name, c := range map[string]struct{ alone, attacked []time.Duration }{"backup": {backups, underAttack}, "restore": {restores, restoresUnderAttack}} {
		compare(t, "median of a "+name, c.alone[rounds/2], c.attacked[rounds/2], noise)
		compare(t, "first third of a "+name, c.alone[rounds/3], c.attacked[rounds/3], littleNoise)
	}
	w.tried()
	for name, used := range map[string]int64{"backup-operator": backupPeak(), "restore-operator": restorePeak()} {
		t.Logf("%s: at most %d MiB", name, used>>20)
		if used > limit {
			t.Errorf("%s needed %d MiB, and its container has %d MiB", name, used>>20, limit>>20)
		}
	}
}

// compare fails the test if a time is more than half as long again beside hostile objects, and the noise.
func compare(t *testing.T, what string, alone, attacked, noise time.Duration) {
	t.Helper()
	t.Logf("%s: %s alone, %s beside 20 hostile objects, ratio %.2f", what, alone, attacked, float64(attacked)/float64(alone))
	if attacked > alone*3/2+noise {
		t.Errorf("the %s took %s beside 20 hostile objects, and %s alone", what, attacked, alone)
	}
}

// times returns the times of backups, and of the verifications of restores, in the good namespace, the shortest first.
func (w *world) times(when string) (backups, restores []time.Duration) {
	w.Helper()
	for i := range rounds {
		name := fmt.Sprintf("%s-%d", when, i)
		backup := w.newBackup(w.good, name, w.s3(w.store.Endpoint, "backups/"+name+".db"))
		begin := time.Now()
		kubetest.Create(w, backup)
		kubetest.Await(w, backup, "succeed", func(b *v1beta2.EtcdBackup) bool { return b.Status.Succeeded })
		backups = append(backups, time.Since(begin))
		restore := w.newRestore(w.good, name, w.s3(w.store.Endpoint, backup.Status.Snapshot.Path))
		begin = time.Now()
		kubetest.Create(w, restore)
		kubetest.Await(w, restore, "be verified", func(r *v1beta2.EtcdRestore) bool {
			ready := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionReady)
			return ready != nil && ready.Reason == v1beta2.ReasonVerified
		})
		restores = append(restores, time.Since(begin))
	}
	w.Logf("%s: backups %v, restores %v", when, backups, restores)
	slices.Sort(backups)
	slices.Sort(restores)
	return backups, restores
}

// tried waits until each hostile object was tried, so that the measured memory contains each of them. A server that says yes to
// everything may have a snapshot of its own etcd.
func (w *world) tried() {
	w.Helper()
	for _, backup := range w.hostileBackups {
		kubetest.Await(w, backup, "be tried", func(b *v1beta2.EtcdBackup) bool { return b.Status.Succeeded || b.Status.Reason != "" })
	}
	for _, restore := range w.hostileRestores {
		kubetest.Await(w, restore, "be tried", func(r *v1beta2.EtcdRestore) bool {
			ready := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionReady)
			return ready != nil && ready.Reason != v1beta2.ReasonVerifying && ready.Reason != v1beta2.ReasonQueued
		})
	}
}

// peak returns the function that returns the most memory that a program and its child processes had together.
func peak(p *fleet.Program) func() int64 {
	var most int64
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			most = max(most, memory(p.PID()))
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	return func() int64 { close(stop); done.Wait(); return most }
}

// memory returns the anonymous memory of a process and its children, which is what the kernel cannot take back.
func memory(pid int) (sum int64) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	status, _ := os.ReadFile(filepath.Join(proc, "status")) // a child may have ended
	if _, after, found := strings.Cut(string(status), "RssAnon:"); found {
		kib, _ := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
		sum = kib << 10
	}
	tasks, _ := filepath.Glob(filepath.Join(proc, "task", "*", "children"))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(children)) {
			if id, err := strconv.Atoi(child); err == nil {
				sum += memory(id)
			}
		}
	}
	return sum
}

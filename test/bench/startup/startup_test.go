// Package startup measures how long a member with a large database takes to start on a slow disk, beside one read of that
// database and the time that the startup probe allows. It needs root and cgroup v1:
//
//	make bench-startup         # BENCH_MIB=4096 BENCH_RATE=32 (MiB/s)
package startup

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// BenchmarkStartup reports, as ratios, the start beside one read of the database (the floor), and beside the time that the
// startup probe allows. A second ratio of 1 means that the kubelet kills the member while it reads.
func BenchmarkStartup(b *testing.B) {
	mib, rate := measure.Setting(b, "BENCH_MIB", 4096), measure.Setting(b, "BENCH_RATE", 32)
	// Transactions of 1 MiB: with the default of 10,000 entries, the log would hold the whole database twice.
	member := servers.Etcd(b, servers.EtcdOptions{Args: []string{"--quota-backend-bytes=8589934592", "--unsafe-no-fsync", "--snapshot-count=500"}}).Members[0]
	measure.Fill(b, member.ClientURL, mib, measure.Setting(b, "BENCH_VALUE", 16<<10))
	member.Stop()
	database := filepath.Join(member.DataDir, "member", "snap", "db")
	info, err := os.Stat(database)
	if err != nil {
		b.Fatal(err)
	}
	slow := measure.SlowDisk(b, database, rate, 0)

	forget(b, member.DataDir)
	began := time.Now()
	if out, err := slow(b.Context(), "dd", "if="+database, "of=/dev/null", "bs=1M").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	floor := time.Since(began)

	forget(b, member.DataDir)
	metrics := strings.Replace(servers.PeerURL(b), "localhost", "127.0.0.1", 1)
	began = time.Now()
	etcd := slow(b.Context(), servers.EtcdProgram(b, "3.6"), "--name="+member.Name, "--data-dir="+member.DataDir, "--quota-backend-bytes=8589934592",
		"--listen-client-urls="+member.ClientURL, "--advertise-client-urls="+member.ClientURL, "--listen-peer-urls="+member.PeerURL,
		"--initial-advertise-peer-urls="+member.PeerURL, "--listen-metrics-urls="+metrics, "--feature-gates=InitialCorruptCheck=true")
	if err := etcd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = etcd.Process.Kill(); _ = etcd.Wait() })
	await(b, metrics+"/livez")
	alive := time.Since(began)
	await(b, metrics+"/readyz")
	ready := time.Since(began)

	budget := allowed(info.Size())
	b.Logf("database %d MiB, disk %d MiB/s: one read %s, alive after %s, ready after %s, the startup probe allows %s",
		info.Size()>>20, rate, floor.Round(time.Second), alive.Round(time.Second), ready.Round(time.Second), budget)
	b.ReportMetric(alive.Seconds()/floor.Seconds(), "start/read")
	b.ReportMetric(alive.Seconds()/budget.Seconds(), "start/allowed")
}

// allowed is what a member with a database of that size, and a quota that is just as large, may take.
func allowed(size int64) time.Duration {
	return lifecycle.StartupBudget(state.State{Spec: v1beta2.EtcdClusterSpec{Size: 1, Version: "3.6.16"}, Members: []state.Member{{Name: "m0", DBSize: size, DBQuota: size}}})
}

// forget drops the pages of all files from the page cache, so that they are read from the disk again.
func forget(b *testing.B, dir string) {
	b.Helper()
	script := `sync; find "$1" -type f -exec dd of={} oflag=nocache conv=notrunc,fdatasync count=0 status=none ';'`
	if out, err := exec.CommandContext(b.Context(), "sh", "-c", script, "sh", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}

func await(b *testing.B, url string) {
	b.Helper()
	client := http.Client{Timeout: 3 * time.Second} // as the probe
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		if b.Context().Err() != nil {
			b.Fatal(b.Context().Err())
		}
		response, err := client.Get(url)
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
	}
}

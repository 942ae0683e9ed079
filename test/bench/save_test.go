// Package bench measures the time and memory of a save. It reports ratios and differences, which are meaningful even on a
// loaded machine:
//
//	make bench-save            # BENCH_MIB=1024 BENCH_VALUE=16384 BENCH_ROUNDS=3
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// job describes the saves of a child process.
type job struct {
	URL, Dir string
	Location connect.Access
	Keys     []string
}

// BenchmarkSave compares a save with "etcdctl snapshot save" and with plain uploads of the same bytes: in parts, as common
// S3 clients do, and in one request (put). It also reports the anonymous memory of one save and of four at once, above
// that of the idle process.
func BenchmarkSave(b *testing.B) {
	mib, value := measure.Setting(b, "BENCH_MIB", 1024), measure.Setting(b, "BENCH_VALUE", 16<<10)
	member := servers.Etcd(b, servers.EtcdOptions{Args: []string{"--quota-backend-bytes=8589934592", "--snapshot-count=10000", "--unsafe-no-fsync"}}).Members[0]
	server, location := measure.S3(b)
	measure.Fill(b, member.ClientURL, mib, value)
	store, err := connect.Open(b.Context(), location)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "snapshot.db")
	times := map[string][]time.Duration{}
	timed := func(what string, run func()) {
		started, etcd, s3, own := time.Now(), measure.CPU(member.PID()), measure.CPU(server.PID()), ownCPU(b)
		run()
		times[what] = append(times[what], time.Since(started))
		b.Logf("%s took %v; processor time: etcd %v, S3 server %v, client %v", what, time.Since(started).Round(10*time.Millisecond),
			measure.CPU(member.PID())-etcd, measure.CPU(server.PID())-s3, (ownCPU(b) - own).Round(10*time.Millisecond))
	}
	for i := range measure.Setting(b, "BENCH_ROUNDS", 3) {
		b.Logf("round %d", i)
		timed("etcdctl", func() { etcdctl(b, member.ClientURL, file) })
		key := fmt.Sprintf("plain-%d", i)
		timed("upload", func() { measure.Upload(b, store, key, file) })
		remove(b, store, key)
		key = fmt.Sprintf("put-%d", i)
		timed("put", func() { measure.Put(b, server, location.Bucket, key, file) })
		remove(b, store, key)
		key = fmt.Sprintf("saved-%d", i)
		peak := 0
		timed("save", func() {
			peak = child(b, job{URL: member.ClientURL, Dir: b.TempDir(), Location: location, Keys: []string{key}})
		})
		b.Logf("one save used %d MiB of anonymous memory above idle", peak>>20)
		b.ReportMetric(float64(peak>>20), "MiB-one")
		remove(b, store, key)
	}
	b.Logf("all times: %v", times)
	save, ctl := float64(measure.Median(times["save"])), measure.Median(times["etcdctl"])
	b.ReportMetric(save/float64(max(ctl, measure.Median(times["upload"]))), "save/larger")
	b.ReportMetric(save/float64(max(ctl, measure.Median(times["put"]))), "save/larger-put")
	b.ReportMetric(save/float64(ctl), "save/etcdctl")
	four := job{URL: member.ClientURL, Dir: b.TempDir(), Location: location, Keys: []string{"four-1", "four-2", "four-3", "four-4"}}
	peak := child(b, four)
	b.Logf("four saves at once used %d MiB of anonymous memory above idle", peak>>20)
	b.ReportMetric(float64(peak>>20), "MiB-four")
}

// ownCPU returns the processor time of this process and its ended children.
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	total := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return total
}

func etcdctl(b *testing.B, url, file string) {
	b.Helper()
	_ = os.Remove(file)
	cmd := exec.CommandContext(b.Context(), servers.EtcdctlProgram(b, "3.6"), "--endpoints", url, "snapshot", "save", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}

func remove(b *testing.B, store objstore.Store, key string) {
	b.Helper()
	for _, key := range []string{key, key + ".json"} {
		if err := store.Delete(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}

// child runs the saves in a separate process. It returns the peak of that process's anonymous memory above idle, in bytes.
func child(b *testing.B, o job) int {
	b.Helper()
	peak, _ := childBy(b, exec.CommandContext, o)
	return peak
}

// childBy is child with a choice of how the process starts. It also returns how many bytes the process wrote, to its files and
// its connections.
func childBy(b *testing.B, command func(ctx context.Context, program string, args ...string) *exec.Cmd, o job) (peak, written int) {
	b.Helper()
	content, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	cmd := command(b.Context(), os.Args[0], "-test.run=^TestChildSaves$", "-test.v")
	cmd.Env = append(os.Environ(), "BENCH_JOB="+string(content))
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	_, report, _ := strings.Cut(string(out), "report: ")
	if _, err := fmt.Sscanf(report, "%d bytes above idle, %d bytes written", &peak, &written); err != nil {
		b.Fatalf("the child process did not report its memory: %v\n%s", err, out)
	}
	return peak, written
}

// TestChildSaves is not a test: child runs it in a separate process. Without BENCH_JOB it does nothing.
func TestChildSaves(t *testing.T) {
	text := os.Getenv("BENCH_JOB")
	if text == "" {
		return
	}
	var o job
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("BENCH_PROFILE"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			t.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	debug.FreeOSMemory()
	idle := measure.Anonymous(os.Getpid())
	ctx, cancel := context.WithCancel(t.Context())
	peak := make(chan int)
	go func() { peak <- watch(ctx) }()
	var group sync.WaitGroup
	for _, key := range o.Keys {
		group.Go(func() { saveSnapshot(t, o, key) })
	}
	group.Wait()
	cancel()
	fmt.Printf("report: %d bytes above idle, %d bytes written\n", <-peak-idle, written(t))
}

func saveSnapshot(t *testing.T, o job, key string) {
	client, err := etcd.Open(etcd.Endpoint{URL: o.URL}, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	status, err := client.Status(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	store, err := connect.Open(t.Context(), o.Location)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = save.Snapshot(t.Context(), save.Request{
		Source: client, Store: store, Key: key, SpoolDir: o.Dir, EtcdVersion: status.Version,
		MinRevision: status.Revision, Time: time.Now(),
	})
	if err != nil {
		t.Error(err)
	}
}

// watch returns the peak of this process's anonymous memory until ctx ends.
func watch(ctx context.Context) int {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	peak := 0
	for {
		select {
		case <-ctx.Done():
			return peak
		case <-ticker.C:
			peak = max(peak, measure.Anonymous(os.Getpid()))
		}
	}
}

// written returns how many bytes this process has written (wchar in proc(5)).
func written(t *testing.T) (bytes int) {
	t.Helper()
	content, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(content), "wchar: ")
	if _, err := fmt.Sscan(after, &bytes); err != nil {
		t.Fatalf("read %q: %v", content, err)
	}
	return bytes
}

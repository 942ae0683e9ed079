package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// BenchmarkSlowSave saves a database from a process with a slow disk and too little memory to cache the database, as in a
// container on a busy node. The proof of the whole database then takes minutes. It reports how often each byte was sent:
// more than once means that the store gave up the upload while it waited for the proof.
func BenchmarkSlowSave(b *testing.B) {
	mib, rate := measure.Setting(b, "BENCH_MIB", 4096), measure.Setting(b, "BENCH_RATE", 32)
	member := servers.Etcd(b, servers.EtcdOptions{Args: []string{"--quota-backend-bytes=8589934592", "--snapshot-count=500", "--unsafe-no-fsync"}}).Members[0]
	_, location := measure.S3(b)
	measure.Fill(b, member.ClientURL, mib, measure.Setting(b, "BENCH_VALUE", 16<<10))
	info, err := os.Stat(filepath.Join(member.DataDir, "member", "snap", "db"))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	slow := measure.SlowDisk(b, dir, rate, measure.Setting(b, "BENCH_MEMORY", 1024))
	began := time.Now()
	peak, written := childBy(b, slow, job{URL: member.ClientURL, Dir: dir, Location: location, Keys: []string{"slow"}})
	took := time.Since(began)
	sent := int64(written) - info.Size() // it also wrote the spool file
	floor := time.Duration(info.Size()/int64(rate<<20)) * time.Second
	b.Logf("database %d MiB, disk %d MiB/s: one read takes %s, the save took %s, sent %d MiB to the store, %d MiB of anonymous memory",
		info.Size()>>20, rate, floor, took.Round(time.Second), sent>>20, peak>>20)
	b.ReportMetric(took.Seconds()/floor.Seconds(), "save/read")
	b.ReportMetric(float64(sent)/float64(info.Size()), "sent/size")
}

// Package seed measures how long the seed takes to fill the first member of a restored cluster, and its memory. It
// compares them with a download and "etcdutl snapshot restore" by hand. Both run alternately, so the ratio is meaningful
// even on a loaded machine:
//
//	make bench-seed            # BENCH_MIB=1024 BENCH_ROUNDS=3
package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// BenchmarkSeed reports the ratio of the seed's time to that of the manual restore, and the anonymous memory of the seed
// and of etcdutl.
func BenchmarkSeed(b *testing.B) {
	const value = 16 << 10
	mib := measure.Setting(b, "BENCH_MIB", 1024)
	program := filepath.Join(b.TempDir(), "restore-operator")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program, "github.com/etcd-suite/etcd-operator/cmd/restore-operator").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	etcdutl := servers.Program(b, "etcdutl-3.6", "etcd-3.6")
	server, location := measure.S3(b)
	store, err := connect.Open(b.Context(), location)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "snapshot.db")
	sum, size := database(b, file, mib<<20/value, value)
	measure.Upload(b, store, "snapshot.db", file)

	request := seed.Request{
		Source: v1beta2.RestoreSource{StorageType: "S3", Bucket: "bench", Key: "snapshot.db", Endpoint: server.Endpoint, Region: server.Region, ForcePathStyle: true},
		SHA256: sum, Size: size, Revision: 2, Name: "seed", PeerURL: "http://127.0.0.1:2380", Token: "bench", RevisionBump: 1_000_000_000,
	}
	var seedTimes, manualTimes []time.Duration
	var seedPeak, etcdutlPeak int
	volume := b.TempDir()
	request.DataDir = filepath.Join(volume, "data")
	seeded := func() {
		seeding := exec.CommandContext(b.Context(), program, request.Args()...)
		seeding.Env = []string{"AWS_ACCESS_KEY_ID=" + server.AccessKey, "AWS_SECRET_ACCESS_KEY=" + server.SecretKey}
		started := time.Now()
		seedPeak = max(seedPeak, run(b, seeding))
		seedTimes = append(seedTimes, time.Since(started))
		clear(b, volume)
	}
	restored := func() {
		started := time.Now()
		fetched := filepath.Join(volume, "fetched.db")
		download(b, store, "snapshot.db", fetched)
		etcdutlPeak = max(etcdutlPeak, run(b, exec.CommandContext(b.Context(), etcdutl, "snapshot", "restore", fetched, "--data-dir="+request.DataDir,
			"--name=seed", "--initial-cluster=seed=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster-token=bench",
			"--bump-revision=1000000000", "--mark-compacted")))
		manualTimes = append(manualTimes, time.Since(started))
		clear(b, volume)
	}
	for round := range measure.Setting(b, "BENCH_ROUNDS", 6) {
		// Alternate the order, because the second one runs with warm caches and a busy disk.
		first, second := seeded, restored
		if round%2 == 1 {
			first, second = second, first
		}
		first()
		second()
	}
	b.Logf("seed: %v, %d MiB of anonymous memory; by hand: %v, etcdutl %d MiB of anonymous memory", seedTimes, seedPeak>>20, manualTimes, etcdutlPeak>>20)
	b.ReportMetric(float64(measure.Median(seedTimes))/float64(measure.Median(manualTimes)), "seed/by-hand")
	b.ReportMetric(float64(seedPeak>>20), "MiB-seed")
	b.ReportMetric(float64(etcdutlPeak>>20), "MiB-etcdutl")
}

// database writes a snapshot file with keys of one size, and returns its SHA-256 and size.
func database(b *testing.B, path string, keys, value int) (sum string, size int64) {
	b.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		b.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{"meta", "members", "members_removed", "cluster", "key", "lease", "auth"} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	random := rand.NewChaCha8([32]byte{1})
	content := make([]byte, value)
	for first := 0; err == nil && first < keys; first += 1000 {
		err = db.Update(func(tx *bbolt.Tx) error {
			bucket := tx.Bucket([]byte("key"))
			bucket.FillPercent = 0.9
			var errs []error
			for i := first; i < min(first+1000, keys); i++ {
				_, _ = random.Read(content)
				revision := append(binary.BigEndian.AppendUint64(nil, uint64(i+2)), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
				pair := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), fmt.Appendf(nil, "/registry/pods/%09d", i))
				pair = protowire.AppendBytes(protowire.AppendTag(pair, 5, protowire.BytesType), content)
				errs = append(errs, bucket.Put(revision, pair))
			}
			return errors.Join(errs...)
		})
	}
	if err := errors.Join(err, db.Close()); err != nil {
		b.Fatal(err)
	}
	return trailer(b, path)
}

// trailer appends the checksum, as etcd does, and returns the SHA-256 and size of the whole file.
func trailer(b *testing.B, path string) (sum string, size int64) {
	b.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	if err != nil {
		b.Fatal(err)
	}
	end := hash.Sum(nil)
	if _, err := f.Write(end); err != nil {
		b.Fatal(err)
	}
	hash.Write(end)
	return hex.EncodeToString(hash.Sum(nil)), n + int64(len(end))
}

func download(b *testing.B, store objstore.Store, key, file string) {
	b.Helper()
	body, err := store.Get(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	defer body.Close()
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(f, body); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// run runs a program and returns the peak of its anonymous memory in bytes.
func run(b *testing.B, cmd *exec.Cmd) (peak int) {
	b.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("%s: %v: %s", cmd.Path, err, said.String())
			}
			return peak
		case <-ticks.C:
			peak = max(peak, measure.Anonymous(cmd.Process.Pid))
		}
	}
}

func clear(b *testing.B, dir string) {
	b.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			b.Fatal(err)
		}
	}
}

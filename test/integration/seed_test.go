package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

const bump = 1_000_000_000

// seedBench is a test bench that runs restore-operator's real program, as the init container does.
type seedBench struct {
	*testing.T
	program string
	server  *servers.S3Server
	bucket  connect.Access
}

func newSeedBench(t *testing.T) *seedBench {
	b := &seedBench{T: t, server: servers.S3(t), program: filepath.Join(t.TempDir(), "restore-operator")}
	b.server.CreateBucket(t, "backups")
	b.bucket = s3Location(b.server, "backups")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", b.program, "github.com/etcd-suite/etcd-operator/cmd/restore-operator").CombinedOutput()
	if err != nil {
		t.Fatalf("build restore-operator: %v\n%s", err, out)
	}
	b.makeReachable(t, filepath.Dir(b.program))
	return b
}

// makeReachable makes a test's directory accessible for the user of the seed.
func (b *seedBench) makeReachable(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// nobody is the user of the seed if the test runs as root: as in a Pod, it is not root.
const nobody = 65532

// volume returns an empty directory that the seed's user owns.
func (b *seedBench) volume(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	b.makeReachable(t, dir)
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// request returns the request that cluster-operator would write for a verified object.
func (b *seedBench) request(t *testing.T, key, volume string) seed.Request {
	t.Helper()
	src := v1beta2.RestoreSource{StorageType: "S3", Bucket: "backups", Key: key, Endpoint: b.server.Endpoint, ForcePathStyle: true, Region: b.server.Region}
	proven, err := source.Read(t.Context(), src, source.By{Secret: b.bucket.Data}, proof.Alone(t.TempDir()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return seed.Request{
		Source: src, SHA256: proven.Snapshot.SHA256, Size: proven.Snapshot.Size, Revision: proven.Snapshot.Revision,
		DataDir: filepath.Join(volume, "data"), Name: "seed", PeerURL: servers.PeerURL(t), Token: "uid-2", RevisionBump: bump,
	}
}

func (b *seedBench) command(t *testing.T, r seed.Request) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), b.program, r.Args()...)
	cmd.Env = []string{"AWS_ACCESS_KEY_ID=" + b.server.AccessKey, "AWS_SECRET_ACCESS_KEY=" + b.server.SecretKey}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// run runs the seed and returns its exit code and output.
func (b *seedBench) run(t *testing.T, r seed.Request) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := b.command(t, r)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("run the seed: %v", err)
	}
	if strings.Contains(out.String()+errs.String(), b.server.SecretKey) {
		t.Error("the output of the seed reveals its credentials")
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func (b *seedBench) mustRun(t *testing.T, r seed.Request) {
	t.Helper()
	if code, stdout, stderr := b.run(t, r); code != seed.ExitDone {
		t.Fatalf("the seed ended with exit code %d\n%s%s", code, stdout, stderr)
	}
	wantEntries(t, filepath.Dir(r.DataDir), "data")
}

func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the directory %s contains %q, want %q", dir, got, want)
	}
}

// put creates an object.
func (b *seedBench) put(t *testing.T, key string, content []byte) {
	t.Helper()
	if err := open(t, b.bucket).Put(t.Context(), key, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

// save creates an object with save.Snapshot, as backup-operator does.
func (b *seedBench) save(t *testing.T, key string, cluster *servers.EtcdCluster) {
	t.Helper()
	member, err := etcd.Open(etcd.Endpoint{URL: cluster.Members[0].ClientURL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	_, err = save.Snapshot(t.Context(), save.Request{
		Source: member, Store: open(t, b.bucket), Key: key, SpoolDir: t.TempDir(), Time: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// content has every key with the hash of its value and its lease, and the revision and ID of the cluster.
type content struct {
	keys      map[string]string
	revision  int64
	clusterID uint64
}

func contentOf(t *testing.T, client *clientv3.Client) content {
	t.Helper()
	response, err := client.Get(t.Context(), "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	c := content{keys: map[string]string{}, revision: response.Header.Revision, clusterID: response.Header.ClusterId}
	for _, kv := range response.Kvs {
		sum := sha256.Sum256(kv.Value)
		c.keys[string(kv.Key)] = fmt.Sprintf("%s lease %x", hex.EncodeToString(sum[:8]), kv.Lease)
	}
	return c
}

// fill writes keys of several sizes. Some are overwritten, deleted, compacted or have a lease.
func fill(t *testing.T, client *clientv3.Client) {
	t.Helper()
	ctx := t.Context()
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		do(client.Put(ctx, fmt.Sprintf("key-%03d", i%200), strings.Repeat(fmt.Sprint(i), 1+i*i/10)))
	}
	do(client.Put(ctx, "large", strings.Repeat("x", 1<<20)))
	lease, err := client.Grant(ctx, 3600)
	do(lease, err)
	do(client.Put(ctx, "leased", "value", clientv3.WithLease(lease.ID)))
	do(client.Delete(ctx, "key-007"))
	do(client.Compact(ctx, 100))
	do(client.Put(ctx, "binary\x00key", "\xff\x00"))
}

func TestSeedRestoresAllKeysOnEveryVersion(t *testing.T) {
	t.Parallel()
	b := newSeedBench(t)
	for _, from := range []string{"3.4", "3.5", "3.6"} {
		cluster := servers.Etcd(t, servers.EtcdOptions{Minor: from})
		client := dial(t, cluster.Members[0].ClientURL)
		fill(t, client)
		before := contentOf(t, client)
		b.save(t, from+"/saved.db", cluster)
		b.put(t, from+"/etcdctl.db", saveByEtcdctl(t, from, cluster))
		for _, key := range []string{from + "/saved.db", from + "/etcdctl.db"} {
			for _, to := range []string{"3.6", "3.7"} {
				t.Run(fmt.Sprintf("etcd %s starts with every key of %s", to, key), func(t *testing.T) {
					b.startsWithAllKeys(t, to, key, before)
				})
			}
		}
	}
	t.Run("without revisionBump the revision is that of the snapshot", func(t *testing.T) {
		r := b.request(t, "3.6/saved.db", b.volume(t))
		r.RevisionBump = 0
		b.mustRun(t, r)
		member := servers.EtcdFromDataDir(t, "3.6", r.DataDir, r.Name, r.PeerURL, r.Token)
		if got := contentOf(t, dial(t, member.ClientURL)); got.revision != r.Revision {
			t.Errorf("the revision is %d, want %d", got.revision, r.Revision)
		}
	})
	t.Run("an empty cluster can be restored", func(t *testing.T) {
		b.put(t, "empty.db", saveByEtcdctl(t, "3.6", servers.Etcd(t, servers.EtcdOptions{Minor: "3.6"})))
		r := b.request(t, "empty.db", b.volume(t))
		b.mustRun(t, r)
		member := servers.EtcdFromDataDir(t, "3.6", r.DataDir, r.Name, r.PeerURL, r.Token)
		if got := contentOf(t, dial(t, member.ClientURL)); len(got.keys) != 0 || got.revision < bump {
			t.Errorf("the restored cluster has %d keys at revision %d, want no keys at a revision of at least %d", len(got.keys), got.revision, bump)
		}
	})
}

// startsWithAllKeys seeds a data directory and starts a real etcd on it.
func (b *seedBench) startsWithAllKeys(t *testing.T, minor, key string, before content) {
	r := b.request(t, key, b.volume(t))
	if r.Revision != before.revision {
		t.Fatalf("the snapshot has revision %d, but the cluster was at %d", r.Revision, before.revision)
	}
	b.mustRun(t, r)
	b.mustRun(t, r) // a second run has nothing to do
	member := servers.EtcdFromDataDir(t, minor, r.DataDir, r.Name, r.PeerURL, r.Token)
	client := dial(t, member.ClientURL)
	got := contentOf(t, client)
	if !maps.Equal(got.keys, before.keys) {
		t.Errorf("the restored keys differ: %d keys, want %d", len(got.keys), len(before.keys))
	}
	if got.revision < before.revision+bump {
		t.Errorf("the revision is %d, want at least %d: clients that saw a later revision would miss changes", got.revision, before.revision+bump)
	}
	if got.clusterID == before.clusterID {
		t.Error("the restored cluster has the old cluster ID, so clients cannot detect the restore")
	}
	if _, err := client.Get(t.Context(), "leased", clientv3.WithRev(before.revision)); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("a read of the old revision returned %v, want that it is compacted", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if response := <-client.Watch(ctx, "leased", clientv3.WithRev(before.revision)); !errors.Is(response.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch from the old revision returned %v, want that it is compacted", response.Err())
	}
	if _, err := client.Put(t.Context(), "after", "value"); err != nil {
		t.Errorf("the restored cluster refuses a write: %v", err)
	}
	member.Stop()
	member.Start()
	member.AwaitHealthy()
	if after := contentOf(t, client); len(after.keys) != len(before.keys)+1 {
		t.Errorf("after a restart the cluster has %d keys, want %d", len(after.keys), len(before.keys)+1)
	}
}

func TestSeedRefusesDamagedSnapshotsAndSurvivesOutages(t *testing.T) {
	t.Parallel()
	b := newSeedBench(t)
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: "3.6"})
	client := dial(t, cluster.Members[0].ClientURL)
	for i := range 32 {
		if _, err := client.Put(t.Context(), fmt.Sprint(i), strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	good := saveByEtcdctl(t, "3.6", cluster)
	b.put(t, "good.db", good)

	t.Run("an object that changed after its verification is refused permanently", func(t *testing.T) {
		flipped := bytes.Clone(good)
		flipped[len(flipped)/2] ^= 1
		b.put(t, "flipped.db", flipped)
		r := b.request(t, "good.db", b.volume(t))
		r.Source.Key = "flipped.db"
		started := time.Now()
		code, _, stderr := b.run(t, r)
		if code != seed.ExitNever || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "corrupt") {
			t.Errorf("the seed ended with exit code %d, want %d and one line that says corrupt: %s", code, seed.ExitNever, stderr)
		}
		if took := time.Since(started); took > time.Minute {
			t.Errorf("the seed refused the object after %s, the limit is a minute", took)
		}
		wantEntries(t, filepath.Dir(r.DataDir))
	})

	// Defect 12 of coreos/etcd-operator: it restored snapshots without verification.
	t.Run("a snapshot that is truncated or has a flipped bit is never restored", b.refusesDamagedSnapshots)

	t.Run("a store that restarts during the download is retried", func(t *testing.T) {
		r := b.request(t, "good.db", b.volume(t))
		cmd, said := b.start(t, r, "fetching")
		b.server.Stop()
		b.server.Start()
		b.server.AwaitHTTP(b.server.Endpoint)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		wantEntries(t, filepath.Dir(r.DataDir), "data")
	})

	t.Run("the seed continues when a stopped store runs again", func(t *testing.T) {
		r := b.request(t, "good.db", b.volume(t))
		b.server.Stop()
		cmd, said := b.start(t, r, "trying again")
		b.server.Start()
		b.server.AwaitHTTP(b.server.Endpoint)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		wantEntries(t, filepath.Dir(r.DataDir), "data")
	})

	t.Run("the seed can run again after a kill at any time", func(t *testing.T) {
		r := b.request(t, "good.db", b.volume(t))
		for _, delay := range []time.Duration{0, 20, 50, 80, 120, 200} {
			cmd, _ := b.start(t, r, "fetching")
			<-time.After(delay * time.Millisecond)
			_ = cmd.Process.Kill()
			if err := cmd.Wait(); err == nil {
				break // the seed was done before the kill
			}
			if _, err := os.Stat(r.DataDir); err == nil {
				break // killed after the rename
			}
		}
		b.mustRun(t, r)
		member := servers.EtcdFromDataDir(t, "3.6", r.DataDir, r.Name, r.PeerURL, r.Token)
		if got := contentOf(t, dial(t, member.ClientURL)); len(got.keys) != 32 {
			t.Errorf("the restored cluster has %d keys, want 32", len(got.keys))
		}
	})
}

// lines stores the output of a program and closes seen when the output contains until.
type lines struct {
	until string
	seen  chan struct{}

	mu   sync.Mutex
	said strings.Builder
	done bool
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said.Write(p)
	if !l.done && strings.Contains(l.said.String(), l.until) {
		l.done = true
		close(l.seen)
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}

// start starts the seed and waits until its output contains until.
func (b *seedBench) start(t *testing.T, r seed.Request, until string) (*exec.Cmd, *lines) {
	t.Helper()
	cmd := b.command(t, r)
	said := &lines{until: until, seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-said.seen:
	case <-time.After(time.Minute):
		t.Fatalf("the output of the seed does not contain %q after a minute:\n%s", until, said)
	}
	return cmd, said
}

// refusesDamagedSnapshots damages a good snapshot at ten positions in two ways. Then it runs the seed as if the object
// had changed after its verification.
func (b *seedBench) refusesDamagedSnapshots(t *testing.T) {
	good := etcdctlSnapshot(t, "3.6")
	b.put(t, "small.db", good)
	proven := b.request(t, "small.db", b.volume(t))
	damaged := map[string][]byte{}
	for i := range 10 {
		at := i * (len(good) - 1) / 9 // the first byte and the last, which is the trailer's
		flipped := bytes.Clone(good)
		flipped[at] ^= 1 << (i % 8)
		damaged[fmt.Sprintf("flipped-%d.db", at)] = flipped
		damaged[fmt.Sprintf("cut-%d.db", at)] = good[:at]
	}
	for key, content := range damaged {
		b.put(t, key, content)
		r := proven
		r.Source.Key, r.DataDir = key, filepath.Join(b.volume(t), "data")
		if _, err := source.Read(t.Context(), r.Source, source.By{Secret: b.bucket.Data}, proof.Alone(t.TempDir()), nil); !source.Final(err) || !source.Corrupt(err) {
			t.Errorf("restore-operator does not refuse the damaged snapshot %s for good: %v", key, err)
		}
		if code, _, stderr := b.run(t, r); code != seed.ExitNever {
			t.Errorf("the seed does not refuse the damaged snapshot %s for good: exit code %d, want %d: %s", key, code, seed.ExitNever, stderr)
		}
		wantEntries(t, filepath.Dir(r.DataDir))
	}
}

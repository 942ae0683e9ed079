package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// minors are minor versions of etcd, oldest first. A version can read its own and older snapshots.
var minors = []string{"3.5", "3.6", "3.7"}

// TestSnapshotsCanBeRestoredByTheirOwnAndNewerVersions saves a real etcd into real
// stores and fetches the snapshot. It restores the snapshot with dbfile and with the
// etcdutl of each version, and starts etcd on the result. It does the same with a
// snapshot of etcdctl.
func TestSnapshotsCanBeRestoredByTheirOwnAndNewerVersions(t *testing.T) {
	t.Parallel()
	s3, gcs := servers.S3(t), servers.GCS(t)
	s3.CreateBucket(t, "snapshots")
	gcs.CreateBucket(t, "snapshots")
	stores := map[string]objstore.Store{
		"S3":  open(t, s3Location(s3, "snapshots")),
		"GCS": open(t, gcsLocation(gcs, "snapshots")),
	}
	for i, minor := range minors {
		t.Run("etcd "+minor, func(t *testing.T) {
			cluster := servers.Etcd(t, servers.EtcdOptions{Minor: minor})
			want := writeKeys(t, cluster.Members[0])
			wantSizeAsAnnounced(t, cluster.Members[0])
			for name, store := range stores {
				t.Run(name, func(t *testing.T) {
					fetched := saveAndFetch(t, cluster.Members[0], store, minor)
					restoreAndCompare(t, minor, fetched, want)
					if name != "S3" {
						return // the bytes are the same
					}
					for _, reader := range minors[i:] {
						restoreByEtcdutlAndCompare(t, reader, fetched.Path, want)
					}
				})
			}
			t.Run("saved by etcdctl", func(t *testing.T) {
				fetched := fetchOfEtcdctl(t, cluster, stores["S3"], minor)
				restoreAndCompare(t, minor, fetched, want)
			})
		})
	}
}

// fetchOfEtcdctl stores a snapshot of etcdctl, which has no manifest, and fetches it.
func fetchOfEtcdctl(t *testing.T, cluster *servers.EtcdCluster, store objstore.Store, minor string) proof.Fetched {
	t.Helper()
	content := saveByEtcdctl(t, minor, cluster)
	key := "by hand/etcdctl-" + minor + ".db"
	if err := store.Put(t.Context(), key, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	fetched, err := proof.Fetch(t.Context(), store, key, proof.Alone(t.TempDir()), nil, snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	if fetched.Manifest != nil || fetched.Info.Keys != 60 {
		t.Errorf("%d keys, want 60; manifest %+v, want none", fetched.Info.Keys, fetched.Manifest)
	}
	if err := snapshot.Compatible(fetched.Format(), minor+".0"); err != nil {
		t.Errorf("the snapshot is reported as incompatible with its own etcd version: %v", err)
	}
	return fetched
}

// writeKeys writes keys, overwrites some and deletes some. Together they are larger
// than two parts of an upload.
func writeKeys(t *testing.T, member *servers.EtcdMember) map[string]string {
	t.Helper()
	large := make([]byte, 300<<10)
	for i := range 90 {
		member.Put(t, fmt.Sprintf("key-%03d", i), fmt.Sprintf("%d%s", i, large))
	}
	for i := 0; i < 90; i += 3 {
		member.Put(t, fmt.Sprintf("key-%03d", i), "again")
		member.Delete(t, fmt.Sprintf("key-%03d", i+1))
	}
	pairs, _ := member.All(t)
	if len(pairs) != 60 {
		t.Fatalf("etcd has %d keys, want 60", len(pairs))
	}
	return pairs
}

// wantSizeAsAnnounced checks the announced size of a snapshot. If it were wrong, every upload in one request would fail and
// be repeated in parts.
func wantSizeAsAnnounced(t *testing.T, member *servers.EtcdMember) {
	t.Helper()
	client, err := etcd.Open(etcd.Endpoint{URL: member.ClientURL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, size, err := client.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if n, err := io.Copy(io.Discard, stream); err != nil || n != size {
		t.Errorf("the snapshot has %d bytes, but %d were announced, error %v", n, size, err)
	}
}

func saveAndFetch(t *testing.T, member *servers.EtcdMember, store objstore.Store, minor string) proof.Fetched {
	t.Helper()
	client, err := etcd.Open(etcd.Endpoint{URL: member.ClientURL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	status, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	series := snapshot.Series{Folder: "a folder/100%", Namespace: "ns", Cluster: "etcd-" + minor, ClusterID: uint64(status.ClusterID)}
	key := series.Key(time.Now(), status.Revision)
	saved, err := save.Snapshot(t.Context(), save.Request{
		Source: client, Store: store, Key: key, SpoolDir: t.TempDir(),
		Cluster:     snapshot.Cluster{Namespace: "ns", Name: "etcd-" + minor, ID: status.ClusterID.String()},
		EtcdVersion: status.Version, MinRevision: status.Revision, Time: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if saved.Manifest.Revision != status.Revision || saved.Manifest.Keys != 60 {
		t.Errorf("saved revision %d with %d keys, want %d with 60", saved.Manifest.Revision, saved.Manifest.Keys, status.Revision)
	}
	listing, err := catalog.List(t.Context(), store, series.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	if newest, ok := listing.Newest(); !ok || newest.Key != key {
		t.Errorf("the newest listed snapshot is not %s: %+v", key, listing)
	}
	fetched, err := proof.Fetch(t.Context(), store, key, proof.Alone(t.TempDir()), nil, snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Compatible(fetched.Format(), status.Version); err != nil {
		t.Errorf("the snapshot is reported as incompatible with its own etcd version: %v", err)
	}
	wantEtcdutlToAgree(t, minor, fetched)
	drill(t, client, store, key, status.Revision)
	return fetched
}

// drill runs a restore test of a snapshot, and compares it with the live cluster.
func drill(t *testing.T, client *etcd.Client, store objstore.Store, key string, revision int64) {
	t.Helper()
	request := proof.RestoreTestRequest{Try: dbfile.TryRestore, Store: store, Key: key, ScratchDir: t.TempDir(), Live: client}
	got, err := proof.RunRestoreTest(t.Context(), request)
	if err != nil || !got.Compared || got.Info.Revision != revision {
		t.Errorf("the restore test returned %+v, error %v, want a comparison at revision %d", got, err, revision)
	}
	request.Live = otherData{client}
	if _, err := proof.RunRestoreTest(t.Context(), request); !errors.Is(err, proof.ErrDiffers) {
		t.Errorf("the restore test against a cluster with other data returned the error %v, want ErrDiffers", err)
	}
}

// otherData returns the hash of the previous revision, as a cluster with other data would.
type otherData struct{ *etcd.Client }

func (e otherData) HashKV(ctx context.Context, revision int64) (uint32, int64, error) {
	return e.Client.HashKV(ctx, revision-1)
}

// wantEtcdutlToAgree compares the manifest with the output of etcdutl.
func wantEtcdutlToAgree(t *testing.T, minor string, fetched proof.Fetched) {
	t.Helper()
	got := etcdutl(t, minor, "snapshot", "status", fetched.Path, "-w", "fields")
	for _, line := range []string{
		fmt.Sprintf("%q : %d\n", "Revision", fetched.Info.Revision),
		fmt.Sprintf("%q : %d\n", "Hash", fetched.Info.Hash),
	} {
		if !strings.Contains(got, line) {
			t.Errorf("etcdutl %s reports\n%s, want %s", minor, got, line)
		}
	}
}

func restoreAndCompare(t *testing.T, minor string, fetched proof.Fetched, want map[string]string) {
	t.Helper()
	const bump = 1_000_000_000
	dir, peer := filepath.Join(t.TempDir(), "data"), servers.PeerURL(t)
	err := dbfile.Restore(t.Context(), dbfile.Options{
		SnapshotPath: fetched.Path, DataDir: dir, Name: "seed", PeerURLs: []string{peer},
		InitialCluster: "seed=" + peer, Token: "restored", RevisionBump: bump, MarkCompacted: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, revision := servers.EtcdFromDataDir(t, minor, dir, "seed", peer, "restored").All(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("restored keys differ (-want +got):\n%s", diff)
	}
	if revision != fetched.Info.Revision+bump {
		t.Errorf("the restored revision is %d, want %d plus %d", revision, fetched.Info.Revision, bump)
	}
}

func restoreByEtcdutlAndCompare(t *testing.T, minor, path string, want map[string]string) {
	t.Helper()
	dir, peer := filepath.Join(t.TempDir(), "data"), servers.PeerURL(t)
	etcdutl(t, minor, "snapshot", "restore", path, "--data-dir", dir, "--name", "seed",
		"--initial-cluster", "seed="+peer, "--initial-advertise-peer-urls", peer, "--initial-cluster-token", "plain")
	got, _ := servers.EtcdFromDataDir(t, minor, dir, "seed", peer, "plain").All(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys restored by etcdutl differ (-want +got):\n%s", diff)
	}
}

func etcdutl(t *testing.T, minor string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), servers.EtcdutlProgram(t, minor), args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("etcdutl %v: %v\n%s%s", args, err, out, &log)
	}
	return string(out)
}

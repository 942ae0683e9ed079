package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// pointBench is a test bench with a real etcd, backup-operator and restore-operator. The test acts as cluster-operator.
type pointBench struct {
	*backupBench
	restores *restoreBench
	etcd     *servers.EtcdCluster
	kv       *clientv3.Client
	series   *v1beta2.EtcdBackup
}

// pointOptions describe what a pointBench archives, and where to.
type pointOptions struct {
	etcd     servers.EtcdOptions
	users    bool                // authentication is on, with the user root
	identity *age.X25519Identity // of the encryption; nil turns it off
	store    func(*pointBench)   // prepares another store than S3, before the series is created
	change   func(p *pointBench) // changes the series before it is created
}

// newPointBench archives an etcd with 30 keys. Its archive is encrypted if there is an identity.
func newPointBench(t *testing.T, minor string, identity *age.X25519Identity) *pointBench {
	return newPointBenchOf(t, pointOptions{etcd: servers.EtcdOptions{Minor: minor}, identity: identity})
}

func newPointBenchOf(t *testing.T, o pointOptions) *pointBench {
	p := &pointBench{etcd: servers.Etcd(t, o.etcd)}
	config := clientv3.Config{Endpoints: p.etcd.Endpoints(), DialTimeout: 3 * time.Second, Logger: zap.NewNop()}
	if o.users {
		p.etcd.Members[0].AddUser(t, "root", "secret", true)
		p.etcd.Members[0].EnableAuth(t)
		config.Username, config.Password, config.DialTimeout = "root", "secret", time.Minute // a busy machine checks passwords slowly
	}
	var err error
	if p.kv, err = clientv3.New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.kv.Close() })
	p.backupBench = newBackupBench(t)
	p.put("before", 30)
	p.series = p.backup("pit", "backups/pit", p.etcd.Endpoints()...)
	p.series.Spec.S3.AWSSecret = "restoring"
	p.series.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly}
	p.series.Spec.Continuous = &v1beta2.ContinuousArchive{MaxLag: "1s"}
	p.series.Spec.Compression = v1beta2.CompressionZstd
	for _, prepare := range []func(*pointBench){o.store, o.change} {
		if prepare != nil {
			prepare(p)
		}
	}
	data := maps.Clone(p.bucket.Data)
	if o.identity != nil {
		data[v1beta2.AgeIdentityKey] = []byte(o.identity.String())
		p.series.Spec.Encryption = &v1beta2.Encryption{Age: v1beta2.AgeEncryption{Recipients: []string{o.identity.Recipient().String()}}}
	}
	kubetest.Create(p, p.secret("restoring", data))
	if o.users {
		kubetest.Create(p, p.secret("user", map[string][]byte{v1beta2.AuthUsernameKey: []byte("root"), v1beta2.AuthPasswordKey: []byte("secret"), "endpoints": []byte(strings.Join(p.series.Spec.EtcdEndpoints, ","))}))
		p.series.Spec.ClientAuthSecret = "user"
	}
	p.restores = &restoreBench{T: t, namespace: p.namespace, server: p.server, bucket: p.bucket, spool: t.TempDir(), allowed: p.allowed}
	p.restores.start()
	kubetest.Create(p, p.series)
	kubetest.AwaitCondition(p, p.series, backupConditions, v1beta2.ConditionArchiving, metav1.ConditionTrue, v1beta2.ReasonArchiving)
	return p
}

// put writes keys of a folder, and returns the last revision.
func (p *pointBench) put(folder string, n int) (revision int64) {
	p.Helper()
	for i := range n {
		answer, err := p.kv.Put(p.Context(), fmt.Sprint(folder, "/", i), fmt.Sprint("value of ", folder))
		if err != nil {
			p.Fatal(err)
		}
		revision = answer.Header.Revision
	}
	return revision
}

// write writes keys, waits until they are archived, and returns the last revision.
func (p *pointBench) write(folder string, n int) int64 {
	p.Helper()
	revision := p.put(folder, n)
	p.storedTo("pit", revision)
	return revision
}

// to creates an EtcdRestore of a point from the EtcdBackup.
func (p *pointBench) to(name string, point v1beta2.SnapshotSelector) *v1beta2.EtcdRestore {
	p.Helper()
	r := &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster: v1beta2.ClusterReference{Name: "restored"}, EtcdBackup: &v1beta2.BackupReference{Name: "pit"}, Select: &point,
		},
	}
	kubetest.Create(p, r)
	return r
}

// restored waits until the restore waits for its cluster, and returns the file of the verified snapshot.
func (p *pointBench) restored(r *v1beta2.EtcdRestore, identity []byte) string {
	p.Helper()
	p.restores.await(r, v1beta2.ReasonWaitingForCluster)
	fetched, err := proof.FetchAgain(p.Context(), open(p.T, p.bucket), r.Status.Source.Key, proof.Alone(p.TempDir()), identity, r.Status.Snapshot.SHA256)
	if err != nil {
		p.Fatal(err)
	}
	return fetched.Path
}

// hash returns what the cluster has at a revision.
func (p *pointBench) hash(revision int64) *clientv3.HashKVResponse {
	p.Helper()
	answer, err := p.kv.HashKV(p.Context(), p.etcd.Members[0].ClientURL, revision)
	if err != nil {
		p.Fatal(err)
	}
	return answer
}

func (p *pointBench) compare(file string, want *clientv3.HashKVResponse, revision int64) {
	p.Helper()
	got, err := dbfile.TryRestore(p.Context(), dbfile.Trial{
		SnapshotPath: file, DataDir: filepath.Join(p.TempDir(), "data"), Revision: revision, CompactRevision: want.CompactRevision,
	})
	if err != nil || got.Hash != want.Hash {
		p.Errorf("revision %d is restored with the hash %08x, error %v, but the cluster had %08x", revision, got.Hash, err, want.Hash)
	}
}

func TestAClusterIsRestoredAsItWasBeforeSomebodyDeletedAPrefix(t *testing.T) {
	t.Parallel()
	for _, minor := range []string{"3.5", "3.6", "3.7"} {
		t.Run("etcd "+minor, func(t *testing.T) {
			identity, err := age.GenerateX25519Identity()
			if err != nil {
				t.Fatal(err)
			}
			p := newPointBench(t, minor, identity)
			lease, err := p.kv.Grant(t.Context(), 600)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.kv.Put(t.Context(), "leased", "value", clientv3.WithLease(lease.ID)); err != nil {
				t.Fatal(err)
			}
			revision := p.write("shop", 40)
			want := p.hash(revision)
			second := time.Now().Truncate(time.Second).Add(2 * time.Second) // the times of an EtcdRestore have whole seconds
			kubetest.Eventually(t, "a second without writes", func(context.Context) error {
				if time.Now().Before(second.Add(time.Second)) {
					return errors.New("not yet")
				}
				return nil
			})
			if _, err := p.kv.Delete(t.Context(), "shop/", clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
			last := p.write("after", 5)

			byRevision := p.to("by-revision", v1beta2.SnapshotSelector{Revision: revision})
			byTime := p.to("by-time", v1beta2.SnapshotSelector{Time: &metav1.Time{Time: second}})
			for _, r := range []*v1beta2.EtcdRestore{byRevision, byTime} {
				file := p.restored(r, []byte(identity.String()))
				point := r.Status.PointInTime
				if point == nil || point.Revision != revision || r.Status.Snapshot.Revision != revision || point.Timeline != 1 || point.Segments == 0 || point.UnknownLeases != 0 {
					t.Errorf("%s restores revision %d from %+v, want %d", r.Name, r.Status.Snapshot.Revision, point, revision)
				}
				p.compare(file, want, revision)
			}
			if byTime.Status.PointInTime.ResolutionMilliseconds == 0 {
				t.Error("the restore to a time reports no resolution")
			}
			if !strings.HasPrefix(byTime.Status.Source.Key, "pit/"+snapshot.SafetyFolder+"/") || !strings.HasSuffix(byTime.Status.Source.Key, ".db.zst.age") {
				t.Errorf("the snapshot is %s, want an encrypted one below pit/%s", byTime.Status.Source.Key, snapshot.SafetyFolder)
			}
			p.serves(byRevision, minor, []byte(identity.String()))
			newest := p.to("newest", v1beta2.SnapshotSelector{Revision: last})
			p.compare(p.restored(newest, []byte(identity.String())), p.hash(last), last)
		})
	}
}

// serves starts a real member on the restored snapshot, as the seed does, and reads the keys.
func (p *pointBench) serves(r *v1beta2.EtcdRestore, minor string, identity []byte) {
	p.Helper()
	const token, raised = "restored", 1_000_000
	peer, dir := servers.PeerURL(p.T), filepath.Join(p.TempDir(), "data")
	err := dbfile.Restore(p.Context(), dbfile.Options{
		SnapshotPath: p.restored(r, identity), DataDir: dir, Name: "m0", PeerURLs: []string{peer}, InitialCluster: "m0=" + peer, Token: token,
		RevisionBump: raised, MarkCompacted: true,
	})
	if err != nil {
		p.Fatal(err)
	}
	pairs, revision := servers.EtcdFromDataDir(p.T, minor, dir, "m0", peer, token).All(p.T)
	if len(pairs) != 71 || pairs["shop/39"] != "value of shop" || pairs["after/0"] != "" || revision < raised+r.Status.Snapshot.Revision {
		p.Errorf("the restored member has %d keys at revision %d, shop/39 is %q", len(pairs), revision, pairs["shop/39"])
	}
}

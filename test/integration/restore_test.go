package integration

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// restoreBench is a test bench: a namespace with a running restore-operator, an S3 server with a bucket, and its Secret.
// The test acts as cluster-operator.
type restoreBench struct {
	*testing.T
	namespace string
	server    *servers.S3Server
	bucket    connect.Access
	spool     string
	stop      func()
	// allowed is what the operator's own identity may be used for.
	allowed grant.List
}

func newRestoreBench(t *testing.T) *restoreBench { return newRestoreBenchWith(t, grant.Everything()) }

// newRestoreBenchWith lets the operator use its own identity as the list says.
func newRestoreBenchWith(t *testing.T, allowed grant.List) *restoreBench {
	b := &restoreBench{T: t, namespace: kubetest.Namespace(t), server: servers.S3(t), spool: t.TempDir(), allowed: allowed}
	b.server.CreateBucket(t, "backups")
	b.bucket = s3Location(b.server, "backups")
	kubetest.Create(t, b.secret("aws"))
	b.start()
	return b
}

func (b *restoreBench) start() { b.stop = kubetest.RunManager(b, b.namespace, b.setUp) }

func (b *restoreBench) setUp(_ context.Context, mgr manager.Manager) error {
	prove, err := restore.InSpool(b.spool)
	if err != nil {
		return err
	}
	return restore.Setup(mgr, restore.Options{Prove: prove, Save: restore.SaveInSpool(b.spool, nil), Sign: source.Sign, MaxProofs: 2, OwnIdentity: b.allowed, AnyMember: true, Metrics: prometheus.NewRegistry()})
}

func (b *restoreBench) secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Data: b.bucket.Data}
}

// put creates an object and returns its path.
func (b *restoreBench) put(key string, content []byte) string {
	b.Helper()
	if err := open(b.T, b.bucket).Put(b.Context(), key, bytes.NewReader(content)); err != nil {
		b.Fatal(err)
	}
	return "backups/" + key
}

// manifestOf returns the manifest that backup-operator would write for the content of etcdctlSnapshot.
func manifestOf(content []byte) snapshot.Manifest {
	sum := sha256.Sum256(content)
	return snapshot.Manifest{
		FormatVersion: snapshot.FormatVersion, Cluster: snapshot.Cluster{Name: "example", ID: "00000000000000aa"},
		EtcdVersion: "3.6.16", StorageVersion: "3.6.0", Revision: 21, Keys: 20,
		Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// putManifest stores m for the object of a path, and returns the path.
func (b *restoreBench) putManifest(path string, m snapshot.Manifest) string {
	b.Helper()
	text, err := m.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.put(snapshot.ManifestKey(strings.TrimPrefix(path, "backups/")), text)
	return path
}

func (b *restoreBench) cluster(name, version string) *v1beta2.EtcdCluster {
	b.Helper()
	cluster := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec:       v1beta2.EtcdClusterSpec{Size: 3, Version: version},
	}
	kubetest.Create(b, cluster)
	return cluster
}

// restore returns an EtcdRestore of an object in the bench's bucket.
func (b *restoreBench) restore(name, path string) *v1beta2.EtcdRestore {
	return &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster:       v1beta2.ClusterReference{Name: "example"},
			BackupStorageType: v1beta2.StorageS3,
			Storage: v1beta2.Storage{S3: &v1beta2.S3Source{
				Path: path, AWSSecret: "aws", Endpoint: b.server.Endpoint, ForcePathStyle: true,
			}},
		},
	}
}

// await waits until Ready has a reason. Instead of Verified it accepts Queued: another restore of the cluster may be first.
func (b *restoreBench) await(r *v1beta2.EtcdRestore, reason string) {
	b.Helper()
	kubetest.Await(b, r, "become "+reason, func(r *v1beta2.EtcdRestore) bool {
		ready := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionReady)
		queued := reason == v1beta2.ReasonVerified && ready != nil && ready.Reason == v1beta2.ReasonQueued
		return ready != nil && ready.Reason == reason || queued
	})
}

func restoreConditions(r *v1beta2.EtcdRestore) []metav1.Condition { return r.Status.Conditions }

// report writes the cluster's status as cluster-operator would.
func (b *restoreBench) report(cluster *v1beta2.EtcdCluster, r *v1beta2.EtcdRestore, step v1beta2.RestoreStep) {
	b.Helper()
	cluster.Status.Restore = &v1beta2.ClusterRestoreStatus{
		Name: r.Name, UID: r.UID, Step: step, Message: "at " + string(step), Incarnation: 2,
		ClusterIDBefore: "00000000000000aa", ClusterID: "00000000000000bb", Revision: 1000000042,
	}
	if err := kubetest.Client(b).Status().Update(b.Context(), cluster); err != nil {
		b.Fatal(err)
	}
}

// etcdctlSnapshot returns a snapshot that etcdctl saved of a cluster with 20 keys.
func etcdctlSnapshot(t *testing.T, minor string) []byte {
	t.Helper()
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: minor})
	for i := range 20 {
		etcdctl(t, minor, cluster, "put", fmt.Sprintf("key-%02d", i), strings.Repeat("value", i))
	}
	if minor != "3.4" && minor != "3.5" { // until then the database has the format of 3.5
		kubetest.Eventually(t, "the database has its storage version", func(context.Context) error {
			status := etcdctl(t, minor, cluster, "endpoint", "status", "--write-out=json")
			if !strings.Contains(status, `"storageVersion":"`+minor) {
				return fmt.Errorf("the status is %s", status)
			}
			return nil
		})
	}
	return saveByEtcdctl(t, minor, cluster)
}

func saveByEtcdctl(t *testing.T, minor string, cluster *servers.EtcdCluster) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	etcdctl(t, minor, cluster, "snapshot", "save", path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func etcdctl(t *testing.T, minor string, cluster *servers.EtcdCluster, args ...string) string {
	t.Helper()
	args = append([]string{"--endpoints=" + cluster.Members[0].ClientURL}, args...)
	out, err := exec.CommandContext(t.Context(), servers.EtcdctlProgram(t, minor), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("etcdctl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestRestoreVerifiesTheSnapshotAndFollowsTheCluster(t *testing.T) {
	content := etcdctlSnapshot(t, "3.6")
	b := newRestoreBench(t)
	cluster := b.cluster("example", "3.6.16")
	good := b.put("good.db", content)

	t.Run("verifies a snapshot of etcdctl, and is Complete only after the cluster is Complete", func(t *testing.T) {
		r := b.restore("good", good)
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonVerified)
		if s := r.Status.Snapshot; s.Path != good || s.Revision != 21 || s.Keys != 20 || s.Size != int64(len(content)) || s.StorageVersion != "3.6.0" {
			t.Errorf("the status reports the wrong snapshot: %+v", s)
		}
		want := v1beta2.RestoreSource{StorageType: "S3", Bucket: "backups", Key: "good.db", Endpoint: b.server.Endpoint, ForcePathStyle: true, Secret: "aws"}
		if *r.Status.Source != want {
			t.Errorf("the status reports the wrong source: %+v", r.Status.Source)
		}
		for _, step := range []v1beta2.RestoreStep{v1beta2.RestoreSeeding, v1beta2.RestoreSwitching, v1beta2.RestoreGrowing} {
			b.report(cluster, r, step)
			b.await(r, string(step))
			if r.Status.Succeeded || meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionComplete) {
				t.Fatalf("the restore reports success at the step %s, before it is complete:\n%s", step, kubetest.YAML(r))
			}
		}
		b.report(cluster, r, v1beta2.RestoreComplete)
		b.await(r, v1beta2.ReasonComplete)
		if !r.Status.Succeeded || r.Status.CompletionTime == nil || r.Status.ClusterID != "00000000000000bb" {
			t.Errorf("the status does not report the complete restore:\n%s", kubetest.YAML(r))
		}
		kubetest.MustKubectl(t, "", "-n", b.namespace, "wait", "--for=condition=Complete", "etcdrestore/good", "--timeout=10s")
	})

	t.Run("verifies snapshots of other tools, which have no manifest", func(t *testing.T) {
		var zipped bytes.Buffer
		writer := gzip.NewWriter(&zipped)
		_, err := writer.Write(content)
		if err := errors.Join(err, writer.Close()); err != nil {
			t.Fatal(err)
		}
		for name, path := range map[string]string{
			"archived-once":       b.put("etcd-cluster.backup", content),
			"archived-periodic":   b.put("etcd.backup_v21_2026-01-02-03:04:05", content),
			"archived-sidecar":    b.put("v1/default/example/3.1.8_0000000000000015_etcd.backup", content),
			"etcd-backup-restore": b.put("v2/Full-00000000-00000021-1767323045.gz", zipped.Bytes()),
		} {
			r := b.restore(name, path)
			kubetest.Create(t, r)
			b.await(r, v1beta2.ReasonVerified)
			if s := r.Status.Snapshot; s.Path != path || s.Revision != 21 || s.Keys != 20 || s.ClusterID != "" {
				t.Errorf("the status reports the wrong snapshot for %s: %+v", path, s)
			}
		}
	})

	t.Run("reports the contents of the manifest", func(t *testing.T) {
		r := b.restore("with-manifest", b.putManifest(b.put("with-manifest.db", content), manifestOf(content)))
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonVerified)
		if s := r.Status.Snapshot; s.EtcdVersion != "3.6.16" || s.ClusterID != "00000000000000aa" || s.CreatedAt != "2026-01-02T03:04:05Z" {
			t.Errorf("the status does not report the contents of the manifest: %+v", s)
		}
	})

	t.Run("fails permanently if the seed fails", func(t *testing.T) {
		r := b.restore("seed-failed", good)
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonVerified)
		b.report(cluster, r, v1beta2.RestoreFailed)
		b.await(r, v1beta2.ReasonSeedFailed)
		b.report(cluster, r, v1beta2.RestoreComplete)
		b.stop()
		b.start()
		again := b.restore("after", good)
		kubetest.Create(t, again)
		b.await(again, v1beta2.ReasonVerified)
		b.await(r, v1beta2.ReasonSeedFailed)
	})

	t.Run("leaves no files in its spool", func(t *testing.T) {
		kubetest.Eventually(t, "the spool is empty", func(context.Context) error {
			entries, err := filepath.Glob(filepath.Join(b.spool, "*", "*"))
			if err == nil && len(entries) > 0 {
				err = fmt.Errorf("the spool contains %q", entries)
			}
			return err
		})
	})

	t.Run("waits for a missing cluster and continues when it exists", func(t *testing.T) {
		r := b.restore("early", good)
		r.Spec.EtcdCluster.Name = "later"
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonWaitingForCluster)
		later := b.cluster("later", "3.6.16")
		b.await(r, v1beta2.ReasonVerified)
		b.report(later, r, v1beta2.RestoreComplete)
		b.await(r, v1beta2.ReasonComplete)
	})

	t.Run("waits for the first snapshot of an EtcdBackup and restores it", func(t *testing.T) {
		r := b.restore("of-backup", "")
		r.Spec.BackupStorageType, r.Spec.Storage, r.Spec.EtcdBackup = "", v1beta2.Storage{}, &v1beta2.BackupReference{Name: "nightly"}
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonBackupNotFound)
		backup := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "nightly"}}
		backup.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "example"}
		backup.Spec.StorageType, backup.Spec.Storage = v1beta2.StorageS3, b.restore("", "backups/folder").Spec.Storage
		kubetest.Create(t, backup)
		b.await(r, v1beta2.ReasonPending)
		backup.Status.Snapshot = &v1beta2.Snapshot{Path: good, SHA256: "-"}
		if err := kubetest.Client(t).Status().Update(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		b.await(r, v1beta2.ReasonVerified)
		if r.Status.Source.Key != "good.db" {
			t.Errorf("the status reports the wrong source: %+v", r.Status.Source)
		}
	})

	t.Run("selects the newest snapshot of a folder before a time, and reports the selection", func(t *testing.T) {
		for hour, id := range map[int]string{1: "00000000000000aa", 2: "00000000000000aa", 3: "00000000000000bb"} {
			m := manifestOf(content)
			m.Cluster.ID, m.CreatedAt = id, time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC)
			m.CapturedAt = m.CreatedAt
			b.putManifest(b.put(fmt.Sprintf("series/%d.db", hour), content), m)
		}
		b.put("series/9-uncommitted.db", content)
		r := b.restore("selected", "backups/series")
		r.Spec.Select = &v1beta2.SnapshotSelector{Before: &metav1.Time{Time: time.Date(2026, 1, 2, 2, 30, 0, 0, time.UTC)}}
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonVerified)
		verified := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionVerified)
		if r.Status.Source.Key != "series/2.db" || r.Status.Snapshot.ClusterID != "00000000000000aa" || !strings.Contains(verified.Message, "the newest of 2 snapshots that fit, of 3") {
			t.Errorf("the status does not report the newest snapshot before the time:\n%s", kubetest.YAML(r))
		}
	})

	t.Run("is deleted after its TTL only if it failed in a dry run", func(t *testing.T) {
		cluster := b.cluster("formed", "3.6.16")
		cluster.Status.ClusterID = "00000000000000aa"
		if err := kubetest.Client(t).Status().Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		ttl := int32(1)
		failing := func(name string, dryRun bool) *v1beta2.EtcdRestore {
			r := b.restore(name, "backups/absent.db")
			r.Spec.EtcdCluster.Name, r.Spec.TTLSecondsAfterFinished, r.Spec.DryRun = "formed", &ttl, dryRun
			kubetest.Create(t, r)
			return r
		}
		kept := failing("kept", false)
		b.await(kept, v1beta2.ReasonObjectNotFound)
		kubetest.AwaitGone(t, failing("short-lived", true)) // its TTL begins after that of the one that is kept
		if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil || !kept.DeletionTimestamp.IsZero() {
			t.Errorf("GitOps would create the failed restore again, which would replace the data of the cluster later: %v", err)
		}
	})

	t.Run("verifies a snapshot in GCS", func(t *testing.T) {
		gcs := servers.GCS(t)
		gcs.CreateBucket(t, "backups")
		if err := open(t, gcsLocation(gcs, "backups")).Put(t.Context(), "good.db", bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		r := b.restore("of-gcs", "")
		r.Spec.BackupStorageType = v1beta2.StorageGCS
		r.Spec.Storage = v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: good, Endpoint: "http://" + gcs.Host}}
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonVerified)
	})
}

// Defect 12 of coreos/etcd-operator: it did not verify the snapshot before a restore, which first deleted the cluster.
func TestRestoreOfAnInvalidSnapshotFailsBeforeTheClusterChanges(t *testing.T) {
	t.Parallel()
	content := etcdctlSnapshot(t, "3.6")
	b := newRestoreBench(t)
	cluster := b.cluster("example", "3.6.16")
	b.cluster("old", "3.5.35")
	small := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "small"}, Spec: v1beta2.EtcdClusterSpec{Size: 1, Version: "3.6.16"}}
	limit := resource.MustParse("1Ki")
	small.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}
	kubetest.Create(t, small)
	for _, name := range []string{"one", "another"} {
		m := manifestOf(content)
		m.Cluster.Name = name
		b.putManifest(b.put("two/"+name+".db", content), m)
	}
	flipped := bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	saved := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "saved"}}
	saved.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "example"}
	saved.Spec.StorageType, saved.Spec.Storage = v1beta2.StorageS3, b.restore("", "backups/replaced.db").Spec.Storage
	kubetest.Create(t, saved)
	saved.Status.Snapshot = &v1beta2.Snapshot{Path: b.put("replaced.db", content), SHA256: strings.Repeat("0", 64)}
	if err := kubetest.Client(t).Status().Update(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	claimed := func(key string, change func(*snapshot.Manifest)) string {
		m := manifestOf(content)
		change(&m)
		return b.putManifest(b.put(key, content), m)
	}

	for name, test := range map[string]struct {
		path   string
		change func(*v1beta2.EtcdRestore)
		reason string
	}{
		"flipped-bit":    {b.put("flipped.db", flipped), nil, v1beta2.ReasonSnapshotCorrupt},
		"truncated":      {b.put("truncated.db", content[:len(content)-4096]), nil, v1beta2.ReasonSnapshotCorrupt},
		"no-trailer":     {b.put("no-trailer.db", content[:len(content)-32]), nil, v1beta2.ReasonSnapshotCorrupt},
		"empty":          {b.put("empty.db", nil), nil, v1beta2.ReasonSnapshotCorrupt},
		"no-snapshot":    {b.put("text.db", []byte("hello")), nil, v1beta2.ReasonSnapshotCorrupt},
		"no-object":      {"backups/absent.db", nil, v1beta2.ReasonObjectNotFound},
		"other-sum":      {claimed("sum.db", func(m *snapshot.Manifest) { m.SHA256 = strings.Repeat("00", 32) }), nil, v1beta2.ReasonSnapshotCorrupt},
		"other-size":     {claimed("size.db", func(m *snapshot.Manifest) { m.Size += 512 }), nil, v1beta2.ReasonSnapshotCorrupt},
		"other-keys":     {claimed("keys.db", func(m *snapshot.Manifest) { m.Keys-- }), nil, v1beta2.ReasonSnapshotCorrupt},
		"other-revision": {claimed("revision.db", func(m *snapshot.Manifest) { m.Revision++ }), nil, v1beta2.ReasonSnapshotCorrupt},
		"newer-format":   {claimed("format.db", func(m *snapshot.Manifest) { m.FormatVersion++ }), nil, v1beta2.ReasonSnapshotTooNew},
		"replaced": {"", func(r *v1beta2.EtcdRestore) {
			r.Spec.BackupStorageType, r.Spec.Storage, r.Spec.EtcdBackup = "", v1beta2.Storage{}, &v1beta2.BackupReference{Name: "saved"}
		}, v1beta2.ReasonSnapshotChanged},
		"small-volumes": {b.put("large.db", content), func(r *v1beta2.EtcdRestore) { r.Spec.EtcdCluster.Name = "small" }, v1beta2.ReasonVolumeTooSmall},
		"two-clusters":  {"backups/two", func(r *v1beta2.EtcdRestore) { r.Spec.Select = &v1beta2.SnapshotSelector{} }, v1beta2.ReasonSnapshotAmbiguous},
		"nothing-in-time": {"backups/two/", func(r *v1beta2.EtcdRestore) {
			r.Spec.Select = &v1beta2.SnapshotSelector{Before: &metav1.Time{Time: time.Unix(0, 0)}}
		}, v1beta2.ReasonObjectNotFound},
		"no-key":        {"backups", nil, v1beta2.ReasonInvalidSpec},
		"older-cluster": {b.put("good.db", content), func(r *v1beta2.EtcdRestore) { r.Spec.EtcdCluster.Name = "old" }, v1beta2.ReasonSnapshotTooNew},
		"other-cloud": {"", func(r *v1beta2.EtcdRestore) {
			r.Spec.BackupStorageType, r.Spec.Storage = v1beta2.StorageOSS, v1beta2.Storage{OSS: &v1beta2.OSSSource{Path: "bucket/key"}}
		}, v1beta2.ReasonStorageNotSupported},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.restore(name, test.path)
			if test.change != nil {
				test.change(r)
			}
			kubetest.Create(t, r)
			kubetest.AwaitCondition(t, r, restoreConditions, v1beta2.ConditionFailed, metav1.ConditionTrue, test.reason)
			if meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionVerified) || r.Status.Snapshot != nil || r.Status.Succeeded || r.Status.Reason == "" {
				t.Errorf("the status of the failed restore reports a snapshot that cluster-operator would restore:\n%s", kubetest.YAML(r))
			}
		})
	}
	t.Run("no failed restore changes the cluster", func(t *testing.T) {
		var now v1beta2.EtcdCluster
		if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(cluster), &now); err != nil {
			t.Fatal(err)
		}
		if now.ResourceVersion != cluster.ResourceVersion {
			t.Errorf("a failed restore changed the cluster:\n%s", kubetest.YAML(&now))
		}
	})
}

// Defect 19 of coreos/etcd-operator: it never retried a restore.
func TestRestoreRetriesTemporaryFailures(t *testing.T) {
	t.Parallel()
	content := etcdctlSnapshot(t, "3.6")
	b := newRestoreBench(t)
	b.cluster("example", "3.6.16")
	good := b.put("good.db", content)

	for name, test := range map[string]struct {
		change func(*v1beta2.EtcdRestore)
		reason string
		repair func(*testing.T)
	}{
		"secret-missing": {
			func(r *v1beta2.EtcdRestore) { r.Spec.S3.AWSSecret = "later" }, v1beta2.ReasonSecretMissing,
			func(t *testing.T) { kubetest.Create(t, b.secret("later")) },
		},
		"secret-wrong": {
			func(r *v1beta2.EtcdRestore) {
				wrong := b.secret("wrong")
				wrong.Data = map[string][]byte{"access-key-id": []byte("nobody"), "secret-access-key": []byte("not-the-secret")}
				kubetest.Create(t, wrong)
				r.Spec.S3.AWSSecret = "wrong"
			}, v1beta2.ReasonAccessDenied,
			func(t *testing.T) {
				if err := kubetest.Client(t).Update(t.Context(), b.secret("wrong")); err != nil {
					t.Fatal(err)
				}
			},
		},
		"bucket-missing": {
			func(r *v1beta2.EtcdRestore) { r.Spec.S3.Path = "later/good.db" }, v1beta2.ReasonBucketNotFound,
			func(t *testing.T) {
				b.server.CreateBucket(t, "later")
				if err := open(t, s3Location(b.server, "later")).Put(t.Context(), "good.db", bytes.NewReader(content)); err != nil {
					t.Fatal(err)
				}
			},
		},
		"store-unreachable": {
			func(r *v1beta2.EtcdRestore) { b.server.Stop() }, v1beta2.ReasonStoreUnreachable,
			func(*testing.T) { b.server.Start() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.restore(name, good)
			test.change(r)
			kubetest.Create(t, r)
			b.await(r, test.reason)
			if r.Status.CompletionTime != nil || r.Status.Reason == "" || strings.Contains(kubetest.YAML(r), "not-the-secret") {
				t.Errorf("the status must report a temporary failure without credentials:\n%s", kubetest.YAML(r))
			}
			test.repair(t)
			b.await(r, v1beta2.ReasonVerified)
			if r.Status.Attempts < 2 {
				t.Errorf("the status reports %d attempts, expected at least 2", r.Status.Attempts)
			}
		})
	}
}

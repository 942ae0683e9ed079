package e2e

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// saved creates the cluster three with 100 keys with the prefix "key", and a verified snapshot. It returns the path of
// the snapshot.
func (n *namespaced) saved() (cluster *v1beta2.EtcdCluster, path string) {
	n.Helper()
	n.applyFile("examples/secret-s3.yaml")
	n.apply(gcsSecret)
	n.apply(three)
	cluster = n.ready("three")
	n.put(n.etcd("three", nil), "key", 100)
	path = stack.Bucket + "/" + n.name + "/saved.db"
	n.apply(s3Backup("saved", ofCluster("three"), path))
	becomes(n, &v1beta2.EtcdBackup{}, "saved", v1beta2.ConditionComplete)
	return cluster, path
}

func TestInPlaceRestoreBringsBackExactlyTheSnapshot(t *testing.T) {
	t.Parallel()
	n := begin(t)
	before, path := n.saved()
	etcd := n.etcd("three", nil)
	n.put(etcd, "later", 20)
	var revision int64
	n.eventuallyQuiet(func(ctx context.Context) error {
		response, err := etcd.Delete(ctx, "key-1")
		if err == nil {
			revision = response.Header.Revision
		}
		return err
	})
	// A finalizer can keep a Pod long after its containers ended. The switch to the new incarnation must not wait for it.
	held := slices.Min(slices.Collect(maps.Keys(n.pods("three"))))
	n.kubectl("patch", "pod", held, "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/held"]}}`)
	client := n.traffic("three", nil)
	n.apply(s3Restore("back", "three", path), s3Restore("second", "three", path))
	says(n, &v1beta2.EtcdRestore{}, "second", v1beta2.ConditionReady, v1beta2.ReasonQueued, "back")
	n.kubectl("delete", "etcdrestore", "second")
	says(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionRestoring, v1beta2.ReasonGrowing)
	n.eventually("the old Pod is deleted, and its finalizer keeps it", func(context.Context) error {
		if pod, there := n.pods("three")[held]; !there || pod.DeletionTimestamp == nil {
			return fmt.Errorf("pod %s: %+v", held, pod.ObjectMeta)
		}
		return nil
	})
	n.kubectl("patch", "pod", held, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	restore := becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	after := n.ready("three")
	client.logOutage("an in-place restore", 5*time.Second)

	if !restore.Status.Succeeded || restore.Status.Reason != "" || restore.Status.ClusterIDBefore != before.Status.ClusterID || restore.Status.ClusterID != after.Status.ClusterID ||
		restore.Status.Percent != 100 || restore.Status.RestoredRevision <= revision {
		t.Errorf("the status does not report a complete restore from cluster %s to %s with a revision above %d: %+v", before.Status.ClusterID, after.Status.ClusterID, revision, restore.Status)
	}
	if after.Status.ClusterID == before.Status.ClusterID || after.Status.Incarnation != 2 || len(after.Status.Members.Ready) != 3 {
		t.Errorf("the status does not report a new cluster ID, incarnation 2 and three ready members: %+v", after.Status)
	}
	etcd = n.etcd("three", nil)
	n.has(etcd, "key", 100)
	n.has(etcd, "later", 0)
	n.eventuallyQuiet(func(ctx context.Context) error {
		response, err := etcd.Get(ctx, "key-0")
		if err == nil && response.Header.Revision <= revision {
			t.Errorf("the revision after the restore is %d, expected more than %d: watchers would miss changes", response.Header.Revision, revision)
		}
		return err
	})
	// A finished restore that is applied again changes nothing.
	n.apply(s3Restore("back", "three", path))
	n.put(etcd, "after", 5)
	n.has(n.etcd("three", nil), "after", 5)
}

// logOutage ends the traffic of a client during a restore and logs the longest time without a response. It does not
// check the writes, because the restore removes those since the snapshot.
func (t *traffic) logOutage(what string, goal time.Duration) {
	t.n.Helper()
	t.stopIt()
	t.ended.Wait()
	t.n.Logf("traffic during %s: %d requests, %d failed, longest gap %s (goal %s)", what, t.requests, len(t.failures), t.longest.Round(time.Millisecond), goal)
	if t.longest > 6*goal { // tolerate a slow machine
		t.n.Errorf("the client got no response for %s, the limit is %s", t.longest, 6*goal)
	}
}

func TestNewClusterWithAnotherNamespaceSizeAndStorageStartsFromASnapshot(t *testing.T) {
	t.Parallel()
	source := begin(t)
	_, path := source.saved()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(strings.Replace(s3Restore("copy", "other", filepath.Dir(path)), "  s3:", "  select: {}\n  ttlSecondsAfterFinished: 600\n  s3:", 1))
	says(n, &v1beta2.EtcdRestore{}, "copy", v1beta2.ConditionReady, v1beta2.ReasonWaitingForCluster)
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: other}
spec: {size: 1, version: "3.6.16", pod: {emptyDir: {}}}
`)
	restore := becomes(n, &v1beta2.EtcdRestore{}, "copy", v1beta2.ConditionComplete)
	if restore.Status.ClusterIDBefore != "" {
		t.Errorf("cluster %s existed before the restore: the operator started it empty", restore.Status.ClusterIDBefore)
	}
	n.ready("other")
	n.has(n.etcd("other", nil), "key", 100)
}

// If both are in one file, the order in which the operators see them is undefined.
func TestClusterAppliedBeforeItsRestoreIsNeverServedEmpty(t *testing.T) {
	t.Parallel()
	n := begin(t)
	_, path := n.saved()
	n.apply(strings.NewReplacer("{name: three}", "{name: copy}", "size: 3", "size: 1").Replace(three) + "---" + s3Restore("copy", "copy", path))
	restore := becomes(n, &v1beta2.EtcdRestore{}, "copy", v1beta2.ConditionComplete)
	if restore.Status.ClusterIDBefore != "" {
		t.Errorf("cluster %s existed before the restore: the operator started it empty", restore.Status.ClusterIDBefore)
	}
	n.ready("copy")
	n.has(n.etcd("copy", nil), "key", 100)
}

func TestRestoreBringsBackAClusterThatLostAllVolumes(t *testing.T) {
	t.Parallel()
	n := begin(t)
	_, path := n.saved()
	n.kubectl("delete", "pvc", "--all", "--wait=false")
	n.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")
	says(n, &v1beta2.EtcdCluster{}, "three", v1beta2.ConditionReady, v1beta2.ReasonQuorumLost, "EtcdRestore")
	n.statusNames("three", "all-volumes-lost", "Quorum is lost: 0 of", "Continue from the newest snapshot with an EtcdRestore")
	n.apply(s3Restore("back", "three", path))
	becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	n.ready("three")
	n.has(n.etcd("three", nil), "key", 100)
}

// The archived operator deleted the cluster and then reported "succeeded" for a restore that had not happened (defect 1).
func TestFailedRestoreReportsTheCauseAndChangesNothing(t *testing.T) {
	t.Parallel()
	n := begin(t)
	before, _ := n.saved()
	pods := n.pods("three")
	snapshot := n.object(n.name + "/saved.db")
	at := func(name string) string { return stack.Bucket + "/" + n.name + "/" + name }
	reasons := n.damaged(snapshot, at)
	for name, reason := range reasons {
		restore := says(n, &v1beta2.EtcdRestore{}, name, v1beta2.ConditionFailed, reason)
		if restore.Status.Succeeded || restore.Status.Reason == "" {
			t.Errorf("restore %s must have failed with a reason, but reports succeeded %v, reason %q", name, restore.Status.Succeeded, restore.Status.Reason)
		}
	}
	after := n.ready("three")
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" || after.Status.Incarnation != 1 {
		t.Errorf("the failed restores changed the members or the incarnation %d (-before +after):\n%s", after.Status.Incarnation, diff)
	}
	for name, pod := range n.pods("three") {
		if pods[name].UID != pod.UID {
			t.Errorf("Pod %s was recreated", name)
		}
	}
	n.undoneIfDeleted("three", at("saved.db"))
	n.has(n.etcd("three", nil), "key", 100)
	n.operatorsNeverRestarted()
}

// damaged applies restores of invalid snapshots and returns the expected reason of each. The snapshots have a flipped bit
// at ten positions, are truncated at ten positions, have a wrong manifest, are a text file, or do not exist.
func (n *namespaced) damaged(snapshot []byte, at func(string) string) (reasons map[string]string) {
	n.Helper()
	objects := map[string][]byte{"text": []byte("this is no snapshot"), "manifest": snapshot}
	for i := range 10 {
		place := i * (len(snapshot) - 1) / 9 // from the first byte to the last, which is the checksum's
		flipped := slices.Clone(snapshot)
		flipped[place] ^= 1 << (i % 8)
		objects[fmt.Sprintf("flipped-%d", i)], objects[fmt.Sprintf("cut-%d", i)] = flipped, snapshot[:place]
	}
	manifest := string(n.object(n.name + "/saved.db.json"))
	n.store(n.name+"/manifest.db.json", []byte(strings.Replace(manifest, `"keys": `, `"keys": 1`, 1)))
	reasons = map[string]string{"absent": v1beta2.ReasonObjectNotFound}
	manifests := s3Restore("absent", "three", at("absent.db"))
	for name, content := range objects {
		n.store(n.name+"/"+name+".db", content)
		reasons[name] = v1beta2.ReasonSnapshotCorrupt
		manifests += "---" + s3Restore(name, "three", at(name+".db"))
	}
	n.apply(manifests)
	return reasons
}

// undoneIfDeleted starts a restore, makes the store unreadable for the seed, kills the seed and deletes the EtcdRestore.
// The operators must undo the restore and keep the cluster unchanged.
func (n *namespaced) undoneIfDeleted(cluster, path string) {
	n.Helper()
	pause := func(paused bool) {
		n.kubectl("patch", "etcdcluster", cluster, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"paused":%v}}`, paused))
	}
	before := n.ready(cluster)
	pods := n.pods(cluster)
	pause(true)
	n.apply(s3Restore("midway", cluster, path))
	says(n, &v1beta2.EtcdRestore{}, "midway", v1beta2.ConditionReady, v1beta2.ReasonVerified, "paused")
	n.kubectl("patch", "secret", "s3-credentials", "--type=merge", "-p", `{"stringData":{"secret-access-key":"not any more"}}`)
	pause(false)
	says(n, &v1beta2.EtcdRestore{}, "midway", v1beta2.ConditionRestoring, v1beta2.ReasonSeeding)
	seed := func(not types.UID) (found *corev1.Pod) {
		n.eventually("the seed runs and cannot read the store", func(context.Context) error {
			for name, pod := range n.pods(cluster) {
				if _, old := pods[name]; !old && pod.UID != not && len(pod.Status.InitContainerStatuses) > 0 && pod.Status.InitContainerStatuses[0].State.Running != nil {
					found = &pod
					return nil
				}
			}
			return fmt.Errorf("there is no seed that runs")
		})
		return found
	}
	first := seed("")
	n.kubectl("delete", "pod", first.Name, "--force", "--grace-period=0")
	second := seed(first.UID)
	if second.Name != first.Name {
		n.Errorf("the seed was %s and is %s", first.Name, second.Name)
	}
	n.kubectl("delete", "etcdrestore", "midway")
	var after *v1beta2.EtcdCluster
	n.eventually("the restore is undone", func(context.Context) error {
		after = n.ready(cluster)
		if after.Status.Restore == nil || after.Status.Restore.Step != v1beta2.RestoreFailed || len(n.pods(cluster)) != len(pods) {
			return fmt.Errorf("status %+v, %d Pods", after.Status.Restore, len(n.pods(cluster)))
		}
		return nil
	})
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" || after.Status.Incarnation != before.Status.Incarnation {
		n.Errorf("members changed (-before +after):\n%s", diff)
	}
	for name, pod := range n.pods(cluster) {
		if pods[name].UID != pod.UID {
			n.Errorf("Pod %s was recreated", name)
		}
	}
	n.applyFile("examples/secret-s3.yaml")
}

func TestSnapshotsFromEveryStoreAndEncodingCanBeRestored(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(gcsSecret)
	n.apply(strings.Replace(three, "size: 3", "size: 1", 1))
	n.ready("three")
	n.put(n.etcd("three", nil), "key", 100)
	pair, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	encoded := fmt.Sprintf("\n  compression: zstd\n  encryption: {age: {recipients: [%s]}}\n", pair.Recipient())
	folder := stack.Bucket + "/" + n.name
	gcs := func(path string) string {
		return fmt.Sprintf(`{path: %q, gcpSecret: gcs-credentials, endpoint: "http://gcs.object-store.svc:4443"}`, folder+path)
	}
	n.apply(s3Backup("to-s3", ofCluster("three"), folder+"/encoded.db.zst.age")+encoded, `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: to-gcs}
spec:
  etcdCluster: {name: three}
  storageType: GCS
  gcs: `+gcs("/folder/encoded.db.zst.age")+encoded)
	becomes(n, &v1beta2.EtcdBackup{}, "to-s3", v1beta2.ConditionComplete)
	becomes(n, &v1beta2.EtcdBackup{}, "to-gcs", v1beta2.ConditionComplete)
	if content := n.object(n.name + "/encoded.db.zst.age"); !strings.HasPrefix(string(content), "age-encryption.org/v1") {
		t.Errorf("the object begins with %q", content[:min(len(content), 30)])
	}
	back := func(name string) {
		n.put(n.etcd("three", nil), "later", 5)
		n.apply("apiVersion: etcd.database.coreos.com/v1beta2\nkind: EtcdRestore\nmetadata: {name: " + name + "}\nspec:\n  etcdCluster: {name: three}\n" + map[string]string{
			"from-gcs": "  select: {}\n  backupStorageType: GCS\n  gcs: " + gcs("/folder"),
			"by-name":  "  etcdBackup: {name: to-s3}",
		}[name])
	}
	// Without the identity the restore changes nothing. Once the Secret has it, the same restore continues.
	back("by-name")
	says(n, &v1beta2.EtcdRestore{}, "by-name", v1beta2.ConditionReady, v1beta2.ReasonSecretMissing, "age-identity")
	n.statusNames("three", "key-of-snapshot-missing", "age-identity", "Create or correct the Secret")
	n.has(n.etcd("three", nil), "later", 5)
	identity := fmt.Sprintf(`{"stringData":{"age-identity":%q}}`, pair)
	n.kubectl("patch", "secret", "s3-credentials", "--type=merge", "-p", identity)
	n.kubectl("patch", "secret", "gcs-credentials", "--type=merge", "-p", identity)
	for _, name := range []string{"by-name", "from-gcs"} {
		if name != "by-name" {
			back(name)
		}
		becomes(n, &v1beta2.EtcdRestore{}, name, v1beta2.ConditionComplete)
		n.has(n.etcd("three", nil), "key", 100)
		n.has(n.etcd("three", nil), "later", 0)
	}
}

func TestClustersServeWhileTheSuiteIsUninstalledAndReinstalled(t *testing.T) {
	n := begin(t)
	n.apply(three)
	n.ready("three")
	etcd := n.etcd("three", nil)
	n.put(etcd, "key", 20)
	pods := n.pods("three")

	if err := suite.Uninstall(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.put(etcd, "meanwhile", 20)
	n.kubectl("scale", "etcdcluster/three", "--replicas=5")
	n.statusNames("three", "operators-uninstalled", "The status is older than the spec", "Check that cluster-operator runs")
	if err := suite.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.eventually("the cluster is taken up again", func(ctx context.Context) error {
		var cluster v1beta2.EtcdCluster
		if err := suite.Client.Get(ctx, client.ObjectKey{Namespace: n.name, Name: "three"}, &cluster); err != nil {
			return err
		}
		if len(cluster.Status.Members.Ready) != 5 {
			return fmt.Errorf("members %v", cluster.Status.Members)
		}
		return nil
	})
	now := n.pods("three")
	for name, pod := range pods {
		if now[name].UID != pod.UID || now[name].Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("Pod %s was restarted", name)
		}
	}
	n.has(etcd, "key", 20)
	n.has(etcd, "meanwhile", 20)
	found, err := condition(t.Context(), n, &v1beta2.EtcdCluster{}, "three", v1beta2.ConditionAvailable)
	if err != nil || found.Status != metav1.ConditionTrue {
		t.Errorf("Available: %v, %v", found, err)
	}
}

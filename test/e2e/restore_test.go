package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// saved makes a cluster called three with 100 keys "key" in it and a proven snapshot, and returns the snapshot's path.
func (n *namespaced) saved() (cluster *v1beta2.EtcdCluster, path string) {
	n.Helper()
	n.applyFile("examples/secret-s3.yaml", "examples/secret-gcs.yaml")
	n.apply(three)
	cluster = n.ready("three")
	n.put(n.etcd("three", nil), "key", 100)
	path = stack.Bucket + "/" + n.name + "/saved.db"
	n.apply(s3Backup("saved", ofCluster("three"), path))
	becomes(n, &v1beta2.EtcdBackup{}, "saved", v1beta2.ConditionComplete)
	return cluster, path
}

func TestARestoreInPlaceBringsEverythingBackAndNothingElse(t *testing.T) {
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
	client := n.traffic("three", nil)
	n.apply(s3Restore("back", "three", path), s3Restore("second", "three", path))
	says(n, &v1beta2.EtcdRestore{}, "second", v1beta2.ConditionReady, v1beta2.ReasonQueued, "back")
	n.kubectl("delete", "etcdrestore", "second")
	restore := becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	after := n.ready("three")
	client.across("an in-place restore", 5*time.Second)

	if !restore.Status.Succeeded || restore.Status.Reason != "" || restore.Status.ClusterIDBefore != before.Status.ClusterID || restore.Status.ClusterID != after.Status.ClusterID ||
		restore.Status.Percent != 100 || restore.Status.RestoredRevision <= revision {
		t.Errorf("status of the restore: %+v", restore.Status)
	}
	if after.Status.ClusterID == before.Status.ClusterID || after.Status.Incarnation != 2 || len(after.Status.Members.Ready) != 3 {
		t.Errorf("status of the cluster: %+v", after.Status)
	}
	etcd = n.etcd("three", nil)
	n.has(etcd, "key", 100)
	n.has(etcd, "later", 0)
	n.eventuallyQuiet(func(ctx context.Context) error {
		response, err := etcd.Get(ctx, "key-0")
		if err == nil && response.Header.Revision <= revision {
			t.Errorf("revision %d is not ahead of %d: watchers would miss changes", response.Header.Revision, revision)
		}
		return err
	})
	// Applied again, a finished restore does nothing.
	n.apply(s3Restore("back", "three", path))
	n.put(etcd, "after", 5)
	n.has(n.etcd("three", nil), "after", 5)
}

// across ends the traffic of a client during a restore, which takes back what was written since the snapshot, and
// prints how long the client got no answer.
func (t *traffic) across(what string, goal time.Duration) {
	t.n.Helper()
	t.stopIt()
	t.ended.Wait()
	t.n.Logf("traffic during %s: %d requests, %d failed, longest gap %s (goal %s)", what, t.requests, len(t.failures), t.longest.Round(time.Millisecond), goal)
	if t.longest > 6*goal { // a machine may be slow; a client that waits for half a minute was forgotten
		t.n.Errorf("a client got no answer for %s", t.longest)
	}
}

func TestAClusterOfAnotherNamespaceSizeAndStorageBootsFromTheSnapshot(t *testing.T) {
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
		t.Errorf("cluster %s was there before it was restored: it had been started empty", restore.Status.ClusterIDBefore)
	}
	n.ready("other")
	n.has(n.etcd("other", nil), "key", 100)
}

func TestAllVolumesLostARestoreBringsTheClusterBack(t *testing.T) {
	n := begin(t)
	_, path := n.saved()
	n.kubectl("delete", "pvc", "--all", "--wait=false")
	n.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")
	says(n, &v1beta2.EtcdCluster{}, "three", v1beta2.ConditionReady, v1beta2.ReasonQuorumLost, "EtcdRestore")
	n.apply(s3Restore("back", "three", path))
	becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	n.ready("three")
	n.has(n.etcd("three", nil), "key", 100)
}

// The archived operator said "succeeded" of a restore that had not happened, after it had deleted the cluster (defect 1).
func TestARestoreThatCannotWorkSaysSoAndTouchesNothing(t *testing.T) {
	n := begin(t)
	before, _ := n.saved()
	pods := n.pods("three")
	snapshot := n.object(n.name + "/saved.db")
	flipped := append([]byte(nil), snapshot...)
	flipped[len(flipped)/2] ^= 1
	n.store(n.name+"/flipped.db", flipped)
	n.store(n.name+"/truncated.db", snapshot[:len(snapshot)-1000])
	n.store(n.name+"/text.db", []byte("this is no snapshot"))
	at := func(name string) string { return stack.Bucket + "/" + n.name + "/" + name }
	n.apply(
		s3Restore("flipped", "three", at("flipped.db")),
		s3Restore("truncated", "three", at("truncated.db")),
		s3Restore("text", "three", at("text.db")),
		s3Restore("absent", "three", at("absent.db")),
	)
	for name, reason := range map[string]string{
		"flipped": v1beta2.ReasonSnapshotCorrupt, "truncated": v1beta2.ReasonSnapshotCorrupt,
		"text": v1beta2.ReasonSnapshotCorrupt, "absent": v1beta2.ReasonObjectNotFound,
	} {
		restore := says(n, &v1beta2.EtcdRestore{}, name, v1beta2.ConditionFailed, reason)
		if restore.Status.Succeeded || restore.Status.Reason == "" {
			t.Errorf("%s: succeeded %v, reason %q", name, restore.Status.Succeeded, restore.Status.Reason)
		}
	}
	after := n.ready("three")
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" || after.Status.Incarnation != 1 {
		t.Errorf("members changed (-before +after):\n%s", diff)
	}
	for name, pod := range n.pods("three") {
		if pods[name].UID != pod.UID {
			t.Errorf("Pod %s was made again", name)
		}
	}
	n.isUndoneWhenDeletedMidway("three", at("saved.db"))
	n.has(n.etcd("three", nil), "key", 100)
	n.operatorsNeverRestarted()
}

// isUndoneWhenDeletedMidway takes a restore as far as its seed, shuts the store to the seed, kills the seed, and deletes
// the EtcdRestore: the cluster is as it was.
func (n *namespaced) isUndoneWhenDeletedMidway(cluster, path string) {
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
			n.Errorf("Pod %s was made again", name)
		}
	}
	n.applyFile("examples/secret-s3.yaml")
}

func TestAnEtcdBackupCanBeNamedAsTheSource(t *testing.T) {
	n := begin(t)
	n.saved()
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: newest}
spec:
  etcdCluster: {name: three}
  etcdBackup: {name: saved}
`)
	becomes(n, &v1beta2.EtcdRestore{}, "newest", v1beta2.ConditionComplete)
	n.has(n.etcd("three", nil), "key", 100)
}

func TestARestoreFromGCS(t *testing.T) {
	n := begin(t)
	n.saved()
	gcs := fmt.Sprintf(`{path: "%s/%s/saved.db", gcpSecret: gcs-credentials, endpoint: "http://gcs.object-store.svc:4443"}`, stack.Bucket, n.name)
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: to-gcs}
spec: {etcdCluster: {name: three}, storageType: GCS, gcs: ` + gcs + `}
`)
	becomes(n, &v1beta2.EtcdBackup{}, "to-gcs", v1beta2.ConditionComplete)
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: from-gcs}
spec: {etcdCluster: {name: three}, backupStorageType: GCS, gcs: ` + gcs + `}
`)
	becomes(n, &v1beta2.EtcdRestore{}, "from-gcs", v1beta2.ConditionComplete)
	n.has(n.etcd("three", nil), "key", 100)
}

func TestUninstallingTheSuiteLeavesClustersServingAndInstallingTakesThemUpAgain(t *testing.T) {
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
	if err := suite.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.kubectl("scale", "etcdcluster/three", "--replicas=5")
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

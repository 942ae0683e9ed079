package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// interruptedRestore is a restore of a cluster from a store behind a gate.
type interruptedRestore struct {
	*namespaced
	gate     *gate
	path     string
	snapshot []byte
}

// The test kills the seed, the store and the operators during restores. In the end the cluster has either all data of
// the snapshot or all data from before the restore.
func TestInterruptedRestoreCompletesOrChangesNothing(t *testing.T) {
	if suite.Local == nil {
		t.Log("the Pods of another Kubernetes cannot reach the gate on this machine")
		return
	}
	n := begin(t)
	n.recreateBucketsAfterwards()
	before, path := n.saved()
	n.put(n.etcd("three", nil), "later", 20)
	address, err := suite.Address(t.Context(), "object-store", "s3", 7070)
	if err != nil {
		t.Fatal(err)
	}
	k := &interruptedRestore{namespaced: n, gate: n.gated(address), path: path, snapshot: n.object(n.name + "/saved.db")}

	first := k.streaming("gone", "")
	k.percentIncreases("gone")
	k.kubectl("delete", "pod", first.Name, "--force", "--grace-period=0")
	k.seed(first.UID)
	k.storeLosesItsData() // and the snapshot with it
	k.gate.allow(open)
	failed := says(n, &v1beta2.EtcdRestore{}, "gone", v1beta2.ConditionFailed, v1beta2.ReasonSeedFailed, "not changed")
	if failed.Status.Succeeded || failed.Status.Reason == "" {
		t.Errorf("the status does not report a failed restore with its reason: %+v", failed.Status)
	}
	after := n.ready("three")
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" || after.Status.Incarnation != 1 {
		t.Errorf("the failed restore changed the members or the incarnation %d (-before +after):\n%s", after.Status.Incarnation, diff)
	}
	n.has(n.etcd("three", nil), "key", 100)
	n.has(n.etcd("three", nil), "later", 20)

	n.store(n.name+"/saved.db", k.snapshot)
	k.streaming("back", "")
	k.killOperators()
	k.storeRestarts()
	k.waitsWhilePaused("back")
	says(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionRestoring, v1beta2.ReasonGrowing)
	k.killOperators()
	becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	n.ready("three")
	n.has(n.etcd("three", nil), "key", 100)
	n.has(n.etcd("three", nil), "later", 0)

	k.clusterIsDeleted("orphan")
}

// pause pauses or resumes the cluster.
func (k *interruptedRestore) pause(paused bool) {
	k.Helper()
	k.kubectl("patch", "etcdcluster", "three", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"paused":%v}}`, paused))
}

// streaming starts a restore whose seed has received a third of the snapshot and waits for the rest.
func (k *interruptedRestore) streaming(name string, not types.UID) *corev1.Pod {
	k.Helper()
	k.gate.allow(open)
	k.pause(true)
	k.apply(strings.Replace(s3Restore(name, "three", k.path), "http://s3.object-store.svc:7070", k.gate.url, 1))
	says(k.namespaced, &v1beta2.EtcdRestore{}, name, v1beta2.ConditionReady, v1beta2.ReasonVerified, "paused")
	k.gate.allow(int64(len(k.snapshot)) / 3)
	k.pause(false)
	return k.seed(not)
}

// seed waits for a running seed other than the given one.
func (k *interruptedRestore) seed(not types.UID) (found *corev1.Pod) {
	k.Helper()
	k.eventually("a seed is running", func(context.Context) error {
		for _, pod := range k.pods("three") {
			for _, status := range pod.Status.InitContainerStatuses {
				if status.State.Running != nil && pod.UID != not && pod.DeletionTimestamp == nil {
					found = &pod
					return nil
				}
			}
		}
		return fmt.Errorf("no seed is running")
	})
	return found
}

// percentIncreases checks that the percentage in the status increases while the seed receives the snapshot.
func (k *interruptedRestore) percentIncreases(name string) {
	k.Helper()
	percent := func(from, to int32) (seen int32) {
		k.eventually(fmt.Sprintf("the status reports more than %d %%", from), func(ctx context.Context) error {
			var restore v1beta2.EtcdRestore
			if err := suite.Client.Get(ctx, client.ObjectKey{Namespace: k.name, Name: name}, &restore); err != nil {
				return err
			}
			if seen = restore.Status.Percent; seen <= from || seen > to {
				return fmt.Errorf("the status reports %d %%", seen)
			}
			return nil
		})
		return seen
	}
	third := percent(0, 35)
	k.gate.allow(int64(len(k.snapshot)) * 3 / 4)
	percent(third, 70)
}

// storeLosesItsData deletes the store's Pod with its data and starts the store again.
func (k *interruptedRestore) storeLosesItsData() {
	k.Helper()
	if _, err := suite.Kubectl(k.Context(), "-n", "object-store", "delete", "pod", "-l", "app=s3", "--grace-period=1"); err != nil {
		k.Fatal(err)
	}
	k.gate.cut() // bytes in transit are lost as well
	if _, err := suite.StartS3(k.Context()); err != nil {
		k.Fatal(err)
	}
}

// storeRestarts restarts the store. The gate blocks it until it holds the snapshot again.
func (k *interruptedRestore) storeRestarts() {
	k.Helper()
	k.gate.allow(0) // if the seed read that the snapshot is missing, the restore would fail for good
	k.storeLosesItsData()
	k.store(k.name+"/saved.db", k.snapshot)
	k.gate.cut() // drops the responses of the empty store
}

// killOperators deletes the Pods of cluster-operator and restore-operator without a grace period.
func (k *interruptedRestore) killOperators() {
	k.Helper()
	var pods corev1.PodList
	if err := suite.Client.List(k.Context(), &pods, client.InNamespace(stack.Namespace)); err != nil {
		k.Fatal(err)
	}
	for _, pod := range pods.Items {
		if strings.Contains(pod.Name, "backup") {
			continue
		}
		if _, err := suite.Kubectl(k.Context(), "-n", stack.Namespace, "delete", "pod", pod.Name, "--force", "--grace-period=0"); err != nil {
			k.Fatal(err)
		}
	}
}

// waitsWhilePaused lets the seed finish while the cluster is paused. The old members must serve until it is resumed.
func (k *interruptedRestore) waitsWhilePaused(name string) {
	k.Helper()
	k.pause(true)
	k.gate.allow(open)
	k.eventually("the seed is ready", func(context.Context) error {
		for _, pod := range k.pods("three") {
			if statuses := pod.Status.ContainerStatuses; len(pod.Spec.InitContainers) > 0 && len(statuses) > 0 && statuses[0].Ready {
				return nil
			}
		}
		return fmt.Errorf("no seed is ready")
	})
	if now := k.cluster("three").Status; now.Incarnation != 1 || now.Restore == nil || now.Restore.Step != v1beta2.RestoreSeeding {
		k.Errorf("the paused cluster continued the restore %s: %+v", name, now)
	}
	k.has(k.etcd("three", nil), "later", 20)
	k.pause(false)
}

// clusterIsDeleted deletes the EtcdCluster during its restore. All of its objects must be deleted, and the EtcdRestore
// must report that it waits for the cluster. A new cluster with that name starts from the snapshot.
func (k *interruptedRestore) clusterIsDeleted(name string) {
	k.Helper()
	k.streaming(name, "")
	k.kubectl("delete", "etcdcluster", "three")
	k.eventually("all objects of the cluster are deleted", func(ctx context.Context) error {
		left, err := suite.Kubectl(ctx, "-n", k.name, "get", "pods,pvc,services,pdb", "-o", "name")
		if err == nil && strings.TrimSpace(left) != "" {
			err = fmt.Errorf("these objects still exist: %s", left)
		}
		return err
	})
	says(k.namespaced, &v1beta2.EtcdRestore{}, name, v1beta2.ConditionReady, v1beta2.ReasonWaitingForCluster)
	k.gate.allow(open)
	k.apply(strings.Replace(three, "size: 3", "size: 1", 1))
	becomes(k.namespaced, &v1beta2.EtcdRestore{}, name, v1beta2.ConditionComplete)
	k.has(k.etcd("three", nil), "key", 100)
	k.has(k.etcd("three", nil), "later", 0)
}

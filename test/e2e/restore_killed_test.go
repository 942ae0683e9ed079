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

// killing is a cluster that is restored from a store behind a gate.
type killing struct {
	*namespaced
	gate     *gate
	path     string
	snapshot []byte
}

// Whatever is killed while a restore is under way, in the end all of the snapshot is there, or all that was.
func TestARestoreMidwayOfWhichAllIsKilledIsWholeOrNothing(t *testing.T) {
	if suite.Local == nil {
		t.Log("Pods of another Kubernetes do not reach this machine")
		return
	}
	n := begin(t)
	n.bringStoresBack()
	before, path := n.saved()
	n.put(n.etcd("three", nil), "later", 20)
	address, err := suite.Address(t.Context(), "object-store", "s3", 7070)
	if err != nil {
		t.Fatal(err)
	}
	k := &killing{namespaced: n, gate: n.gated(address), path: path, snapshot: n.object(n.name + "/saved.db")}

	first := k.streaming("gone", "")
	k.percentRises("gone")
	k.kubectl("delete", "pod", first.Name, "--force", "--grace-period=0")
	k.seed(first.UID)
	k.storeDies() // and the snapshot with it
	k.gate.allow(open)
	failed := says(n, &v1beta2.EtcdRestore{}, "gone", v1beta2.ConditionFailed, v1beta2.ReasonSeedFailed, "not touched")
	if failed.Status.Succeeded || failed.Status.Reason == "" {
		t.Errorf("it says %+v", failed.Status)
	}
	after := n.ready("three")
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" || after.Status.Incarnation != 1 {
		t.Errorf("members changed (-before +after):\n%s", diff)
	}
	n.has(n.etcd("three", nil), "key", 100)
	n.has(n.etcd("three", nil), "later", 20)

	n.store(n.name+"/saved.db", k.snapshot)
	k.streaming("back", "")
	k.operatorsDie()
	k.storeRestarts()
	k.waitsWhilePaused("back")
	says(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionRestoring, v1beta2.ReasonGrowing)
	k.operatorsDie()
	becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	n.ready("three")
	n.has(n.etcd("three", nil), "key", 100)
	n.has(n.etcd("three", nil), "later", 0)

	k.clusterGoes("orphan")
}

// pause the cluster, or let it go on.
func (k *killing) pause(paused bool) {
	k.Helper()
	k.kubectl("patch", "etcdcluster", "three", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"paused":%v}}`, paused))
}

// streaming begins a restore whose seed has got a part of the snapshot and waits for the rest.
func (k *killing) streaming(name string, not types.UID) *corev1.Pod {
	k.Helper()
	k.gate.allow(open)
	k.pause(true)
	k.apply(strings.Replace(s3Restore(name, "three", k.path), "http://s3.object-store.svc:7070", k.gate.url, 1))
	says(k.namespaced, &v1beta2.EtcdRestore{}, name, v1beta2.ConditionReady, v1beta2.ReasonVerified, "paused")
	k.gate.allow(int64(len(k.snapshot)) / 3)
	k.pause(false)
	return k.seed(not)
}

// seed waits for a seed that runs, another than the one named.
func (k *killing) seed(not types.UID) (found *corev1.Pod) {
	k.Helper()
	k.eventually("a seed runs", func(context.Context) error {
		for _, pod := range k.pods("three") {
			for _, status := range pod.Status.InitContainerStatuses {
				if status.State.Running != nil && pod.UID != not && pod.DeletionTimestamp == nil {
					found = &pod
					return nil
				}
			}
		}
		return fmt.Errorf("there is none")
	})
	return found
}

// percentRises looks at the percents that a user sees while the seed gets more and more.
func (k *killing) percentRises(name string) {
	k.Helper()
	percent := func(from, to int32) (seen int32) {
		k.eventually(fmt.Sprintf("more than %d %% are told", from), func(ctx context.Context) error {
			var restore v1beta2.EtcdRestore
			if err := suite.Client.Get(ctx, client.ObjectKey{Namespace: k.name, Name: name}, &restore); err != nil {
				return err
			}
			if seen = restore.Status.Percent; seen <= from || seen > to {
				return fmt.Errorf("%d %% are told", seen)
			}
			return nil
		})
		return seen
	}
	third := percent(0, 35)
	k.gate.allow(int64(len(k.snapshot)) * 3 / 4)
	percent(third, 70)
}

// storeDies takes the store's Pod away, with all that it holds, and starts it again.
func (k *killing) storeDies() {
	k.Helper()
	if _, err := suite.Kubectl(k.Context(), "-n", "object-store", "delete", "pod", "-l", "app=s3", "--grace-period=1"); err != nil {
		k.Fatal(err)
	}
	k.gate.cut() // what was on its way is lost as well
	if _, err := suite.StartS3(k.Context()); err != nil {
		k.Fatal(err)
	}
}

// storeRestarts takes the store away for a moment: nobody sees it before it has the snapshot again.
func (k *killing) storeRestarts() {
	k.Helper()
	k.gate.allow(0) // or the seed is told that there is no snapshot, which is final
	k.storeDies()
	k.store(k.name+"/saved.db", k.snapshot)
	k.gate.cut() // what the empty store answered never arrives
}

// operatorsDie kills cluster-operator and restore-operator.
func (k *killing) operatorsDie() {
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

// waitsWhilePaused lets the seed end while the cluster is paused: the old members serve on until it is no more.
func (k *killing) waitsWhilePaused(name string) {
	k.Helper()
	k.pause(true)
	k.gate.allow(open)
	k.eventually("the seed serves", func(context.Context) error {
		for _, pod := range k.pods("three") {
			if statuses := pod.Status.ContainerStatuses; len(pod.Spec.InitContainers) > 0 && len(statuses) > 0 && statuses[0].Ready {
				return nil
			}
		}
		return fmt.Errorf("there is none that is ready")
	})
	if now := k.cluster("three").Status; now.Incarnation != 1 || now.Restore == nil || now.Restore.Step != v1beta2.RestoreSeeding {
		k.Errorf("paused, it went on with %s: %+v", name, now)
	}
	k.has(k.etcd("three", nil), "later", 20)
	k.pause(false)
}

// clusterGoes deletes the EtcdCluster in the midst of its restore: nothing of it stays, the EtcdRestore says what it
// waits for, and a new cluster of that name boots from the snapshot.
func (k *killing) clusterGoes(name string) {
	k.Helper()
	k.streaming(name, "")
	k.kubectl("delete", "etcdcluster", "three")
	k.eventually("all that the cluster owned is gone", func(ctx context.Context) error {
		left, err := suite.Kubectl(ctx, "-n", k.name, "get", "pods,pvc,services,pdb", "-o", "name")
		if err == nil && strings.TrimSpace(left) != "" {
			err = fmt.Errorf("there is %s", left)
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

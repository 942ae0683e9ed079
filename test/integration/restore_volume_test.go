package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// volumeBench is a namespace with both operators and Pods as processes, and a claim with the data directory of a killed member.
type volumeBench struct {
	*restoreBench
	pods    *podrunner.Runner
	claim   *corev1.PersistentVolumeClaim
	cluster *v1beta2.EtcdCluster
	want    map[string]string
}

func newVolumeBench(t *testing.T, minor string) *volumeBench {
	b := &volumeBench{restoreBench: newRestoreBench(t)}
	createStorageClass(t)
	b.pods = podrunner.Start(t, b.namespace)
	b.cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "example"}, Spec: v1beta2.EtcdClusterSpec{Size: 1, Version: "3.6.16"}}
	b.claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "data-etcd-0"}}
	b.claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	b.claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	kubetest.Create(t, b.claim)
	member := servers.Etcd(t, servers.EtcdOptions{Minor: minor, Args: logOnly}).Members[0]
	for i := range 30 {
		member.Put(t, fmt.Sprintf("key-%d", i), "only in the log")
	}
	b.want, _ = member.All(t)
	member.Kill()
	if err := os.CopyFS(filepath.Join(b.pods.ClaimDir(b.claim), "data"), os.DirFS(member.DataDir)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *volumeBench) ofVolume(name, path string) *v1beta2.EtcdRestore {
	r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}}
	r.Spec = v1beta2.EtcdRestoreSpec{EtcdCluster: v1beta2.ClusterReference{Name: "example"}, Volume: &v1beta2.RestoreVolume{ClaimName: b.claim.Name, Path: path}}
	return r
}

// serves waits until the cluster serves the keys.
func (b *volumeBench) serves(want map[string]string) {
	b.Helper()
	kubetest.Eventually(b, "the cluster serves", func(ctx context.Context) error {
		if err := kubetest.Client(b).Get(ctx, client.ObjectKeyFromObject(b.cluster), b.cluster); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue {
			return fmt.Errorf("the cluster reports %+v", ready)
		}
		got, err := b.keys(ctx)
		if err == nil && !maps.Equal(got, want) {
			err = fmt.Errorf("it has %v, want %v", got, want)
		}
		return err
	})
}

// keys reads the cluster through its only Pod.
func (b *volumeBench) keys(ctx context.Context) (map[string]string, error) {
	var list corev1.PodList
	if err := kubetest.Client(b).List(ctx, &list, client.InNamespace(b.namespace)); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 || list.Items[0].Status.PodIP == "" {
		return nil, errors.New("there is not one Pod with an address")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	kv, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + net.JoinHostPort(list.Items[0].Status.PodIP, "2379")}, DialTimeout: time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer kv.Close()
	answer, err := kv.Get(ctx, "\x00", clientv3.WithFromKey())
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, k := range answer.Kvs {
		found[string(k.Key)] = string(k.Value)
	}
	return found, nil
}

// A user deleted a StatefulSet and has its volume. What only the write-ahead log has must be in the new cluster, and the volume as it was.
func TestANewClusterStartsWithTheDataOfAVolume(t *testing.T) {
	b := newVolumeBench(t, "3.5")
	// A Pod of the StatefulSet is still there.
	user := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "etcd-0"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "etcd", Image: "an-image-that-cannot-be-pulled"}},
		Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: b.claim.Name}}}},
	}}
	kubetest.Create(t, user)
	r := b.ofVolume("from-volume", "")
	kubetest.Create(t, r)
	b.await(r, v1beta2.ReasonClaimInUse)
	if err := kubetest.Client(t).Delete(t.Context(), user, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	kubetest.Create(t, b.cluster)
	operateOne(b, b.cluster)
	b.serves(b.want)
	kubetest.AwaitCondition(t, r, restoreConditions, v1beta2.ConditionComplete, metav1.ConditionTrue, v1beta2.ReasonComplete)
	if r.Status.Volume == nil || r.Status.Volume.ClaimUID != b.claim.UID || r.Status.RestoredRevision <= v1beta2.DefaultRevisionBump {
		t.Errorf("%+v", r.Status)
	}
	if v := r.Status.Volume; v != nil && (v.Read == nil || v.Read.Revision != 31 || v.Read.LogEntries < 30 || v.Read.LeftOutEntries != 0) {
		t.Errorf("the seed has read %+v", v.Read)
	}
	if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(b.claim), b.claim); err != nil || !b.claim.DeletionTimestamp.IsZero() {
		t.Errorf("the volume was deleted: %v", err)
	}
}

// A running cluster gets the data of a volume. No EtcdBackup has a store for its present data, so the status says that it was not saved.
func TestARunningClusterGetsTheDataOfAVolume(t *testing.T) {
	b := newVolumeBench(t, "3.6")
	kubetest.Create(t, b.cluster)
	operateOne(b, b.cluster)
	b.serves(map[string]string{})
	r := b.ofVolume("from-volume", "")
	kubetest.Create(t, r)
	kubetest.AwaitCondition(t, r, restoreConditions, v1beta2.ConditionComplete, metav1.ConditionTrue, v1beta2.ReasonComplete)
	b.serves(b.want)
	if saved := r.Status.SafetySnapshot; saved == nil || saved.Result != v1beta2.SafetySnapshotNotTaken || !strings.Contains(saved.Message, "no EtcdBackup of EtcdCluster example") {
		t.Errorf("the safety snapshot is %+v", saved)
	}
}

// A volume that cannot be used must cost a running cluster nothing.
func TestARunningClusterIsUnchangedByAVolumeThatIsRefused(t *testing.T) {
	b := newVolumeBench(t, "3.7") // newer than the cluster
	kubetest.Create(t, b.cluster)
	operateOne(b, b.cluster)
	b.serves(map[string]string{})
	before := b.cluster.Status.ClusterID
	for name, c := range map[string]struct{ path, says string }{
		"newer":  {"", "Raise spec.version of the EtcdCluster"},
		"folder": {"data/member", "member/snap/db"},
	} {
		r := b.ofVolume(name, c.path)
		kubetest.Create(t, r)
		kubetest.AwaitCondition(t, r, restoreConditions, v1beta2.ConditionFailed, metav1.ConditionTrue, v1beta2.ReasonSeedFailed)
		if failed := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionFailed); !strings.Contains(failed.Message, c.says) || !strings.Contains(failed.Message, "The cluster was not changed") {
			t.Errorf("%s: %s", name, failed.Message)
		}
		b.serves(map[string]string{})
		if b.cluster.Status.ClusterID != before {
			t.Errorf("%s: the cluster has the ID %s, and had %s", name, b.cluster.Status.ClusterID, before)
		}
	}
}

// A user deletes the claim and creates another one with its name while the restore waits for its cluster. The cluster must not get data that was never asked for.
func TestAClaimThatWasCreatedAgainIsNotRestored(t *testing.T) {
	b := newVolumeBench(t, "3.6")
	r := b.ofVolume("from-volume", "")
	kubetest.Create(t, r)
	b.await(r, v1beta2.ReasonWaitingForCluster)
	if r.Status.Volume == nil || r.Status.Volume.ClaimUID != b.claim.UID {
		t.Fatalf("the restore has accepted %+v", r.Status.Volume)
	}
	b.createClaimAgain()
	kubetest.Create(t, b.cluster)
	operateOne(b, b.cluster)
	kubetest.AwaitCondition(t, r, restoreConditions, v1beta2.ConditionFailed, metav1.ConditionTrue, v1beta2.ReasonSeedFailed)
	if failed := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionFailed); !strings.Contains(failed.Message, "is another one (UID "+string(b.claim.UID)+")") {
		t.Errorf("%s", failed.Message)
	}
}

// createClaimAgain deletes the claim, and creates another one with the same name and the same data.
func (b *volumeBench) createClaimAgain() {
	b.Helper()
	another := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: b.claim.Name}, Spec: *b.claim.Spec.DeepCopy()}
	from := b.pods.ClaimDir(b.claim)
	old := b.claim.DeepCopy()
	old.Finalizers = nil
	if err := errors.Join(kubetest.Client(b).Patch(b.Context(), old, client.MergeFrom(b.claim)), client.IgnoreNotFound(kubetest.Client(b).Delete(b.Context(), old))); err != nil {
		b.Fatal(err)
	}
	kubetest.Create(b, another)
	if another.UID == b.claim.UID {
		b.Fatal("the claim is the same")
	}
	if to := b.pods.ClaimDir(another); to != from {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			b.Fatal(err)
		}
	}
	b.claim = another
}

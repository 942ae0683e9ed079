package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

const (
	clusterSpec = "{size: 3}"
	backupSpec  = "{etcdCluster: {name: example}, storageType: S3, s3: {path: b/k}}"
	restoreSpec = "{etcdCluster: {name: example}, etcdBackup: {name: example}}"
)

func TestDefaults(t *testing.T) {
	namespace := createOneOfEach(t)
	t.Run("an EtcdCluster gets the default constants of the API", func(t *testing.T) {
		cluster := v1beta2.EtcdCluster{}
		get(t, namespace, &cluster)
		want := v1beta2.EtcdClusterSpec{Size: 3, Repository: v1beta2.DefaultRepository, Version: v1beta2.DefaultVersion}
		if diff := cmp.Diff(want, cluster.Spec); diff != "" {
			t.Errorf("spec (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(v1beta2.EtcdClusterStatus{ObservedGeneration: -1}, cluster.Status); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
	t.Run("an EtcdBackup gets no defaults in its spec", func(t *testing.T) {
		backup := v1beta2.EtcdBackup{}
		get(t, namespace, &backup)
		if backup.Spec.BackupPolicy != nil {
			t.Errorf("backupPolicy is %v, want none", backup.Spec.BackupPolicy)
		}
		if diff := cmp.Diff(v1beta2.EtcdBackupStatus{ObservedGeneration: -1}, backup.Status); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
	t.Run("an EtcdRestore gets the default constants of the API", func(t *testing.T) {
		restore := v1beta2.EtcdRestore{}
		get(t, namespace, &restore)
		if bump := restore.Spec.RevisionBump; bump == nil || *bump != v1beta2.DefaultRevisionBump {
			t.Errorf("revisionBump is %v, want %d", bump, v1beta2.DefaultRevisionBump)
		}
		if diff := cmp.Diff(v1beta2.EtcdRestoreStatus{ObservedGeneration: -1}, restore.Status); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
}

// kstatus, which Flux and other tools use, reports an object without a Ready
// condition as Current, unless its status is about an older generation.
func TestNewObjectIsNotReportedAsCurrent(t *testing.T) {
	namespace := createOneOfEach(t)
	for kind, spec := range map[string]string{"EtcdCluster": clusterSpec, "EtcdBackup": backupSpec, "EtcdRestore": restoreSpec} {
		t.Run(kind, func(t *testing.T) {
			fresh := object(t, kind, namespace, "", spec)
			get(t, namespace, fresh)
			status, _ := fresh.Object["status"].(map[string]any)
			observed, ok := status["observedGeneration"].(int64)
			if !ok || observed >= fresh.GetGeneration() {
				t.Errorf("observedGeneration is %v with generation %d, want an older one: Flux would report the new object as Current", status["observedGeneration"], fresh.GetGeneration())
			}
		})
	}
}

func TestSpecAndStatusAreWrittenSeparately(t *testing.T) {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	t.Run("a write of the status does not change the spec and the generation", func(t *testing.T) {
		namespace, cluster := createOneOfEach(t), v1beta2.EtcdCluster{}
		get(t, namespace, &cluster)
		cluster.Spec.Size, cluster.Status.Size, cluster.Status.ObservedGeneration = 5, 2, 1
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
			Type: v1beta2.ConditionReady, Status: metav1.ConditionFalse, Reason: v1beta2.ReasonCreating, ObservedGeneration: 1, LastTransitionTime: now,
		})
		want := cluster.Status
		if err := kubetest.Client(t).Status().Update(t.Context(), &cluster); err != nil {
			t.Fatal(err)
		}
		get(t, namespace, &cluster)
		if cluster.Spec.Size != 3 || cluster.Generation != 1 {
			t.Errorf("size %d, generation %d; want 3 and 1", cluster.Spec.Size, cluster.Generation)
		}
		if diff := cmp.Diff(want, cluster.Status); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
	t.Run("a write of the spec does not change the status and increments the generation", func(t *testing.T) {
		namespace, cluster := createOneOfEach(t), v1beta2.EtcdCluster{}
		get(t, namespace, &cluster)
		cluster.Spec.Size, cluster.Status.Size, cluster.Status.ObservedGeneration = 5, 2, 1
		if err := kubetest.Client(t).Update(t.Context(), &cluster); err != nil {
			t.Fatal(err)
		}
		get(t, namespace, &cluster)
		if cluster.Spec.Size != 5 || cluster.Generation != 2 {
			t.Errorf("size %d, generation %d; want 5 and 2", cluster.Spec.Size, cluster.Generation)
		}
		if diff := cmp.Diff(v1beta2.EtcdClusterStatus{ObservedGeneration: -1}, cluster.Status); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
}

func TestKubectlScaleSetsTheSize(t *testing.T) {
	namespace := createOneOfEach(t)
	scale := func(size string) error {
		_, err := kubetest.Kubectl(t, "", "scale", "etcd/example", "--replicas="+size, "-n", namespace)
		return err
	}
	t.Run("kubectl scale sets the size", func(t *testing.T) {
		if err := scale("5"); err != nil {
			t.Fatal(err)
		}
		cluster := v1beta2.EtcdCluster{}
		get(t, namespace, &cluster)
		if cluster.Spec.Size != 5 {
			t.Errorf("size is %d, want 5", cluster.Spec.Size)
		}
	})
	for _, size := range []string{"0", "12"} {
		t.Run("kubectl scale to "+size+" fails and reports the allowed sizes", func(t *testing.T) {
			_, want, _ := strings.Cut(wantSize, ": ")
			if err := scale(size); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
	t.Run("the scale subresource shows the number of ready members and their selector", func(t *testing.T) {
		cluster := v1beta2.EtcdCluster{}
		get(t, namespace, &cluster)
		cluster.Status.Size, cluster.Status.Selector = 4, "app=etcd,etcd_cluster=example"
		if err := kubetest.Client(t).Status().Update(t.Context(), &cluster); err != nil {
			t.Fatal(err)
		}
		got := kubetest.MustKubectl(t, "", "get", "etcd/example", "--subresource=scale", "-n", namespace,
			"-o", "jsonpath={.status.replicas} {.status.selector}")
		if want := "4 app=etcd,etcd_cluster=example"; got != want {
			t.Errorf("scale %q, want %q", got, want)
		}
	})
}

// createOneOfEach creates an EtcdCluster, an EtcdBackup and an EtcdRestore in a new
// namespace. All are named example.
func createOneOfEach(t *testing.T) (namespace string) {
	t.Helper()
	namespace = kubetest.Namespace(t)
	kubetest.Create(t,
		object(t, "EtcdCluster", namespace, "", clusterSpec),
		object(t, "EtcdBackup", namespace, "", backupSpec),
		object(t, "EtcdRestore", namespace, "", restoreSpec))
	return namespace
}

// get reads the object named example.
func get(t *testing.T, namespace string, object client.Object) {
	t.Helper()
	if err := kubetest.Client(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "example"}, object); err != nil {
		t.Fatal(err)
	}
}

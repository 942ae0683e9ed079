package plugintest

import (
	"flag"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// Update makes tests write the screens in testdata instead of comparing them.
var Update = flag.Bool("update", false, "write the screens in testdata")

// Now is the time of all tests.
var Now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// A fault changes the objects of a healthy cluster.
type fault func(*observed.Objects)

// Condition returns a condition that is a minute old.
func Condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(Now.Add(-time.Minute))}
}

// Healthy returns a cluster of three members with one snapshot.
func Healthy() observed.Objects {
	c := v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}, Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16", TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}}}
	c.Status = v1beta2.EtcdClusterStatus{ReadyMembers: "3/3", CurrentVersion: "3.6.16", ClusterID: "0123456789abcdef"}
	Set(&c, "Ready", metav1.ConditionTrue, "Ready", "")
	Set(&c, "Available", metav1.ConditionTrue, "Ready", "")
	o := observed.Objects{Now: Now, Looks: map[string]observed.Look{}, Certificates: []observed.Certificate{{Name: "server (Secret example-server-tls)", Expires: Now.Add(240 * time.Hour)}}}
	for i, name := range []string{"example-a", "example-b", "example-c"} {
		role := v1beta2.MemberVoter
		if i == 0 {
			role = v1beta2.MemberLeader
		}
		c.Status.MemberStatuses = append(c.Status.MemberStatuses, v1beta2.MemberStatus{Name: name, Role: role, Version: "3.6.16", Ready: true, DBSize: 25 << 20})
		o.Pods = append(o.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}})
		o.Looks[name] = observed.Look{Committed: 1000, Applied: 1000, Revision: 500, Keys: 100}
	}
	o.Cluster = c
	saved := v1beta2.Snapshot{Path: "etcd-backups/f/ns/example/0123456789abcdef/20261123T110000Z-480.db", Revision: 480, Keys: 98, Size: 20 << 20, CreatedAt: "2026-11-23T11:00:00Z", RestoreTest: v1beta2.DrillPassed, ClusterID: c.Status.ClusterID}
	b := v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hourly"}}
	b.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "example"}
	b.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "@hourly"}
	b.Spec.StorageType, b.Spec.S3 = v1beta2.StorageS3, &v1beta2.S3Source{Path: "etcd-backups/f", AWSSecret: "s3"}
	next := metav1.NewTime(Now.Add(30 * time.Minute))
	b.Status = v1beta2.EtcdBackupStatus{Snapshot: &saved, Snapshots: []v1beta2.Snapshot{saved}, NextTime: &next}
	b.Status.Conditions = []metav1.Condition{Condition("Ready", metav1.ConditionTrue, "Scheduled", "")}
	o.Backups = []v1beta2.EtcdBackup{b}
	return o
}

// Set replaces a condition of a cluster.
func Set(c *v1beta2.EtcdCluster, kind string, status metav1.ConditionStatus, reason, message string) {
	c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, func(old metav1.Condition) bool { return old.Type == kind })
	c.Status.Conditions = append(c.Status.Conditions, Condition(kind, status, reason, message))
}

// Degraded has the cluster not ready with this reason, although it is available.
func Degraded(reason, message string) fault {
	return func(o *observed.Objects) {
		Set(&o.Cluster, "Ready", metav1.ConditionFalse, reason, message)
		o.Cluster.Status.MemberStatuses[1].Ready = false
	}
}

func stalled(reason, message string) fault {
	return func(o *observed.Objects) {
		Degraded(reason, message)(o)
		Set(&o.Cluster, "Stalled", metav1.ConditionTrue, reason, message)
	}
}

func unavailable(reason, message string) fault {
	return func(o *observed.Objects) {
		stalled(reason, message)(o)
		Set(&o.Cluster, "Available", metav1.ConditionFalse, reason, message)
	}
}

func unknown(reason, message string) fault {
	return func(o *observed.Objects) {
		Degraded(reason, message)(o)
		Set(&o.Cluster, "Available", metav1.ConditionUnknown, reason, message)
		o.Looks = nil
	}
}

func hibernated(o *observed.Objects) {
	const message = "The cluster hibernates: it has no Pods, and its volumes, membership and ID are kept. Set spec.hibernate to false to start it."
	Set(&o.Cluster, "Ready", metav1.ConditionTrue, "Hibernated", message)
	Set(&o.Cluster, "Available", metav1.ConditionFalse, "Hibernated", message)
	for i := range o.Cluster.Status.MemberStatuses {
		o.Cluster.Status.MemberStatuses[i].Ready = false
	}
	o.Pods, o.Looks = nil, nil
}

func advised(o *observed.Objects) {
	Set(&o.Cluster, "Ready", metav1.ConditionTrue, "VersionNotAdvised", "The members run etcd 3.5.2, which can damage data: members can have other data after a crash under load (etcd-io/etcd#13766). Set spec.version to the newest 3.5, at least 3.5.3.")
}

// Waiting has a container of the second member wait for this reason.
func Waiting(reason, message string) fault {
	return func(o *observed.Objects) {
		Degraded("Settling", "The operator waits for a member.")(o)
		o.Pods[1].Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "etcd", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "start\npanic: no space left on device"}},
		}}}
	}
}

func unschedulable(o *observed.Objects) {
	Degraded("Settling", "The operator waits for a member.")(o)
	o.Pods[1].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient memory.",
	}}}
}

func backup(reason, message string) fault {
	return func(o *observed.Objects) {
		o.Backups[0].Status.Conditions = []metav1.Condition{Condition("Ready", metav1.ConditionFalse, reason, message)}
	}
}

func corrupt(o *observed.Objects) {
	o.Backups[0].Status.Snapshots[0].RestoreTest = v1beta2.DrillFailed
	o.Backups[0].Status.Conditions = append(o.Backups[0].Status.Conditions,
		Condition("Verified", metav1.ConditionFalse, "SnapshotCorrupt", "Snapshot 20261123T110000Z-480.db failed the restore test: the SHA-256 differs from that of its manifest. Do not restore from it. Take another snapshot, and check the store and the disks of the members."))
}

func archiving(reason, message string) fault {
	return func(o *observed.Objects) {
		o.Backups[0].Spec.Continuous = &v1beta2.ContinuousArchive{}
		o.Backups[0].Status.Conditions = append(o.Backups[0].Status.Conditions, Condition("Archiving", metav1.ConditionFalse, reason, message))
	}
}

func restore(reason, message, ended string) fault {
	return func(o *observed.Objects) {
		r := v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "back"}, Spec: v1beta2.EtcdRestoreSpec{EtcdCluster: v1beta2.ClusterReference{Name: "example"}}}
		r.Status.Conditions = []metav1.Condition{Condition("Ready", metav1.ConditionFalse, reason, message)}
		if ended != "" {
			r.Status.Conditions = append(r.Status.Conditions, Condition(ended, metav1.ConditionTrue, reason, message))
		}
		o.Restores = []v1beta2.EtcdRestore{r}
	}
}

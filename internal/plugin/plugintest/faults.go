package plugintest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// Faults are what a person may find, with messages as the operators write them.
var Faults = map[string]fault{
	"healthy":          func(*observed.Objects) {},
	"quorum-lost":      unavailable("QuorumLost", "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. Bring back the same volumes, not copies: a copy can lack writes that etcd has acknowledged. Or set spec.recovery.quorumLoss to ForceNewCluster to continue from the member with the newest data. To continue from a snapshot, apply an EtcdRestore."),
	"no-space":         unavailable("NoSpace", "The space quota is used up, and etcd refuses writes. The database of member example-b has 2048 MiB, of which 1900 MiB are in use. Defragmentation alone does not make room. Set spec.noSpace.action to Compact, or raise spec.etcd.quotaBackendBytes."),
	"data-corrupt":     unavailable("DataCorrupt", "A CORRUPT alarm is on, and etcd refuses requests. The voters that answer have the same data. The operator changes nothing. If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."),
	"member-down":      Degraded("MemberDown", "Member example-b does not serve: connection refused."),
	"pod-failing":      Degraded("PodFailing", "The Pod of member example-b failed 4 times in a row: Evicted. The member does not serve. The operator recreates the Pod at 2026-11-23T12:02:00Z. Make room on the node, or correct spec.pod."),
	"unreachable":      unknown("MembersUnreachable", "The operator cannot reach the members: example-a: i/o timeout. Their Pods are ready, so clients may be served. The operator changes nothing. Check that no NetworkPolicy blocks port 2379, and that the members trust the operator's client certificate."),
	"access-denied":    stalled("EtcdAccessDenied", "Authentication is on in etcd, and it refuses the operator, which has no user. Set spec.auth.operatorSecret to a Secret with the keys username and password of a user with the role root."),
	"no-storage-class": stalled("NoStorageClass", "Kubernetes has no default StorageClass, so a member gets no volume and does not start. Mark a class as the default, or name one in spec.pod.persistentVolumeClaimSpec.storageClassName. For tests, set spec.pod.emptyDir: {} and accept that data is lost with its Pod."),
	"secret-missing":   stalled("SecretMissing", "Secret tls does not exist. Until it is corrected, the operator changes nothing. Members that run continue to serve."),
	"version-refused":  stalled("VersionNotSupported", "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.6 before 3.7.3. The members keep their version until then."),
	"not-ours":         stalled("NotOurs", "Service example-client exists and does not belong to this EtcdCluster. The operator does not change it, and does not start the cluster. Delete or rename the object."),
	"foreign-member":   stalled("ForeignMember", "Member 0000000000000f00 is in the cluster, and the operator did not add it. The operator has seen it since 2026-11-23T11:00:00Z. It has no vote. Until it is removed, the operator adds and removes no other member, and does not change the minor version of etcd."),
	"paused":           Degraded("Paused", "spec.paused is true, so the operator changes no member. It only protects data: it keeps and grows volumes, and renews certificates. To resume, set spec.paused to false."),
	"disks-full": func(o *observed.Objects) {
		unavailable("PodFailing", "Member example-b does not run: container etcd exits repeatedly, last with exit code 1: failed to commit tx: write /var/etcd/data/member/snap/db: no space left on device. No quorum answers, so etcd accepts no writes.")(o)
		Set(&o.Cluster, "Available", metav1.ConditionFalse, "PodFailing", "No member serves: example-a, example-b, example-c (it does not answer).")
	},
	"quorum-down": func(o *observed.Objects) {
		unavailable("MemberDown", "No quorum answers. Members that hold data are running or starting: example-a (it does not answer), example-b (it does not answer), example-c (it cannot reach a quorum).")(o)
		Set(&o.Cluster, "Available", metav1.ConditionFalse, "MemberDown", "No member serves: example-a, example-b, example-c (it does not answer).")
	},
	"paused-degraded": func(o *observed.Objects) {
		Degraded("Paused", "spec.paused is true, so the operator changes no member. It only protects data: it keeps and grows volumes, and renews certificates. To resume, set spec.paused to false.")(o)
		Set(&o.Cluster, "Degraded", metav1.ConditionTrue, "MemberDown", "These members do not serve: example-b: connection refused.")
	},
	"hibernated":        hibernated,
	"upgrading":         Degraded("Upgrading", "Member example-b restarts with 3.6.16."),
	"not-advised":       advised,
	"never-seen":        func(o *observed.Objects) { o.Cluster.Status = v1beta2.EtcdClusterStatus{ObservedGeneration: -1} },
	"old-status":        func(o *observed.Objects) { o.Pods = o.Pods[:1] },
	"image-unavailable": Waiting("ImagePullBackOff", "Back-off pulling image quay.io/coreos/etcd:v3.6.99"),
	"crash-loop":        Waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
	"unschedulable":     unschedulable,
	"backup-denied":     backup("AccessDenied", "Write etcd-backups/f: 403 Forbidden. Allow the identity in Secret s3 to list, read, write and delete objects in the bucket etcd-backups."),
	"snapshot-corrupt":  corrupt,
	"restore-failed":    restore("SeedFailed", "The seed could not be restored: fetch snapshot gone.db: NoSuchKey: The specified key does not exist. The cluster was not changed.", "Failed"),
	"restore-waits":     restore("WaitingForCluster", "The snapshot is verified, but there is no EtcdCluster example in namespace ns. Create it, and it starts with the data of the snapshot.", ""),
	"backup-late": func(o *observed.Objects) {
		at := metav1.NewTime(Now.Add(-3 * time.Hour))
		o.Backups[0].Status.NextTime = &at
	},
	"spec-not-read": func(o *observed.Objects) {
		o.Cluster.Generation, o.Cluster.Status.ObservedGeneration = 3, 2
	},
	"member-down-by-its-image": func(o *observed.Objects) {
		Waiting("ImagePullBackOff", "Back-off pulling image quay.io/coreos/etcd:v3.6.99")(o)
		Set(&o.Cluster, "Ready", metav1.ConditionFalse, "MemberDown", "Member example-b does not serve: its Pod is not ready.")
	},
	"plain-text": func(o *observed.Objects) { o.Cluster.Spec.TLS = nil },
	"shared-ca": func(o *observed.Objects) {
		o.Cluster.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Kind: "ClusterIssuer", Name: "corp-ca"}}}
	},
	"no-backup":       func(o *observed.Objects) { o.Backups = nil },
	"archive-delayed": archiving("ArchiveDelayed", "Some changes are not in the store yet. If the cluster is lost now, they are lost with it. Check the store, the network, the load of backup-operator, and whether a member of etcd is slow."),
	"archive-of-hibernated": func(o *observed.Objects) {
		hibernated(o)
		archiving("ClusterNotAvailable", "EtcdCluster example hibernates, so there is nothing to archive. The archive continues when it is resumed.")(o)
	},
	"standby": standby,
	"standby-of-a-migration": func(o *observed.Objects) {
		standby(o)
		o.Restores[0].Annotations = map[string]string{v1beta2.Group + "/moves-from": "old/example"}
		o.Restores[0].Status.Follow.Promote = v1beta2.FollowPromotePlanned
	},
	"standby-broken": func(o *observed.Objects) {
		standby(o)
		o.Restores[0].Status.Follow.Cause = "Gap"
		o.Restores[0].Status.Conditions[1] = Condition("Following", metav1.ConditionFalse, "FollowingBroken", "The standby keeps revision 480, and begins again when the archive has a newer snapshot (Gap): revisions 481 to 490 are missing.")
	},
	"standby-stalled": func(o *observed.Objects) {
		standby(o)
		Set(&o.Cluster, "Ready", metav1.ConditionFalse, "FollowNeedsCredentials", "The standby reads the archive for as long as it follows, and has no identity for that. Set spec.pod.serviceAccountName of the EtcdCluster to a ServiceAccount with the right to list and read the store, or delete the EtcdRestore and create it again with a Secret.")
		Set(&o.Cluster, "Stalled", metav1.ConditionTrue, "FollowNeedsCredentials", "")
	},
	"switchover": func(o *observed.Objects) {
		switchover(v1beta2.SwitchoverReady, "The cluster refuses writes after revision 500, and the archive has all of them. Set follow.promote of the EtcdRestore of the standby to Planned.")(o)
		o.Restores = []v1beta2.EtcdRestore{followed("moved", "hourly")}
	},
	"switched-over": switchover(v1beta2.SwitchoverPromoted, "EtcdRestore new/move was promoted with revision 500. This cluster must not take writes any more, so the operator refuses them."),
	"alarm-from-a-member": func(o *observed.Objects) {
		look := o.Looks["example-b"]
		look.Alarms, look.Applied = "NOSPACE", 900
		o.Looks["example-b"] = look
	},
}

// standby is a cluster that follows another one, and has never served.
func standby(o *observed.Objects) {
	const message = "Standby example-a follows the archive of old/example, and serves no client until it is promoted. status.restore.follow says how far it is. To promote it, set spec.follow.promote of EtcdRestore move."
	Set(&o.Cluster, "Ready", metav1.ConditionFalse, "Following", message)
	Set(&o.Cluster, "Available", metav1.ConditionFalse, "Following", "No member serves.")
	o.Cluster.Status.ClusterID, o.Cluster.Status.CurrentVersion, o.Cluster.Status.ReadyMembers, o.Cluster.Status.MemberStatuses = "", "", "0/3", nil
	o.Cluster.Status.Restore = &v1beta2.ClusterRestoreStatus{Name: "move", Step: v1beta2.RestoreSeeding, Follow: &v1beta2.FollowStatus{}}
	o.Pods, o.Looks, o.Backups = o.Pods[:1], nil, nil
	o.Pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending}
	o.Restores = []v1beta2.EtcdRestore{followed("example", "")}
	o.Restores[0].Status.Conditions[0].Message = message
}

// followed is an EtcdRestore whose EtcdCluster is a standby, of an EtcdBackup in the namespace or of another source.
func followed(cluster, backup string) v1beta2.EtcdRestore {
	at := metav1.NewTime(Now.Add(-4 * time.Second))
	r := v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "move"}, Spec: v1beta2.EtcdRestoreSpec{EtcdCluster: v1beta2.ClusterReference{Name: cluster}, Follow: &v1beta2.FollowSpec{}}}
	if backup != "" {
		r.Spec.EtcdBackup = &v1beta2.BackupReference{Name: backup}
	}
	r.Status.Follow = &v1beta2.RestoreFollowStatus{Cluster: "old/example", FollowStatus: v1beta2.FollowStatus{Revision: 480, Time: &at, LagSeconds: new(int64(0))}}
	r.Status.Conditions = []metav1.Condition{
		Condition("Ready", metav1.ConditionFalse, "Following", "The standby follows."),
		Condition("Following", metav1.ConditionTrue, "Following", "The standby has all that is in the archive of old/example."),
	}
	return r
}

// switchover is a cluster that hands its clients over, or has done so.
func switchover(phase v1beta2.SwitchoverPhase, message string) fault {
	return func(o *observed.Objects) {
		Set(&o.Cluster, "Ready", metav1.ConditionTrue, "ReadOnly", "The cluster is read-only. etcd acknowledges no write after revision 500. Reads and watches are served, and leases do not expire. An EtcdBackup hands the clients over to a standby, or has done so. Its status.switchover says which, and what you can do.")
		Set(&o.Cluster, "ReadOnly", metav1.ConditionTrue, "ReadOnly", "")
		o.Backups[0].Spec.Continuous = &v1beta2.ContinuousArchive{Switchover: true}
		o.Backups[0].Status.Switchover = &v1beta2.SwitchoverStatus{ID: "a", Phase: phase, Revision: 500, Message: message}
	}
}

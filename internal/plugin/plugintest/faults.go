package plugintest

import (
	"time"

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
	"alarm-from-a-member": func(o *observed.Objects) {
		look := o.Looks["example-b"]
		look.Alarms, look.Applied = "NOSPACE", 900
		o.Looks["example-b"] = look
	},
}

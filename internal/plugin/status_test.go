package plugin

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

var update = flag.Bool("update", false, "write the screens in testdata")

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// A fault changes the objects of a healthy cluster.
type fault func(*Objects)

// faults are what a person may find, with messages as the operators write them.
var faults = map[string]fault{
	"healthy":          func(*Objects) {},
	"quorum-lost":      unavailable("QuorumLost", "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. Bring back the same volumes, not copies: a copy can lack writes that etcd has acknowledged. Or set spec.recovery.quorumLoss to ForceNewCluster to continue from the member with the newest data. To continue from a snapshot, apply an EtcdRestore."),
	"no-space":         unavailable("NoSpace", "The space quota is used up, and etcd refuses writes. The database of member example-b has 2048 MiB, of which 1900 MiB are in use. Defragmentation alone does not make room. Set spec.noSpace.action to Compact, or raise spec.etcd.quotaBackendBytes."),
	"data-corrupt":     unavailable("DataCorrupt", "A CORRUPT alarm is on, and etcd refuses requests. The voters that answer have the same data. The operator changes nothing. If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."),
	"member-down":      degraded("MemberDown", "Member example-b does not serve: connection refused."),
	"pod-failing":      degraded("PodFailing", "The Pod of member example-b failed 4 times in a row: Evicted. The member does not serve. The operator recreates the Pod at 2026-11-23T12:02:00Z. Make room on the node, or correct spec.pod."),
	"unreachable":      unknown("MembersUnreachable", "The operator cannot reach the members: example-a: i/o timeout. Their Pods are ready, so clients may be served. The operator changes nothing. Check that no NetworkPolicy blocks port 2379, and that the members trust the operator's client certificate."),
	"access-denied":    stalled("EtcdAccessDenied", "Authentication is on in etcd, and it refuses the operator, which has no user. Set spec.auth.operatorSecret to a Secret with the keys username and password of a user with the role root."),
	"no-storage-class": stalled("NoStorageClass", "Kubernetes has no default StorageClass, so a member gets no volume and does not start. Mark a class as the default, or name one in spec.pod.persistentVolumeClaimSpec.storageClassName. For tests, set spec.pod.emptyDir: {} and accept that data is lost with its Pod."),
	"secret-missing":   stalled("SecretMissing", "Secret tls does not exist. Until it is corrected, the operator changes nothing. Members that run continue to serve."),
	"version-refused":  stalled("VersionNotSupported", "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.6 before 3.7.3. The members keep their version until then."),
	"not-ours":         stalled("NotOurs", "Service example-client exists and does not belong to this EtcdCluster. The operator does not change it, and does not start the cluster. Delete or rename the object."),
	"foreign-member":   stalled("ForeignMember", "Member 0000000000000f00 is in the cluster, and the operator did not add it. The operator has seen it since 2026-11-23T11:00:00Z. It has no vote. Until it is removed, the operator adds and removes no other member, and does not change the minor version of etcd."),
	"paused":           degraded("Paused", "spec.paused is true, so the operator changes no member. It only protects data: it keeps and grows volumes, and renews certificates. To resume, set spec.paused to false."),
	"disks-full": func(o *Objects) {
		unavailable("PodFailing", "Member example-b does not run: container etcd exits repeatedly, last with exit code 1: failed to commit tx: write /var/etcd/data/member/snap/db: no space left on device. No quorum answers, so etcd accepts no writes.")(o)
		set(&o.Cluster, "Available", metav1.ConditionFalse, "PodFailing", "No member serves: example-a, example-b, example-c (it does not answer).")
	},
	"quorum-down": func(o *Objects) {
		unavailable("MemberDown", "No quorum answers. Members that hold data are running or starting: example-a (it does not answer), example-b (it does not answer), example-c (it cannot reach a quorum).")(o)
		set(&o.Cluster, "Available", metav1.ConditionFalse, "MemberDown", "No member serves: example-a, example-b, example-c (it does not answer).")
	},
	"paused-degraded": func(o *Objects) {
		degraded("Paused", "spec.paused is true, so the operator changes no member. It only protects data: it keeps and grows volumes, and renews certificates. To resume, set spec.paused to false.")(o)
		set(&o.Cluster, "Degraded", metav1.ConditionTrue, "MemberDown", "These members do not serve: example-b: connection refused.")
	},
	"hibernated":        hibernated,
	"upgrading":         degraded("Upgrading", "Member example-b restarts with 3.6.16."),
	"not-advised":       advised,
	"never-seen":        func(o *Objects) { o.Cluster.Status = v1beta2.EtcdClusterStatus{ObservedGeneration: -1} },
	"old-status":        func(o *Objects) { o.Pods = o.Pods[:1] },
	"image-unavailable": waiting("ImagePullBackOff", "Back-off pulling image quay.io/coreos/etcd:v3.6.99"),
	"crash-loop":        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
	"unschedulable":     unschedulable,
	"backup-denied":     backup("AccessDenied", "Write etcd-backups/f: 403 Forbidden. Allow the identity in Secret s3 to list, read, write and delete objects in the bucket etcd-backups."),
	"snapshot-corrupt":  corrupt,
	"restore-failed":    restore("SeedFailed", "The seed could not be restored: fetch snapshot gone.db: NoSuchKey: The specified key does not exist. The cluster was not changed.", "Failed"),
	"restore-waits":     restore("WaitingForCluster", "The snapshot is verified, but there is no EtcdCluster example in namespace ns. Create it, and it starts with the data of the snapshot.", ""),
	"backup-late": func(o *Objects) {
		at := metav1.NewTime(now.Add(-3 * time.Hour))
		o.Backups[0].Status.NextTime = &at
	},
	"spec-not-read": func(o *Objects) {
		o.Cluster.Generation, o.Cluster.Status.ObservedGeneration = 3, 2
	},
	"member-down-by-its-image": func(o *Objects) {
		waiting("ImagePullBackOff", "Back-off pulling image quay.io/coreos/etcd:v3.6.99")(o)
		set(&o.Cluster, "Ready", metav1.ConditionFalse, "MemberDown", "Member example-b does not serve: its Pod is not ready.")
	},
	"plain-text": func(o *Objects) { o.Cluster.Spec.TLS = nil },
	"shared-ca": func(o *Objects) {
		o.Cluster.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Kind: "ClusterIssuer", Name: "corp-ca"}}}
	},
	"no-backup":       func(o *Objects) { o.Backups = nil },
	"archive-delayed": archiving("ArchiveDelayed", "Some changes are not in the store yet. If the cluster is lost now, they are lost with it. Check the store, the network, the load of backup-operator, and whether a member of etcd is slow."),
	"archive-of-hibernated": func(o *Objects) {
		hibernated(o)
		archiving("ClusterNotAvailable", "EtcdCluster example hibernates, so there is nothing to archive. The archive continues when it is resumed.")(o)
	},
	"alarm-from-a-member": func(o *Objects) {
		look := o.Looks["example-b"]
		look.Alarms, look.Applied = "NOSPACE", 900
		o.Looks["example-b"] = look
	},
}

func TestScreens(t *testing.T) {
	for name, change := range faults {
		t.Run(name, func(t *testing.T) {
			objects := healthy()
			change(&objects)
			var out strings.Builder
			if err := Inspect(objects).Render(&out, Style{Width: 100}); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("screen (-want +got; -update writes it):\n%s", diff)
			}
		})
	}
}

func TestFirstThreeLinesNameProblemImpactAndFix(t *testing.T) {
	for name, change := range faults {
		objects := healthy()
		change(&objects)
		lines := Inspect(objects).FirstLines()
		for i, label := range []string{"", "Impact:  ", "Fix:     "} {
			if !strings.HasPrefix(lines[i], label) || len(lines[i]) < len(label)+4 || strings.Contains(lines[i], "\n") {
				t.Errorf("%s: line %d is %q", name, i+1, lines[i])
			}
		}
		if quiet := []string{"healthy", "no-backup", "plain-text", "shared-ca"}; strings.HasPrefix(lines[0], "OK:") != slices.Contains(quiet, name) {
			t.Errorf("%s: %s", name, lines[0])
		}
	}
}

// leftover is the text of a link that a terminal cannot follow.
var leftover = regexp.MustCompile(`\((how|why|example|details)\)`)

func TestEveryReasonHasImpactAndFixInTheRunbook(t *testing.T) {
	pages := runbook()
	if len(pages) < 80 {
		t.Fatalf("the runbook has %d pages", len(pages))
	}
	for reason, page := range pages {
		if page.impact == "" || page.fix == "" || strings.HasSuffix(page.fix, ":") || strings.Contains(page.fix, "](") || leftover.MatchString(page.impact+page.fix) {
			t.Errorf("%s: impact %q, fix %q", reason, page.impact, page.fix)
		}
	}
	for _, reason := range progressing {
		if _, ok := pages[reason]; !ok {
			t.Errorf("%s is not in the runbook", reason)
		}
	}
}

// A page for several kinds begins each sentence with its kind. A restore that failed must not read what a backup did.
func TestImpactIsThatOfTheKind(t *testing.T) {
	page := parsePage("**Impact.** EtcdBackup and EtcdRestore: nothing is done. EtcdCluster: the members serve unchanged. The message has more.\n\n**Fix.** Wait.")
	for object, want := range map[string]string{
		"EtcdRestore back":    "Nothing is done. The message has more.",
		"EtcdCluster example": "The members serve unchanged. The message has more.",
		"Pod example-a":       page.impact,
	} {
		if got := about(object, page.impact); got != want {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	}
}

func TestColourOnlyIfAsked(t *testing.T) {
	for _, color := range []bool{false, true} {
		var out strings.Builder
		if err := Inspect(healthy()).Render(&out, Style{Color: color}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "\x1b") != color {
			t.Errorf("colour %t: %q", color, out.String())
		}
	}
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}
}

func healthy() Objects {
	c := v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}, Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16", TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}}}
	c.Status = v1beta2.EtcdClusterStatus{ReadyMembers: "3/3", CurrentVersion: "3.6.16", ClusterID: "0123456789abcdef"}
	set(&c, "Ready", metav1.ConditionTrue, "Ready", "")
	set(&c, "Available", metav1.ConditionTrue, "Ready", "")
	o := Objects{Now: now, Looks: map[string]Look{}, Certificates: []Certificate{{Name: "server (Secret example-server-tls)", Expires: now.Add(240 * time.Hour)}}}
	for i, name := range []string{"example-a", "example-b", "example-c"} {
		role := v1beta2.MemberVoter
		if i == 0 {
			role = v1beta2.MemberLeader
		}
		c.Status.MemberStatuses = append(c.Status.MemberStatuses, v1beta2.MemberStatus{Name: name, Role: role, Version: "3.6.16", Ready: true, DBSize: 25 << 20})
		o.Pods = append(o.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}})
		o.Looks[name] = Look{Committed: 1000, Applied: 1000, Revision: 500, Keys: 100}
	}
	o.Cluster = c
	saved := v1beta2.Snapshot{Path: "etcd-backups/f/ns/example/0123456789abcdef/20261123T110000Z-480.db", Revision: 480, Keys: 98, Size: 20 << 20, CreatedAt: "2026-11-23T11:00:00Z", RestoreTest: v1beta2.DrillPassed, ClusterID: c.Status.ClusterID}
	b := v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hourly"}}
	b.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "example"}
	b.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "@hourly"}
	b.Spec.StorageType, b.Spec.S3 = v1beta2.StorageS3, &v1beta2.S3Source{Path: "etcd-backups/f", AWSSecret: "s3"}
	next := metav1.NewTime(now.Add(30 * time.Minute))
	b.Status = v1beta2.EtcdBackupStatus{Snapshot: &saved, Snapshots: []v1beta2.Snapshot{saved}, NextTime: &next}
	b.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Scheduled", "")}
	o.Backups = []v1beta2.EtcdBackup{b}
	return o
}

func set(c *v1beta2.EtcdCluster, kind string, status metav1.ConditionStatus, reason, message string) {
	c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, func(old metav1.Condition) bool { return old.Type == kind })
	c.Status.Conditions = append(c.Status.Conditions, condition(kind, status, reason, message))
}

func degraded(reason, message string) fault {
	return func(o *Objects) {
		set(&o.Cluster, "Ready", metav1.ConditionFalse, reason, message)
		o.Cluster.Status.MemberStatuses[1].Ready = false
	}
}

func stalled(reason, message string) fault {
	return func(o *Objects) {
		degraded(reason, message)(o)
		set(&o.Cluster, "Stalled", metav1.ConditionTrue, reason, message)
	}
}

func unavailable(reason, message string) fault {
	return func(o *Objects) {
		stalled(reason, message)(o)
		set(&o.Cluster, "Available", metav1.ConditionFalse, reason, message)
	}
}

func unknown(reason, message string) fault {
	return func(o *Objects) {
		degraded(reason, message)(o)
		set(&o.Cluster, "Available", metav1.ConditionUnknown, reason, message)
		o.Looks = nil
	}
}

func hibernated(o *Objects) {
	const message = "The cluster hibernates: it has no Pods, and its volumes, membership and ID are kept. Set spec.hibernate to false to start it."
	set(&o.Cluster, "Ready", metav1.ConditionTrue, "Hibernated", message)
	set(&o.Cluster, "Available", metav1.ConditionFalse, "Hibernated", message)
	for i := range o.Cluster.Status.MemberStatuses {
		o.Cluster.Status.MemberStatuses[i].Ready = false
	}
	o.Pods, o.Looks = nil, nil
}

func advised(o *Objects) {
	set(&o.Cluster, "Ready", metav1.ConditionTrue, "VersionNotAdvised", "The members run etcd 3.5.2, which can damage data: members can have other data after a crash under load (etcd-io/etcd#13766). Set spec.version to the newest 3.5, at least 3.5.3.")
}

func waiting(reason, message string) fault {
	return func(o *Objects) {
		degraded("Settling", "The operator waits for a member.")(o)
		o.Pods[1].Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "etcd", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "start\npanic: no space left on device"}},
		}}}
	}
}

func unschedulable(o *Objects) {
	degraded("Settling", "The operator waits for a member.")(o)
	o.Pods[1].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient memory.",
	}}}
}

func backup(reason, message string) fault {
	return func(o *Objects) {
		o.Backups[0].Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionFalse, reason, message)}
	}
}

func corrupt(o *Objects) {
	o.Backups[0].Status.Snapshots[0].RestoreTest = v1beta2.DrillFailed
	o.Backups[0].Status.Conditions = append(o.Backups[0].Status.Conditions,
		condition("Verified", metav1.ConditionFalse, "SnapshotCorrupt", "Snapshot 20261123T110000Z-480.db failed the restore test: the SHA-256 differs from that of its manifest. Do not restore from it. Take another snapshot, and check the store and the disks of the members."))
}

func archiving(reason, message string) fault {
	return func(o *Objects) {
		o.Backups[0].Spec.Continuous = &v1beta2.ContinuousArchive{}
		o.Backups[0].Status.Conditions = append(o.Backups[0].Status.Conditions, condition("Archiving", metav1.ConditionFalse, reason, message))
	}
}

// An archive that stops writes no snapshot condition: Ready of its EtcdBackup stays True.
func TestAnArchiveThatStoppedIsAProblemUnlessItsClusterIsStopped(t *testing.T) {
	for name, want := range map[string]string{
		"archive-delayed":       "Problem: EtcdBackup hourly: ArchiveDelayed. Some changes are not in the store yet.",
		"archive-of-hibernated": "State:   EtcdCluster example: Hibernated.",
	} {
		objects := healthy()
		faults[name](&objects)
		if got := Inspect(objects).FirstLines()[0]; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Ready has one reason. While it is about something that holds the operator up, a member that is down would be shown in the table only.
func TestAMemberThatIsDownIsNamedWhileSomethingElseHoldsTheOperatorUp(t *testing.T) {
	objects := healthy()
	faults["paused-degraded"](&objects)
	lines := Inspect(objects).FirstLines()
	if !strings.HasPrefix(lines[0], "Problem: EtcdCluster example: Paused.") || !strings.HasSuffix(lines[0], "These members do not serve: example-b: connection refused.") {
		t.Error(lines[0])
	}
}

// The page of PodFailing is about one member: that the others serve would be wrong.
func TestTheImpactOfAnOutageIsThatOfTheWholeCluster(t *testing.T) {
	objects := healthy()
	faults["disks-full"](&objects)
	if got, want := Inspect(objects).FirstLines()[1], "Impact:  Clients are not served. No member serves."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Without a quorum the operator replaces no member, although the page of MemberDown says so.
func TestTheFixOfALostQuorumIsNotToWaitForAReplacement(t *testing.T) {
	objects := healthy()
	faults["quorum-down"](&objects)
	if lines := Inspect(objects).FirstLines(); !strings.Contains(lines[1], "etcd accepts no writes") || !strings.Contains(lines[2], "Recover what is down") {
		t.Errorf("%q", lines)
	}
}

func restore(reason, message, ended string) fault {
	return func(o *Objects) {
		r := v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "back"}, Spec: v1beta2.EtcdRestoreSpec{EtcdCluster: v1beta2.ClusterReference{Name: "example"}}}
		r.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionFalse, reason, message)}
		if ended != "" {
			r.Status.Conditions = append(r.Status.Conditions, condition(ended, metav1.ConditionTrue, reason, message))
		}
		o.Restores = []v1beta2.EtcdRestore{r}
	}
}

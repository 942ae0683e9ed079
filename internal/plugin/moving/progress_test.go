package moving

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func condition(kind, status, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
}

// archived is a source whose archive has all changes.
func archived() *v1beta2.EtcdBackup {
	b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: "example-move"}}
	b.Spec.EtcdEndpoints = []string{"http://old:2379"}
	b.Spec.StorageType, b.Spec.S3 = v1beta2.StorageS3, &v1beta2.S3Source{Path: "bucket/move", AWSSecret: "s3"}
	b.Spec.Continuous = &v1beta2.ContinuousArchive{}
	b.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Scheduled", ""), condition("Archiving", "True", "Archiving", "")}
	return b
}

// following is a standby that is at most 10 seconds behind.
func following() *v1beta2.EtcdRestore {
	r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "new", Name: "example-move"}}
	r.Spec.EtcdCluster.Name, r.Spec.Follow = "example", &v1beta2.FollowSpec{Promote: v1beta2.FollowPromotePlanned}
	r.Status.Follow = &v1beta2.RestoreFollowStatus{FollowStatus: v1beta2.FollowStatus{Revision: 480, LagSeconds: new(int64(0))}}
	r.Status.Conditions = []metav1.Condition{condition("Ready", "False", "Following", ""), condition("Following", "True", "Following", "")}
	return r
}

func standby() *v1beta2.EtcdCluster {
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "new", Name: "example"}, Spec: v1beta2.EtcdClusterSpec{Size: 3, TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}}}
	c.Status.Conditions = []metav1.Condition{condition("Ready", "False", "Following", ""), condition("Available", "False", "Following", "")}
	return c
}

func ready() Objects { return Objects{archived(), following(), standby()} }

// switching is a source that was asked to hand over.
func switching(o Objects, phase v1beta2.SwitchoverPhase) Objects {
	o.Backup.Spec.Continuous.Switchover = true
	o.Backup.Status.Switchover = &v1beta2.SwitchoverStatus{Phase: phase, Message: "It waits."}
	return o
}

// promoted has both sides after the standby has taken over with revision 500.
func promoted(o Objects) Objects {
	o = switching(o, v1beta2.SwitchoverPromoted)
	o.Backup.Status.Switchover.Revision, o.Backup.Status.Switchover.Promoted = 500, "new/example-move"
	o.Restore.Status.Follow.Promoted = &v1beta2.PromotedStatus{Revision: 500, Planned: true}
	return o
}

// serving has the new cluster after its first member serves.
func serving(o Objects) Objects {
	o = promoted(o)
	o.Cluster.Status.ClusterID = "0123456789abcdef"
	o.Cluster.Status.Conditions = []metav1.Condition{condition("Ready", "False", "Restoring", ""), condition("Available", "True", "Ready", "")}
	return o
}

// states are what the command may find, with the stage that it continues from.
var states = map[string]struct {
	objects func() Objects
	stage   Stage
	problem string
}{
	"nothing exists":             {func() Objects { return Objects{} }, Unarchived, ""},
	"the archive has not begun":  {func() Objects { o := Objects{Backup: archived()}; o.Backup.Status.Conditions = nil; return o }, Unarchived, ""},
	"the archive has all":        {func() Objects { return Objects{Backup: archived()} }, Archived, ""},
	"the EtcdCluster is missing": {func() Objects { return Objects{Backup: archived(), Restore: following()} }, Archived, ""},
	"the standby is up to date":  {ready, Ready, ""},
	"the standby is 10 s behind": {func() Objects { o := ready(); o.Restore.Status.Follow.LagSeconds = new(int64(10)); return o }, Following, ""},
	"the lag is not known":       {func() Objects { o := ready(); o.Restore.Status.Follow.LagSeconds = nil; return o }, Following, ""},
	"the standby cannot follow":  {func() Objects { o := ready(); o.Restore.Status.Follow.Cause = "Gap"; return o }, Following, ""},
	"the archive is late":        {func() Objects { o := ready(); o.Backup.Status.Conditions[1].Status = "False"; return o }, Following, ""},
	"the source was just asked":  {func() Objects { o := switching(ready(), ""); o.Backup.Status.Switchover = nil; return o }, HandingOver, ""},
	"the source stops":           {func() Objects { return switching(ready(), v1beta2.SwitchoverFencing) }, HandingOver, ""},
	"the source has ended":       {func() Objects { return switching(ready(), v1beta2.SwitchoverReady) }, HandingOver, ""},
	"somebody has called it off": {func() Objects { return switching(ready(), v1beta2.SwitchoverCallingOff) }, Following, ""},
	"only the source knows":      {func() Objects { o := promoted(ready()); o.Restore.Status.Follow.Promoted = nil; return o }, Starting, ""},
	"only the standby knows":     {func() Objects { o := promoted(ready()); o.Backup.Status.Switchover.Phase = "Ready"; return o }, Starting, ""},
	"the EtcdBackup was deleted": {func() Objects { o := serving(ready()); o.Backup = nil; return o }, Serving, ""},
	"the first member serves":    {func() Objects { return serving(ready()) }, Serving, ""},
	"the cluster has its size": {func() Objects {
		o := serving(ready())
		o.Restore.Status.Conditions = []metav1.Condition{condition("Complete", "True", "Complete", "")}
		return o
	}, Complete, ""},
	"etcd 3.4 is not archived": {func() Objects {
		o := Objects{Backup: archived()}
		o.Backup.Status.Conditions[1] = condition("Archiving", "False", "ArchiveNotSupported", "etcd 3.4")
		return o
	}, Unarchived, "ArchiveNotSupported"},
	"the store refuses": {func() Objects {
		o := Objects{Backup: archived()}
		o.Backup.Status.Conditions = []metav1.Condition{condition("Ready", "False", "AccessDenied", "403"), condition("Stalled", "True", "AccessDenied", "403")}
		return o
	}, Unarchived, "AccessDenied"},
	"the restore failed": {func() Objects {
		o := ready()
		o.Restore.Status.Conditions = []metav1.Condition{condition("Ready", "False", "SnapshotCorrupt", ""), condition("Failed", "True", "", "")}
		return o
	}, Following, "SnapshotCorrupt"},
	"the cluster waits for a person": {func() Objects {
		o := ready()
		o.Cluster.Status.Conditions = []metav1.Condition{condition("Ready", "False", "NoStorageClass", ""), condition("Stalled", "True", "", "")}
		return o
	}, Following, "NoStorageClass"},
	"another standby took over": {func() Objects {
		o := promoted(ready())
		o.Backup.Status.Switchover.Promoted = "new/other"
		o.Restore.Status.Follow.Promoted = nil
		return o
	}, HandingOver, "new/other"},
	"it was promoted with Now": {func() Objects {
		o := ready()
		o.Restore.Status.Follow.Promoted = &v1beta2.PromotedStatus{Revision: 480}
		return o
	}, Starting, "not in the new cluster"},
	"no standby, and no writes": {func() Objects {
		o := switching(ready(), v1beta2.SwitchoverReady)
		o.Restore, o.Cluster = nil, nil
		return o
	}, HandingOver, "Call that off"},
}

// A run that was interrupted knows only the objects. Taken for an earlier stage, it would create a second standby; taken for a later one, it would stop the
// writes of a source whose standby is far behind.
func TestEachStageIsReadFromTheObjects(t *testing.T) {
	for name, s := range states {
		got := Of(s.objects())
		if got.Stage != s.stage || (got.Problem == "") != (s.problem == "") || !strings.Contains(got.Problem, s.problem) {
			t.Errorf("%s: %+v, want stage %d and problem %q", name, got, s.stage, s.problem)
		}
		if got.Line == "" && got.Problem == "" {
			t.Errorf("%s: nothing is shown", name)
		}
	}
}

// A user who presses Ctrl-C while the source refuses writes must read how it takes them again, and after the promotion that it never does.
func TestTheEndOfTheCommandSaysWhatContinues(t *testing.T) {
	for name, want := range map[string]string{
		"nothing exists":            "Nothing is running",
		"the archive has all":       "To end it, delete that EtcdBackup",
		"the standby is up to date": "To end it, delete EtcdCluster example, EtcdRestore example-move and EtcdBackup old/example-move.",
		"the source stops":          `kubectl -n old patch etcdbackup example-move --type merge -p '{"spec":{"continuous":{"switchover":false}}}'`,
		"only the source knows":     "This cannot be called off",
		"the cluster has its size":  "complete",
	} {
		o := states[name].objects()
		if got := Running(Of(o).Stage, o); !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

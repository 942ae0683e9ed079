package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

var emptyDir corev1.EmptyDirVolumeSource

func selecting(selector v1beta2.SnapshotSelector) func(*state.State) {
	return func(s *state.State) { s.Restore.Spec.Select = &selector }
}

func named(snapshot string) func(*state.State) {
	return func(s *state.State) { s.Restore.Spec.EtcdBackup.Snapshot = snapshot }
}

func TestTheSelectorDecidesWhichSnapshotIsRead(t *testing.T) {
	s3 := func(path string) v1beta2.Storage { return v1beta2.Storage{S3: &v1beta2.S3Source{Path: path}} }
	below := func(key string) v1beta2.RestoreSource {
		return v1beta2.RestoreSource{StorageType: "S3", Bucket: "b", Key: key}
	}
	const newest = "b/daily/ns/example/00000000000000aa/20260102T030405Z-00000000000000000021.db"
	newestOfSource := strings.Replace(newest, "example", "source", 1)
	ofCluster := func(s *state.State) {
		s.Backup.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "source"}
	}
	saves := func(cluster, id string) func(*state.State) {
		return func(s *state.State) {
			s.Backup.Spec.EtcdCluster, s.Cluster.UID = &v1beta2.ClusterReference{Name: cluster}, "uid"
			s.Backup.Status.Snapshot.ClusterID = id
		}
	}
	at := metav1.NewTime(time.Date(2026, 1, 2, 5, 4, 5, 0, time.FixedZone("", 2*60*60)))
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"the newest snapshot below a folder": {
			given(withStorage("S3", s3("b/daily")), selecting(v1beta2.SnapshotSelector{})),
			steps.Verify{Source: below("daily/"), Choice: source.Choice{Folder: true}},
		},
		"the newest snapshot below a folder with a slash at its end": {
			given(withStorage("S3", s3("b/daily/")), selecting(v1beta2.SnapshotSelector{})),
			steps.Verify{Source: below("daily/"), Choice: source.Choice{Folder: true}},
		},
		"the newest snapshot of a bucket": {
			given(withStorage("S3", s3("b")), selecting(v1beta2.SnapshotSelector{})),
			steps.Verify{Source: below(""), Choice: source.Choice{Folder: true}},
		},
		"a revision of the continuous archive below a folder": {
			given(withStorage("S3", s3("b/daily")), selecting(v1beta2.SnapshotSelector{Revision: 42, ClusterID: "00000000000000aa"})),
			steps.Verify{Source: below("daily/"), Choice: source.Choice{Folder: true, Revision: 42, ClusterID: "00000000000000aa"}, Point: &state.PointOrder{Folder: "point-uid-restore", Mark: "uid-restore/point"}},
		},
		"a time of the continuous archive of an EtcdBackup": {
			given(givenBackup(backupOf("S3", s3("b/daily"), newest)), selecting(v1beta2.SnapshotSelector{Time: &at}), func(s *state.State) {
				s.Restore.Spec.DryRun = true
				s.Backup.Spec.S3.StorageClass = "STANDARD_IA"
				s.Backup.Status.Recoverable = []v1beta2.RecoverableRange{{Timeline: 1}, {Timeline: 2, To: v1beta2.RecoverablePoint{Revision: 7, Time: at}}}
			}),
			steps.Verify{
				Source: below("daily/ns/example/"), Choice: source.Choice{Folder: true, Of: "ns/example", Recorded: strings.TrimPrefix(newest, "b/"), Time: "2026-01-02T03:04:05Z"},
				Point: &state.PointOrder{
					Folder: "point-uid-restore", Mark: "uid-restore/point", DryRun: true, Options: storage.Options{S3: v1beta2.S3Options{StorageClass: "STANDARD_IA"}},
					Progress: archive.Progress{Timeline: 2, Point: archive.Point{Revision: 7, At: at.UTC()}},
				},
			},
		},
		"the newest snapshot of one cluster ID before a time": {
			given(withStorage("S3", s3("b/daily")), selecting(v1beta2.SnapshotSelector{Before: &at, ClusterID: "00000000000000aa"})),
			steps.Verify{Source: below("daily/"), Choice: source.Choice{Folder: true, Before: "2026-01-02T03:04:05Z", ClusterID: "00000000000000aa"}},
		},
		"the newest snapshot of an EtcdBackup before a time, of any incarnation": {
			given(givenBackup(backupOf("S3", s3("b/daily"), newest)), selecting(v1beta2.SnapshotSelector{Before: &at})),
			steps.Verify{Source: below("daily/ns/example/"), Choice: source.Choice{Folder: true, Of: "ns/example", Recorded: strings.TrimPrefix(newest, "b/"), Before: "2026-01-02T03:04:05Z"}},
		},
		"the newest snapshot of an EtcdBackup, or another one if it is missing": {
			given(givenBackup(backupOf("S3", s3("b/daily"), newest))),
			steps.Verify{Source: below(strings.TrimPrefix(newest, "b/")), Choice: source.Choice{Fallback: "daily/ns/example/", Of: "ns/example", Backup: "nightly"}},
		},
		"the newest snapshot of the cluster to restore, and of no other cluster with its name": {
			given(givenBackup(backupOf("S3", s3("b/daily"), newest)), saves("example", "00000000000000aa"), func(s *state.State) {
				s.Backup.Name, s.Backup.UID, s.Backup.CreationTimestamp, s.Cluster.CreationTimestamp = "nightly", "uid-nightly", at, at
			}),
			steps.Verify{Source: below(strings.TrimPrefix(newest, "b/")), Choice: source.Choice{
				Fallback: "daily/ns/example/", Of: "ns/example", Backup: "nightly", UID: "uid", Prefer: "00000000000000aa",
				Owner: snapshot.Owner{Backup: "nightly", BackupUID: "uid-nightly", BackupSince: at.UTC(), ClusterUID: "uid", ClusterSince: at.UTC()},
			}},
		},
		"the newest snapshot of an EtcdBackup of another cluster": {
			given(givenBackup(backupOf("S3", s3("b/daily"), newestOfSource)), saves("source", "00000000000000aa"), selecting(v1beta2.SnapshotSelector{IncludeNoQuorum: true})),
			steps.Verify{Source: below("daily/ns/source/"), Choice: source.Choice{Folder: true, Of: "ns/source", Recorded: strings.TrimPrefix(newestOfSource, "b/"), NoQuorum: true, Prefer: "00000000000000aa"}},
		},
		"the newest snapshot of the cluster to restore if a folder has several clusters": {
			given(withStorage("S3", s3("b/daily")), selecting(v1beta2.SnapshotSelector{}), func(s *state.State) { s.Cluster.UID = "uid" }),
			steps.Verify{Source: below("daily/"), Choice: source.Choice{Folder: true, UID: "uid"}},
		},
		"a named snapshot of an EtcdBackup": {
			given(givenBackup(backupOf("S3", s3("b/daily"), newest)), named("20260101T030405Z-00000000000000000020.db")),
			steps.Verify{Source: below("daily/ns/example/"), Choice: source.Choice{Folder: true, Of: "ns/example", Name: "20260101T030405Z-00000000000000000020.db"}},
		},
		"the newest snapshot of an EtcdBackup whose status was lost": {
			given(givenBackup(backupOf("S3", s3("b/daily"), "")), selecting(v1beta2.SnapshotSelector{}), ofCluster),
			steps.Verify{Source: below("daily/ns/source/"), Choice: source.Choice{Folder: true, Of: "ns/source"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if want, verify := test.want.(steps.Verify); verify && want.Choice.Of != "" && want.Choice.Owner.Backup == "" {
				want.Choice.Owner.Backup = test.state.Backup.Name
				test.want = want
			}
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	for name, test := range map[string]struct {
		state state.State
		says  string
	}{
		"if the path has no bucket":                                   {given(withStorage("S3", s3("/daily")), selecting(v1beta2.SnapshotSelector{})), "<bucket>/<folder>"},
		"if the EtcdBackup takes one snapshot and the spec selects":   {given(givenBackup(backupOf("S3", s3("b/one.db"), "b/one.db")), selecting(v1beta2.SnapshotSelector{})), "no series"},
		"if the EtcdBackup takes one snapshot and the spec names one": {given(givenBackup(backupOf("S3", s3("b/one.db"), "b/one.db")), named("two.db")), "no series"},
		"if the path is a folder and the spec does not select":        {given(withStorage("S3", s3("b/daily/"))), "select: {}"},
	} {
		t.Run("fails "+name, func(t *testing.T) {
			fail, ok := next(test.state).(steps.Fail)
			if !ok || fail.Reason != v1beta2.ReasonInvalidSpec || !strings.Contains(fail.Message, test.says) {
				t.Errorf("got %#v", next(test.state))
			}
		})
	}
	t.Run("reads at once if the spec selects another snapshot", func(t *testing.T) {
		other := failed(v1beta2.ReasonObjectNotFound, true)
		other.Choice = source.Choice{Folder: true}
		if diff := cmp.Diff(steps.Step(steps.Verify{Source: theSource}), next(given(withProof(other)))); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	})
}

func TestAFinishedRestoreIsDeletedWhenItsTimeToLiveIsOver(t *testing.T) {
	ended := func(ago time.Duration, succeeded bool) func(*state.State) {
		return func(s *state.State) {
			ttl := int32(60)
			s.Restore.Spec.TTLSecondsAfterFinished = &ttl
			s.Restore.Status.CompletionTime, s.Restore.Status.Succeeded = &metav1.Time{Time: now.Add(-ago)}, succeeded
		}
	}
	formed := func(s *state.State) { s.Cluster.Status.ClusterID = "00000000000000aa" }
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"is kept until its time to live is over":                            {given(ended(20*time.Second, true), formed), steps.Done{Requeue: 40 * time.Second}},
		"is deleted when its time to live is over":                          {given(ended(time.Minute, true), formed), steps.Expire{}},
		"is kept if it failed, because GitOps would repeat it":              {given(ended(time.Hour, false), formed), steps.Done{}},
		"is deleted after a dry run that failed":                            {given(ended(time.Hour, false), formed, func(s *state.State) { s.Restore.Spec.DryRun = true }), steps.Expire{}},
		"is deleted if it succeeded and its cluster does not exist":         {given(ended(time.Hour, true), withoutCluster), steps.Expire{}},
		"is kept if it failed and its cluster does not exist":               {given(ended(time.Hour, false), withoutCluster), steps.Done{}},
		"is kept if it failed and its cluster would start empty without it": {given(ended(time.Hour, false)), steps.Done{}},
		"is kept without a time to live":                                    {given(ended(time.Hour, true), func(s *state.State) { s.Restore.Spec.TTLSecondsAfterFinished = nil }), steps.Done{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestARestoreFailsIfTheVolumesAreTooSmall(t *testing.T) {
	large := theSnapshot
	large.Size = 5 << 30
	proof := state.Proof{Progress: state.ProofDone, Source: theSource, Snapshot: large}
	proven := func(s *state.State) { withProven(s); s.Restore.Status.Snapshot.Size = large.Size }
	for name, state := range map[string]state.State{"before the snapshot is accepted": given(withProof(proof)), "after the snapshot is accepted": given(proven)} {
		fail, ok := next(state).(steps.Fail)
		if !ok || fail.Reason != v1beta2.ReasonVolumeTooSmall || !strings.Contains(fail.Message, "8192 MiB") || !strings.Contains(fail.Message, "10241 MiB") {
			t.Errorf("%s: %#v", name, next(state))
		}
	}
	unlimited := func(s *state.State) { s.Cluster.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &emptyDir} }
	if _, ok := next(given(withProof(proof), unlimited)).(steps.Accept); !ok {
		t.Errorf("a volume without a limit is refused: %#v", next(given(withProof(proof), unlimited)))
	}
}

func TestTheOldestVerifiedRestoreOfAClusterIsFirst(t *testing.T) {
	restore := func(name string, age time.Duration, change ...func(*v1beta2.EtcdRestore)) v1beta2.EtcdRestore {
		r := v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(now.Add(-age))}}
		r.Spec.EtcdCluster.Name = "example"
		r.Status.Source, r.Status.Snapshot = &theSource, &theSnapshot
		r.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionVerified, Status: metav1.ConditionTrue}}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	unproven := func(r *v1beta2.EtcdRestore) { r.Status.Snapshot = nil }
	finished := func(r *v1beta2.EtcdRestore) {
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: v1beta2.ConditionComplete, Status: metav1.ConditionTrue})
	}
	deleted := func(r *v1beta2.EtcdRestore) { r.DeletionTimestamp = &metav1.Time{Time: now} }
	elsewhere := func(r *v1beta2.EtcdRestore) { r.Spec.EtcdCluster.Name = "other" }
	mine := restore("mine", time.Minute)
	for name, test := range map[string]struct {
		others []v1beta2.EtcdRestore
		busy   *v1beta2.ClusterRestoreStatus
		want   string
	}{
		"is first if there is no other restore":                        {nil, nil, ""},
		"comes after an older restore":                                 {[]v1beta2.EtcdRestore{restore("older", time.Hour)}, nil, "older"},
		"comes before a younger restore":                               {[]v1beta2.EtcdRestore{restore("younger", time.Second)}, nil, ""},
		"comes after a restore of the same age whose name sorts first": {[]v1beta2.EtcdRestore{restore("another", time.Minute)}, nil, "another"},
		"comes before an older restore that is not verified":           {[]v1beta2.EtcdRestore{restore("older", time.Hour, unproven)}, nil, ""},
		"comes before an older restore that has finished":              {[]v1beta2.EtcdRestore{restore("older", time.Hour, finished)}, nil, ""},
		"comes before an older restore that is being deleted":          {[]v1beta2.EtcdRestore{restore("older", time.Hour, deleted)}, nil, ""},
		"comes before an older restore of another cluster":             {[]v1beta2.EtcdRestore{restore("older", time.Hour, elsewhere)}, nil, ""},
		"comes after a younger restore that is in progress":            {[]v1beta2.EtcdRestore{restore("younger", time.Second)}, &v1beta2.ClusterRestoreStatus{Name: "younger", UID: "uid-younger", Step: v1beta2.RestoreSwitching}, "younger"},
		"is first after the cluster's last restore has failed":         {nil, &v1beta2.ClusterRestoreStatus{Name: "gone", UID: "uid-gone", Step: v1beta2.RestoreFailed}, ""},
		"is first if it is in progress itself":                         {nil, &v1beta2.ClusterRestoreStatus{Name: "mine", UID: "uid-mine", Step: v1beta2.RestoreSeeding}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "example"}}
			cluster.Status.Restore = test.busy
			if got := Ahead(append(test.others, mine), cluster, &mine); got != test.want {
				t.Errorf("%q comes first, want %q", got, test.want)
			}
		})
	}
}

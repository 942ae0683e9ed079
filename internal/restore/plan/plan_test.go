package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

var (
	theSource = v1beta2.RestoreSource{
		StorageType: v1beta2.StorageS3, Bucket: "backups", Key: "etcd/one.db",
		Endpoint: "http://s3:7070", Region: "eu-west-1", ForcePathStyle: true, Secret: "aws",
	}
	theSnapshot = v1beta2.Snapshot{
		Path: "backups/etcd/one.db", Revision: 42, Keys: 7, Size: 20512, SHA256: strings.Repeat("ab", 32),
		StorageVersion: "3.6.0", EtcdVersion: "3.6.16",
	}
)

// next returns the step that the rules return.
func next(s state.State) steps.Step {
	step, _ := Plan(s)
	return step
}

// given returns a State of a restore from S3 into an existing cluster, with the changes applied in order.
func given(changes ...func(*state.State)) state.State {
	s := state.State{
		Now: now,
		Restore: v1beta2.EtcdRestore{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-restore", Generation: 1},
			Spec: v1beta2.EtcdRestoreSpec{
				EtcdCluster:       v1beta2.ClusterReference{Name: "example"},
				BackupStorageType: v1beta2.StorageS3,
				Storage: v1beta2.Storage{S3: &v1beta2.S3Source{
					Path: "backups/etcd/one.db", AWSSecret: "aws", Endpoint: "http://s3:7070", ForcePathStyle: true, Region: "eu-west-1",
				}},
			},
		},
		Cluster: &v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"},
			Spec:       v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
		},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func withProof(p state.Proof) func(*state.State) { return func(s *state.State) { s.Proof = p } }

func withProven(s *state.State) {
	s.Restore.Status.Source, s.Restore.Status.Snapshot = theSource.DeepCopy(), theSnapshot.DeepCopy()
}

func withoutCluster(s *state.State) { s.Cluster = nil }

func withVersion(version string) func(*state.State) {
	return func(s *state.State) { s.Cluster.Spec.Version = version }
}

func withProgress(step v1beta2.RestoreStep) func(*state.State) {
	return func(s *state.State) { s.Cluster.Status.Restore = progress(step) }
}

func progress(step v1beta2.RestoreStep) *v1beta2.ClusterRestoreStatus {
	return &v1beta2.ClusterRestoreStatus{
		Name: "back", UID: "uid-restore", Step: step, Message: "what the cluster says", Incarnation: 2,
		ClusterIDBefore: "00000000000000aa", ClusterID: "00000000000000bb", Revision: 1000000042,
	}
}

func withStorage(kind v1beta2.StorageType, storage v1beta2.Storage) func(*state.State) {
	return func(s *state.State) { s.Restore.Spec.BackupStorageType, s.Restore.Spec.Storage = kind, storage }
}

func withEndpoint(endpoint string) func(*state.State) {
	return func(s *state.State) { s.Restore.Spec.S3.Endpoint = endpoint }
}

func givenBackup(backup *v1beta2.EtcdBackup) func(*state.State) {
	return func(s *state.State) {
		s.Restore.Spec.BackupStorageType, s.Restore.Spec.Storage = "", v1beta2.Storage{}
		s.Restore.Spec.EtcdBackup = &v1beta2.BackupReference{Name: "nightly"}
		s.Backup = backup
	}
}

func backupOf(kind v1beta2.StorageType, storage v1beta2.Storage, path string) *v1beta2.EtcdBackup {
	b := &v1beta2.EtcdBackup{Spec: v1beta2.EtcdBackupSpec{StorageType: kind, Storage: storage}}
	if b.Name = "example"; path != "" { // it is of the cluster with that name
		b.Status.Snapshot = &v1beta2.Snapshot{Path: path}
	}
	return b
}

func failed(reason string, final bool) state.Proof {
	return state.Proof{Progress: state.ProofFailed, Asked: theSource, Reason: reason, Message: "what went wrong", Final: final, Ended: now.Add(-4 * time.Second)}
}

func TestTheSourceIsReadBeforeAnythingElse(t *testing.T) {
	done := state.Proof{Progress: state.ProofDone, Source: theSource, Snapshot: theSnapshot}
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"starts to read a source that was not read":                      {given(), steps.Verify{Source: theSource}},
		"reads the source even if the cluster does not exist":            {given(withoutCluster), steps.Verify{Source: theSource}},
		"waits while the source is read":                                 {given(withProof(state.Proof{Progress: state.ProofRunning})), steps.Verifying{}},
		"accepts a verified snapshot":                                    {given(withProof(done)), steps.Accept{Source: theSource, Snapshot: theSnapshot}},
		"accepts a verified snapshot even if the cluster does not exist": {given(withProof(done), withoutCluster), steps.Accept{Source: theSource, Snapshot: theSnapshot}},
		"fails if the snapshot can never be valid":                       {given(withProof(failed(v1beta2.ReasonSnapshotCorrupt, true))), steps.Fail{Reason: v1beta2.ReasonSnapshotCorrupt, Message: "what went wrong"}},
		"reads at once if the spec selects another source":               {given(withProof(state.Proof{Progress: state.ProofFailed, Final: true})), steps.Verify{Source: theSource}},
		"does nothing for a restore that is being deleted":               {given(func(s *state.State) { s.Restore.DeletionTimestamp = &metav1.Time{Time: now} }), steps.Done{}},
		"waits after a temporary failure": {
			given(withProof(failed(v1beta2.ReasonStoreUnreachable, false))),
			steps.Wait{Reason: v1beta2.ReasonStoreUnreachable, Message: "what went wrong The next attempt is at 2026-03-04T05:06:08Z.", Failure: true, Requeue: time.Second, Patient: true},
		},
		"reads again when the pause is over": {
			given(withProof(failed(v1beta2.ReasonStoreUnreachable, false)), func(s *state.State) { s.Now = now.Add(time.Second) }),
			steps.Verify{Source: theSource},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Defect 19 of coreos/etcd-operator: a failure was final and never retried.
func TestThePauseAfterATemporaryFailureDoublesUpToFiveMinutes(t *testing.T) {
	var got []time.Duration
	for attempts := range int32(10) {
		got = append(got, backoff(attempts, problem.MostlyPassing))
	}
	s, m := time.Second, time.Minute
	want := []time.Duration{5 * s, 5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 5 * m, 5 * m, 5 * m}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestTheRestoreFollowsTheReportOfTheCluster(t *testing.T) {
	elsewhere := func(s *state.State) {
		s.Cluster.Status.Restore.UID, s.Cluster.Status.Restore.Name = "other", "other-restore"
	}
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"reports seeding":                          {given(withProven, withProgress(v1beta2.RestoreSeeding)), steps.Follow{Cluster: *progress(v1beta2.RestoreSeeding)}},
		"reports switching":                        {given(withProven, withProgress(v1beta2.RestoreSwitching)), steps.Follow{Cluster: *progress(v1beta2.RestoreSwitching)}},
		"reports growing":                          {given(withProven, withProgress(v1beta2.RestoreGrowing)), steps.Follow{Cluster: *progress(v1beta2.RestoreGrowing)}},
		"is complete when the cluster is complete": {given(withProven, withProgress(v1beta2.RestoreComplete)), steps.Complete{Cluster: *progress(v1beta2.RestoreComplete)}},
		"fails if the seed failed":                 {given(withProven, withProgress(v1beta2.RestoreFailed)), steps.Fail{Reason: v1beta2.ReasonSeedFailed, Message: "what the cluster says"}},
		"follows a cluster whose version was lowered in the meantime": {
			given(withProven, withProgress(v1beta2.RestoreGrowing), withVersion("3.5.1")), steps.Follow{Cluster: *progress(v1beta2.RestoreGrowing)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	for name, test := range map[string]struct {
		state  state.State
		reason string
		says   string
	}{
		"waits for a cluster that does not exist": {given(withProven, withoutCluster), v1beta2.ReasonWaitingForCluster, "no EtcdCluster example"},
		"waits until cluster-operator starts":     {given(withProven), v1beta2.ReasonVerified, "has not started the restore"},
		"reports that the cluster is paused":      {given(withProven, func(s *state.State) { s.Cluster.Spec.Paused = true }), v1beta2.ReasonVerified, "spec.paused"},
		"reports that the cluster hibernates":     {given(withProven, func(s *state.State) { s.Cluster.Spec.Hibernate = true }), v1beta2.ReasonVerified, "spec.hibernate"},
		"reports what the cluster waits for": {given(withProven, func(s *state.State) {
			s.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionStalled, Status: metav1.ConditionTrue, Reason: "SecretMissing", Message: "there is no Secret tls"}}
		}), v1beta2.ReasonNotStarted, "needs your help (SecretMissing): there is no Secret tls"},
		"names the other restore that comes first":    {given(withProven, func(s *state.State) { s.Ahead = "other-restore" }), v1beta2.ReasonQueued, "EtcdRestore other-restore is first"},
		"ignores the success of another restore":      {given(withProven, withProgress(v1beta2.RestoreComplete), elsewhere), v1beta2.ReasonVerified, "has not started the restore"},
		"ignores the failure of another restore":      {given(withProven, withProgress(v1beta2.RestoreFailed), elsewhere), v1beta2.ReasonVerified, "has not started the restore"},
		"waits for an EtcdBackup that does not exist": {given(givenBackup(nil)), v1beta2.ReasonBackupNotFound, "no EtcdBackup nightly"},
		"waits for an EtcdBackup's first snapshot":    {given(givenBackup(backupOf("S3", v1beta2.Storage{S3: &v1beta2.S3Source{Path: "b/k"}}, ""))), v1beta2.ReasonPending, "no snapshot yet"},
	} {
		t.Run(name, func(t *testing.T) {
			wait, ok := next(test.state).(steps.Wait)
			if !ok || wait.Reason != test.reason || !strings.Contains(wait.Message, test.says) {
				t.Errorf("got %#v", next(test.state))
			}
		})
	}
}

func TestAFinishedRestoreDoesNothingMore(t *testing.T) {
	ended := func(s *state.State) { s.Restore.Status.CompletionTime = &metav1.Time{Time: now} }
	for name, state := range map[string]state.State{
		"if its snapshot was never verified": given(ended),
		"if its snapshot was verified":       given(ended, withProven),
		"if its cluster does not exist":      given(ended, withProven, withoutCluster),
		"if its cluster reports Growing":     given(ended, withProven, withProgress(v1beta2.RestoreGrowing)),
		"if a late reading succeeds":         given(ended, withProof(state.Proof{Progress: state.ProofDone, Source: theSource, Snapshot: theSnapshot})),
		"if its cluster reports a failure":   given(ended, withProven, withProgress(v1beta2.RestoreFailed)),
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(steps.Step(steps.Done{}), next(state)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if diff := cmp.Diff(state.Restore.Status, status.New(state, next(state), nil)); diff != "" {
				t.Errorf("the status changed: want -, got +:\n%s", diff)
			}
		})
	}
}

func TestARestoreFailsIfTheSnapshotIsNewerThanTheCluster(t *testing.T) {
	with := func(storage, etcd string) v1beta2.Snapshot {
		return v1beta2.Snapshot{Path: "b/k", StorageVersion: storage, EtcdVersion: etcd}
	}
	for name, test := range map[string]struct {
		snapshot v1beta2.Snapshot
		version  string
		refused  bool
	}{
		"3.6 into 3.6":                 {with("3.6.0", "3.6.16"), "3.6.0", false},
		"3.6 into 3.7":                 {with("3.6.0", "3.6.16"), "v3.7.3", false},
		"3.7 into 3.6":                 {with("3.7.0", "3.7.3"), "3.6.16", true},
		"3.6 into 3.5":                 {with("3.6.0", ""), "3.5.35", true},
		"3.6 into the default version": {with("3.6.0", ""), "", false},
		"3.5 into 3.5":                 {with("", "3.5.9"), "3.5.35", false},
		"3.5 into 3.4":                 {with("", "3.5.9"), "3.4.1", true},
		"3.6 with the storage format of 3.5 into 3.5": {with("", "3.6.16"), "3.5.35", false},
		"a minor version of two digits":               {with("3.10.0", ""), "3.9.0", true},
		"a snapshot of an unknown version":            {with("", ""), "3.4.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			proof := state.Proof{Progress: state.ProofDone, Source: theSource, Snapshot: test.snapshot, Format: formatOf(test.snapshot)}
			fail, refused := next(given(withProof(proof), withVersion(test.version))).(steps.Fail)
			if refused != test.refused || refused && fail.Reason != v1beta2.ReasonSnapshotTooNew {
				t.Errorf("before it was accepted: refused %v, %+v", refused, fail)
			}
			late := given(withProven, withVersion(test.version), func(s *state.State) { s.Restore.Status.Snapshot = &test.snapshot })
			if fail, refused := next(late).(steps.Fail); refused != test.refused || refused && fail.Reason != v1beta2.ReasonSnapshotTooNew {
				t.Errorf("after it was accepted: refused %v, %+v", refused, fail)
			}
		})
	}
}

func TestTheSourceIsOneExactObject(t *testing.T) {
	s3 := func(path string) v1beta2.Storage { return v1beta2.Storage{S3: &v1beta2.S3Source{Path: path}} }
	gcs := v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: "b/k", GCPSecret: "gcp", Endpoint: "http://gcs"}}
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"an object in GCS":                     {given(withStorage("GCS", gcs)), steps.Verify{Source: v1beta2.RestoreSource{StorageType: "GCS", Bucket: "b", Key: "k", Secret: "gcp", Endpoint: "http://gcs"}}},
		"a key with slashes":                   {given(withStorage("S3", s3("b//k/l"))), steps.Verify{Source: v1beta2.RestoreSource{StorageType: "S3", Bucket: "b", Key: "/k/l"}}},
		"the newest snapshot of an EtcdBackup": {given(givenBackup(backupOf("GCS", gcs, "b/k/new.db"))), steps.Verify{Source: v1beta2.RestoreSource{StorageType: "GCS", Bucket: "b", Key: "k/new.db", Secret: "gcp", Endpoint: "http://gcs"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	// Defect 6 of coreos/etcd-operator: an unknown type ended the process, a missing block was a panic.
	for name, test := range map[string]struct {
		state  state.State
		reason string
		says   string
	}{
		"without a key":                         {given(withStorage("S3", s3("bucket"))), v1beta2.ReasonInvalidSpec, `"bucket"`},
		"with a folder in place of a key":       {given(withStorage("S3", s3("bucket/folder/"))), v1beta2.ReasonInvalidSpec, "add select: {}"},
		"with a password in its endpoint":       {given(withEndpoint("http://u:very-secret@s3")), v1beta2.ReasonInvalidSpec, "without user"},
		"without an s3 block":                   {given(withStorage("S3", v1beta2.Storage{})), v1beta2.ReasonInvalidSpec, "block s3"},
		"without a storage type":                {given(withStorage("", v1beta2.Storage{})), v1beta2.ReasonStorageNotSupported, "Write S3, GCS or ABS"},
		"with storage in OSS":                   {given(withStorage("OSS", v1beta2.Storage{})), v1beta2.ReasonStorageNotSupported, "S3 protocol"},
		"for an EtcdBackup in OSS":              {given(givenBackup(backupOf("OSS", v1beta2.Storage{}, ""))), v1beta2.ReasonStorageNotSupported, "EtcdBackup nightly"},
		"for an EtcdBackup without an s3 block": {given(givenBackup(backupOf("S3", v1beta2.Storage{}, "b/k"))), v1beta2.ReasonInvalidSpec, "block s3"},
	} {
		t.Run("fails "+name, func(t *testing.T) {
			fail, ok := next(test.state).(steps.Fail)
			if !ok || fail.Reason != test.reason || !strings.Contains(fail.Message, test.says) || strings.Contains(fail.Message, "very-secret") {
				t.Errorf("got %#v", next(test.state))
			}
		})
	}
}

func TestTheOrderOfTheRules(t *testing.T) {
	var got []string
	for _, group := range rules {
		if group.Name == "" || !strings.HasSuffix(group.Purpose, ".") {
			t.Errorf("group %q has the purpose %q", group.Name, group.Purpose)
		}
		for _, r := range group.Rules {
			got = append(got, r.Name)
		}
	}
	want := []string{
		"restoreIsBeingDeleted", "restoreHasFinished",
		"anotherOperatorFinished", "clusterRefuses",
		"prefixesNeedARunningCluster", "volumeIsNotReady",
		"snapshotIsNotVerified", // no other rule runs before a snapshot is accepted
		"signedURLExpires",      // the seed cannot continue without it
		"oldDataIsNotSaved",     // as long as cluster-operator waits for it
		"keysAreNotRestored",    // after the present data was saved
		"clusterReportsThisRestore",
		"clusterIsMissing", "snapshotIsTooNew", "volumesAreTooSmall", "anotherRestoreIsFirst", "clusterHasNotStarted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

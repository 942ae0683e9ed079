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
)

// seedReady: cluster-operator waits for the safety snapshot.
func seedReady(s *state.State) {
	withProven(s)
	s.Cluster.Status.Restore = progress(v1beta2.RestoreSeeding)
	s.Cluster.Status.Restore.SeedReadyTime = &metav1.Time{Time: now.Add(-time.Minute)}
}

func withSafety(saved state.Safety) func(*state.State) {
	return func(s *state.State) { s.Safety = saved }
}

func withPolicy(policy v1beta2.SafetySnapshotPolicy) func(*state.State) {
	return func(s *state.State) { s.Restore.Spec.SafetySnapshot = policy }
}

func TestTheOldDataIsSavedWhenTheSeedIsReady(t *testing.T) {
	readyFor := func(d time.Duration) func(*state.State) {
		return func(s *state.State) { s.Cluster.Status.Restore.SeedReadyTime.Time = now.Add(-d) }
	}
	unavailable := func(s *state.State) {
		s.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionFalse}}
	}
	before := func(s *state.State) {
		s.Restore.Status.SafetySnapshot = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/old", Time: metav1.NewTime(now.Add(-time.Hour))}
	}
	failed := withSafety(state.Safety{Progress: state.ProofFailed, Message: "no quorum", Ended: now.Add(-time.Second)})
	failedBefore := withSafety(state.Safety{Progress: state.ProofFailed, Message: "no quorum", Ended: now.Add(-time.Minute)})
	cluster := *given(seedReady).Cluster.Status.Restore
	after := *given(seedReady, readyFor(5*time.Minute)).Cluster.Status.Restore
	done := state.Safety{Progress: state.ProofDone, Path: "b/k", Revision: 42, Time: now.Add(-time.Minute)}
	ready := metav1.NewTime(now.Add(-time.Minute)).Rfc3339Copy()
	at := metav1.NewTime(now.Add(-5 * time.Minute)).Rfc3339Copy()
	notTaken := v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Time: at, Message: "no quorum"}
	notTakenAtOnce := v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Time: ready, Message: "no quorum"}
	earlierNotTaken := func(s *state.State) {
		s.Restore.Status.SafetySnapshot = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Time: metav1.NewTime(now.Add(-time.Hour))}
	}
	future := *given(seedReady, readyFor(-time.Minute)).Cluster.Status.Restore
	notTakenLater := v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Time: *future.SeedReadyTime, Message: "no quorum"}
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"retries a safety snapshot that was not taken if cluster-operator asks again": {given(seedReady, earlierNotTaken), steps.SaveOldData{Start: true, Cluster: cluster, Requeue: steps.ProgressInterval}},
		"gives up a retried safety snapshot after 5 minutes":                          {given(seedReady, earlierNotTaken, failed, readyFor(5*time.Minute)), steps.RecordSafety{Cluster: after, Snapshot: notTaken}},
		"records a failure with the time of the request":                              {given(seedReady, failed, unavailable, readyFor(-time.Minute)), steps.RecordSafety{Cluster: future, Snapshot: notTakenLater}},
		"starts the safety snapshot":                                                  {given(seedReady), steps.SaveOldData{Start: true, Cluster: cluster, Requeue: steps.ProgressInterval}},
		"waits while the safety snapshot is taken":                                    {given(seedReady, withSafety(state.Safety{Progress: state.ProofRunning})), steps.SaveOldData{Cluster: cluster, Requeue: steps.ProgressInterval}},
		"records the safety snapshot": {
			given(seedReady, withSafety(done)),
			steps.RecordSafety{Cluster: cluster, Snapshot: v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/k", Revision: 42, Time: ready}},
		},
		"records why no safety snapshot was taken":                           {given(seedReady, failed, readyFor(5*time.Minute)), steps.RecordSafety{Cluster: after, Snapshot: notTaken}},
		"gives up after the first failure if the cluster is not available":   {given(seedReady, failed, unavailable), steps.RecordSafety{Cluster: cluster, Snapshot: notTakenAtOnce}},
		"gives up after the first failure if the store refuses the snapshot": {given(seedReady, failed, func(s *state.State) { s.Safety.Refused = true }), steps.RecordSafety{Cluster: cluster, Snapshot: notTakenAtOnce}},
		"takes another safety snapshot if cluster-operator asks again":       {given(seedReady, before), steps.SaveOldData{Start: true, Cluster: cluster, Requeue: steps.ProgressInterval}},
		"does not record a snapshot from before the request":                 {given(seedReady, before, withSafety(state.Safety{Progress: state.ProofDone, Time: now.Add(-time.Hour)})), steps.SaveOldData{Start: true, Cluster: cluster, Requeue: steps.ProgressInterval}},
		"records the second safety snapshot":                                 {given(seedReady, before, withSafety(done)), steps.RecordSafety{Cluster: cluster, Snapshot: v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/k", Revision: 42, Time: ready}}},
		"keeps the first safety snapshot if the second one fails":            {given(seedReady, before, failed, readyFor(5*time.Minute)), steps.SaveOldData{Cluster: after, Failure: "no quorum", Requeue: steps.ProgressInterval}},
		"waits before it retries a required safety snapshot":                 {given(seedReady, failed, withPolicy("Required")), steps.SaveOldData{Cluster: cluster, Failure: "no quorum", Requeue: steps.ProgressInterval}},
		"retries a required safety snapshot after the pause":                 {given(seedReady, failedBefore, withPolicy("Required")), steps.SaveOldData{Start: true, Cluster: cluster, Failure: "no quorum", Requeue: steps.ProgressInterval}},
		"takes no second safety snapshot after it recorded a failure":        {given(seedReady, func(s *state.State) { s.Restore.Status.SafetySnapshot = &notTakenAtOnce }), steps.Follow{Cluster: cluster}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// The cause may be an election, a reset connection or one 503 of the store. Without the retry, the default policy
// replaces the present data without a copy, although cluster-operator would wait for 14 minutes more.
// cluster-operator asks for an exact safety snapshot in the step Switching, when the members refuse writes. If restore-operator did not take it there,
// each such restore would fail. If it took another than the one with the last revision, acknowledged writes would be in none.
func TestAnExactSafetySnapshotIsTakenWhileTheMembersRefuseWrites(t *testing.T) {
	switching := func(s *state.State) {
		seedReady(s)
		s.Cluster.Status.Restore.Step, s.Cluster.Status.Restore.LastRevision = v1beta2.RestoreSwitching, 50
	}
	failed := withSafety(state.Safety{Progress: state.ProofFailed, Message: "no quorum", Ended: now.Add(-time.Minute)})
	s := given(switching, withPolicy("Exact"))
	cluster := *s.Cluster.Status.Restore
	if diff := cmp.Diff(steps.Step(steps.SaveOldData{Start: true, Cluster: cluster, Requeue: steps.ProgressInterval}), next(s)); diff != "" {
		t.Errorf("it is not taken, want -, got +:\n%s", diff)
	}
	if order := state.SafetyOrderOf(s); order.MinRevision != 50 {
		t.Errorf("a snapshot from revision %d is taken for it", order.MinRevision)
	}
	if step, again := next(given(switching, withPolicy("Exact"), failed)).(steps.SaveOldData); !again || !step.Start {
		t.Errorf("it is given up after one failure: %+v", step)
	}
	if _, taken := next(given(switching, withPolicy("Required"))).(steps.SaveOldData); taken {
		t.Error("a snapshot that is not exact is taken after the switch has begun")
	}
	if status := status.New(s, next(s), nil); status.SafetySnapshot != nil {
		t.Errorf("while it is taken, the status says that it is not: %+v", status.SafetySnapshot)
	}
}

// docs/restore.md: "Exact: as Required, but the restore fails at once if the store refuses to write". The members refuse writes meanwhile.
func TestAnExactSnapshotThatTheStoreRefusesEndsAtOnce(t *testing.T) {
	s := given(seedReady, withPolicy("Exact"), withSafety(state.Safety{Progress: state.ProofFailed, Message: "AccessDenied", Ended: now.Add(-time.Minute), Refused: true}))
	s.Cluster.Status.Restore.Step, s.Cluster.Status.Restore.LastRevision = v1beta2.RestoreSwitching, 50
	step := next(s)
	if record, is := step.(steps.RecordSafety); !is || record.Snapshot.Result != v1beta2.SafetySnapshotNotTaken {
		t.Errorf("clients cannot write, the store has refused the snapshot, and restore-operator does %#v", step)
	}
}

func TestOneFailedAttemptDoesNotGiveUpTheSafetySnapshot(t *testing.T) {
	s := given(seedReady, withSafety(state.Safety{Progress: state.ProofFailed, Message: "no voter has a quorum: etcdserver: leader changed", Ended: now.Add(-time.Second)}))
	if step, is := next(s).(steps.RecordSafety); is {
		t.Errorf("the restore goes on without a safety snapshot a minute after the seed was ready: %+v", step.Snapshot)
	}
	s.Now = now.Add(safetyPause)
	if step, is := next(s).(steps.SaveOldData); !is || !step.Start {
		t.Errorf("no other attempt begins: %+v", step)
	}
}

// A safety snapshot of 2 GiB or more keeps its space for longer than 5 minutes while that of another namespace waits. Then it ended for that one, and the
// restore continued without it, although cluster-operator waits for 15 minutes: what its cluster acknowledged since the last backup was lost.
func TestASafetySnapshotThatEndedForOthersIsTriedAgainWhileClusterOperatorWaits(t *testing.T) {
	for after, again := range map[time.Duration]bool{7 * time.Minute: true, 14 * time.Minute: true, v1beta2.SafetySnapshotLimit: false} {
		ended := withSafety(state.Safety{Progress: state.ProofFailed, Message: "other namespaces waited for their turn", Ended: now.Add(-safetyPause), Others: true})
		whole, prefixes := given(seedReady, ended), given(withPrefixes, withCompared, ended)
		whole.Cluster.Status.Restore.SeedReadyTime.Time = now.Add(-after)
		prefixes.Restore.Status.Prefixes.Time.Time = now.Add(-after)
		for name, s := range map[string]state.State{"a whole cluster": whole, "prefixes": prefixes} {
			if step, is := next(s).(steps.SaveOldData); is != again || is && !step.Start {
				t.Errorf("%s, %s after the seed was ready: it is tried again: %t, %+v", name, after, is, step)
			}
		}
	}
}

// A safety snapshot waited for space of others for seven minutes, and then its first attempt failed on a short fault of a member. Its five minutes were
// over, so the restore continued without it.
func TestTimeThatASafetySnapshotLosesToOthersIsNoneOfItsPatience(t *testing.T) {
	for after, again := range map[time.Duration]bool{8 * time.Minute: true, 12*time.Minute + time.Second: false} {
		failed := withSafety(state.Safety{Progress: state.ProofFailed, Message: "etcdserver: leader changed", Ended: now.Add(-safetyPause), Lost: 7 * time.Minute})
		whole, prefixes := given(seedReady, failed), given(withPrefixes, withCompared, failed)
		whole.Cluster.Status.Restore.SeedReadyTime.Time = now.Add(-after)
		prefixes.Restore.Status.Prefixes.Time.Time = now.Add(-after)
		for name, s := range map[string]state.State{"a whole cluster": whole, "prefixes": prefixes} {
			if step, is := next(s).(steps.SaveOldData); is != again {
				t.Errorf("%s, %s after the seed was ready: it is tried again: %t, %+v", name, after, is, step)
			}
		}
	}
}

func TestTheStatusReportsWhatBecameOfTheSafetySnapshot(t *testing.T) {
	s := given(seedReady, withSafety(state.Safety{Progress: state.ProofFailed, Message: "no quorum"}))
	s.Now = now.Add(safetyPatience)
	step := next(s)
	events := step.Describe(s).Events
	if saved := status.New(s, step, nil).SafetySnapshot; saved == nil || saved.Message != "no quorum" || len(events) != 1 || events[0].Reason != "SafetySnapshotNotTaken" {
		t.Errorf("%+v, %+v", saved, events)
	}
	for name, test := range map[string]struct {
		change func(*state.State)
		says   string
	}{
		"a switch after the limit is reported":                       {seedReady, "not taken within 15m0s"},
		"a switch by an earlier cluster-operator is reported":        {withProven, "cluster-operator did not wait for it"},
		"nothing is reported if the spec skips it":                   {withPolicy("Skip"), ""},
		"nothing is reported if there was no cluster to be saved":    {func(s *state.State) { s.Cluster.Status.Restore.ClusterIDBefore = "" }, ""},
		"nothing is reported before the switch, while it is pending": {func(s *state.State) { s.Cluster.Status.Restore.Step = v1beta2.RestoreSeeding }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(withProven, withProgress(v1beta2.RestoreSwitching), test.change)
			if s.Cluster.Status.Restore.SeedReadyTime != nil {
				s.Cluster.Status.Restore.Step = v1beta2.RestoreSwitching
			}
			saved := status.New(s, next(s), nil).SafetySnapshot
			if (saved != nil) != (test.says != "") || saved != nil && !strings.Contains(saved.Message, test.says) {
				t.Errorf("%+v", saved)
			}
			// A later time would hide from cluster-operator for how long the switch was held up.
			if asked := s.Cluster.Status.Restore.SeedReadyTime; saved != nil && asked != nil && !saved.Time.Equal(asked) {
				t.Errorf("the time is %s, not that at which it was asked for, %s", saved.Time, asked)
			}
		})
	}
}

func TestASafetySnapshotLiesInAFolderOfItsOwn(t *testing.T) {
	for key, want := range map[string]string{
		"one.db":       "safety-snapshots",
		"daily/one.db": "daily/safety-snapshots",
		"daily/ns/example/00000000000000aa/20260102T030405Z-00000000000000000021.db":                            "daily/safety-snapshots",
		"daily/safety-snapshots/ns/example/00000000000000aa/20260102T030405Z-00000000000000000000.db":           "daily/safety-snapshots",
		"daily/safety-snapshots/point-uid/ns/example/00000000000000aa/20260102T030405Z-00000000000000000042.db": "daily/safety-snapshots",
	} {
		s := given(seedReady)
		s.Restore.Status.Source.Key = key
		if got := state.SafetyOrderOf(s).Target.Key; got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

func TestASafetySnapshotIsEncryptedAsTheSnapshotsOfItsEtcdBackup(t *testing.T) {
	s := given(seedReady, givenBackup(backupOf("S3", v1beta2.Storage{S3: &v1beta2.S3Source{Path: "b/daily"}}, "b/k")))
	s.Backup.Spec.Encryption = &v1beta2.Encryption{Age: v1beta2.AgeEncryption{Recipients: []string{"age1x"}}}
	s.Cluster.Status.MemberStatuses = []v1beta2.MemberStatus{{Name: "a", ClientURL: "http://a:2379"}, {Name: "b"}}
	if o := state.SafetyOrderOf(s); len(o.Encoder.Recipients) != 1 || o.Encoded || len(o.URLs) != 1 || o.Mark != "uid-restore/safety" || o.ClusterID != "00000000000000aa" {
		t.Errorf("%+v", o)
	}
	plain := given(seedReady, func(s *state.State) { s.Recipients = []string{"age1y"} })
	if o := state.SafetyOrderOf(plain); len(o.Encoder.Recipients) != 1 || o.Encoder.Recipients[0] != "age1y" {
		t.Errorf("a plain snapshot replaces the data of a cluster whose EtcdBackups encrypt: %+v", o)
	}
	s = given(seedReady, func(s *state.State) { s.Restore.Status.Snapshot.PlainSize = 9 })
	if o := state.SafetyOrderOf(s); !o.Encoded {
		t.Errorf("of an object that is encrypted: %+v", o)
	}
}

// A store without conditional writes refuses each safety snapshot, so the restore would delete data that nothing has saved.
func TestASafetySnapshotIsWrittenWithoutAConditionIfTheSpecSaysSo(t *testing.T) {
	block := v1beta2.Storage{S3: &v1beta2.S3Source{Path: "b/daily", S3Options: v1beta2.S3Options{CheckBeforeWrite: true}}}
	own := given(seedReady, func(s *state.State) { s.Restore.Spec.EtcdBackup, s.Restore.Spec.Storage = nil, block })
	for name, s := range map[string]state.State{"of an EtcdBackup": given(seedReady, givenBackup(backupOf("S3", block, "b/k"))), "of a path": own} {
		if !state.SafetyOrderOf(s).Target.Options.S3.CheckBeforeWrite {
			t.Errorf("%s: it is written with a condition", name)
		}
	}
}

// The EtcdRestore lost its status after the switch. The new status reported that there is no copy of the old data, although there
// is one.
func TestASafetySnapshotThatWasTakenIsNotDenied(t *testing.T) {
	s := given(seedReady)
	s.Cluster.Status.Restore.Step, s.Cluster.Status.Restore.SafetySnapshot = v1beta2.RestoreSwitching, "b/k"
	for _, step := range []steps.Step{next(s), steps.Accept{}} { // cluster-operator may look as soon as it is verified again
		saved := status.New(s, step, nil).SafetySnapshot
		if saved == nil || saved.Result != v1beta2.SafetySnapshotTaken || saved.Path != "b/k" || saved.Message != "" {
			t.Errorf("after %T the status says %+v", step, saved)
		}
	}
}

// A person who reads that the restore continued without a safety snapshot looks for data in a cluster that was never switched.
func TestARestoreThatFailedBeforeItsSwitchSaysNothingOfASafetySnapshot(t *testing.T) {
	s := given(seedReady)
	s.Cluster.Status.Restore.Step = v1beta2.RestoreFailed
	for _, ready := range []*metav1.Time{s.Cluster.Status.Restore.SeedReadyTime, nil} {
		s.Cluster.Status.Restore.SeedReadyTime = ready
		if saved := status.New(s, steps.Accept{}, nil).SafetySnapshot; saved != nil {
			t.Errorf("with a seed that was ready at %v the status says %+v", ready, saved)
		}
	}
}

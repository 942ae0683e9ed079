package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

var theVolume = v1beta2.RestoreVolumeStatus{RestoreVolume: v1beta2.RestoreVolume{ClaimName: "data-etcd-0", Path: "data"}, ClaimUID: "uid-claim", Size: 8 << 30}

// ofVolume makes the EtcdRestore that of a volume.
func ofVolume(found *state.Volume) func(*state.State) {
	return func(s *state.State) {
		s.Restore.Spec.BackupStorageType, s.Restore.Spec.Storage = "", v1beta2.Storage{}
		s.Restore.Spec.Volume, s.Volume = theVolume.RestoreVolume.DeepCopy(), found
	}
}

func withReadyVolume(s *state.State) {
	ofVolume(nil)(s)
	s.Restore.Status.Volume = theVolume.DeepCopy()
}

// An etcd that writes while its volume is read, or a volume that is not the one that was meant, would give the cluster wrong data.
func TestOnlyAVolumeThatNothingUsesIsRead(t *testing.T) {
	want := steps.Accept{Volume: &theVolume}
	if diff := cmp.Diff(steps.Step(want), next(given(ofVolume(&state.Volume{UID: "uid-claim", Size: 8 << 30})))); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	for name, c := range map[string]struct {
		found        *state.Volume
		reason, says string
	}{
		"does not exist":   {&state.Volume{}, v1beta2.ReasonClaimNotFound, "There is no PersistentVolumeClaim data-etcd-0 in namespace ns."},
		"was not read":     {nil, v1beta2.ReasonClaimNotFound, "There is no"},
		"is deleted":       {&state.Volume{UID: "u", Deleting: true}, v1beta2.ReasonClaimNotFound, "is being deleted"},
		"has lost its PV":  {&state.Volume{UID: "u", Lost: true}, v1beta2.ReasonClaimNotFound, "has lost its PersistentVolume"},
		"is of a member":   {&state.Volume{UID: "u", MemberOf: "other"}, v1beta2.ReasonClaimInUse, "member of EtcdCluster other"},
		"is used by a Pod": {&state.Volume{UID: "u", UsedBy: "etcd-0"}, v1beta2.ReasonClaimInUse, "Pod etcd-0 uses"},
	} {
		t.Run(name, func(t *testing.T) {
			wait, is := next(given(ofVolume(c.found))).(steps.Wait)
			if !is || wait.Reason != c.reason || !strings.Contains(wait.Message, c.says) || !wait.Stalled || wait.Requeue == 0 || !strings.Contains(wait.Message, "The cluster was not changed.") {
				t.Errorf("%+v", wait)
			}
		})
	}
}

// The seed uses the claim, and a user may delete it when the cluster serves. If the status of the EtcdRestore is lost then, the restore must not end for that, nor wait for
// the Pod of a member to stop.
func TestARestoreThatHasBegunIsAcceptedAgainIfItsStatusWasLost(t *testing.T) {
	for name, found := range map[string]*state.Volume{
		"the seed uses the claim": {UID: "uid-claim", Size: 8 << 30, UsedBy: "example-seed"},
		"the claim was deleted":   {},
	} {
		for _, step := range []v1beta2.RestoreStep{v1beta2.RestoreSeeding, v1beta2.RestoreSwitching, v1beta2.RestoreGrowing, v1beta2.RestoreComplete} {
			accept, is := next(given(ofVolume(found), withProgress(step))).(steps.Accept)
			if !is || accept.Volume.ClaimName != "data-etcd-0" || accept.Volume.ClaimUID != found.UID {
				t.Errorf("%s, %s: %+v", name, step, next(given(ofVolume(found), withProgress(step))))
			}
		}
	}
	another := given(ofVolume(&state.Volume{UID: "uid-another", Size: 1 << 30}), withProgress(v1beta2.RestoreSeeding), withRead(v1beta2.VolumeRead{}))
	if accept, is := next(another).(steps.Accept); !is || accept.Volume.ClaimUID != theVolume.ClaimUID || accept.Volume.Size != 0 {
		t.Errorf("another claim counts as the accepted one: %+v", next(another))
	}
	if step := next(given(ofVolume(nil), withProgress(v1beta2.RestoreFailed))); step == nil {
		t.Error("no step")
	}
}

// cluster-operator begins with what the status says. An earlier version of it must not begin at all.
func TestTheStatusHasTheVolumeAndNoSnapshot(t *testing.T) {
	s := given(ofVolume(&state.Volume{UID: "uid-claim", Size: 8 << 30}))
	got := status.New(s, next(s), nil)
	if diff := cmp.Diff(&theVolume, got.Volume); diff != "" || got.Snapshot != nil || got.Source != nil || got.SignedURL != nil {
		t.Errorf("%+v\n%s", got, diff)
	}
	s.Restore.Status = got
	if !s.Restore.MayBegin() || !s.Proven() || !meta.IsStatusConditionTrue(got.Conditions, v1beta2.ConditionVerified) {
		t.Errorf("the cluster may not begin: %+v", got.Conditions)
	}
	for name, step := range map[string]steps.Step{"waits": next(s), "waits for its cluster": next(given(withReadyVolume, withoutCluster))} {
		if wait, is := step.(steps.Wait); !is || !strings.Contains(wait.Message, "The volume is ready to be read") {
			t.Errorf("%s: %+v", name, step)
		}
	}
	if follow, is := next(given(withReadyVolume, withProgress(v1beta2.RestoreSeeding))).(steps.Follow); !is {
		t.Errorf("%+v", follow)
	}
	if fail, is := next(given(withReadyVolume, withProgress(v1beta2.RestoreFailed))).(steps.Fail); !is || fail.Reason != v1beta2.ReasonSeedFailed {
		t.Errorf("%+v", fail)
	}
}

// saving is an EtcdBackup of the cluster whose newest snapshot was taken that many hours ago. The EtcdRestore does not name it.
func saving(name string, hours int, change func(*v1beta2.EtcdBackup)) func(*state.State) {
	return func(s *state.State) {
		b := backupOf("S3", v1beta2.Storage{S3: &v1beta2.S3Source{Path: "bucket/" + name, AWSSecret: "secret-" + name}}, "bucket/"+name+"/ns/example/00000000000000aa/20260102T030405Z-00000000000000000021.db")
		b.Name, b.Status.Snapshot.CreatedAt = name, now.Add(-time.Duration(hours)*time.Hour).UTC().Format(time.RFC3339)
		if change != nil {
			change(b)
		}
		s.Backups = append(s.Backups, *b)
	}
}

// A user restores an old volume into a running cluster by mistake. The data of today was only on the old volumes, which are deleted after a day.
func TestThePresentDataIsSavedBeforeARestoreFromAVolume(t *testing.T) {
	encrypted := func(b *v1beta2.EtcdBackup) {
		b.Spec.Encryption = &v1beta2.Encryption{Age: v1beta2.AgeEncryption{Recipients: []string{"age1x"}}}
		b.Spec.S3.CheckBeforeWrite = true
	}
	elsewhere := func(b *v1beta2.EtcdBackup) { b.Status.Snapshot.Path = "another-bucket/k" }
	s := given(withReadyVolume, seedReadyOfVolume, saving("old", 48, nil), saving("newest", 1, encrypted), saving("older", 9, nil), saving("moved", 0, elsewhere))
	if save, is := next(s).(steps.SaveOldData); !is || !save.Start {
		t.Fatalf("%+v", next(s))
	}
	o := state.SafetyOrderOf(s)
	if o.Target.Bucket != "bucket" || o.Target.Key != "newest/safety-snapshots" || o.Target.Secret != "secret-newest" || !o.Target.Options.S3.CheckBeforeWrite {
		t.Errorf("it is saved to %+v", o.Target)
	}
	if len(o.Encoder.Recipients) != 1 || o.Encoded || o.ClusterID != "00000000000000aa" {
		t.Errorf("%+v", o)
	}
}

// If nothing can be saved, a restore would wait for 15 minutes for it, or would not say that it saves nothing.
func TestARestoreFromAVolumeSaysAtOnceIfNothingCanBeSaved(t *testing.T) {
	elsewhere := func(b *v1beta2.EtcdBackup) { b.Status.Snapshot.Path = "another-bucket/k" }
	never := func(b *v1beta2.EtcdBackup) { b.Status.Snapshot = nil }
	for name, s := range map[string]state.State{
		"no EtcdBackup":                           given(withReadyVolume, seedReadyOfVolume),
		"an EtcdBackup that has saved nothing":    given(withReadyVolume, seedReadyOfVolume, saving("b", 1, never)),
		"an EtcdBackup whose location is another": given(withReadyVolume, seedReadyOfVolume, saving("b", 1, elsewhere)),
	} {
		record, is := next(s).(steps.RecordSafety)
		if !is || record.Snapshot.Result != v1beta2.SafetySnapshotNotTaken || !strings.Contains(record.Snapshot.Message, "no EtcdBackup of EtcdCluster example has a snapshot") {
			t.Errorf("%s: %+v", name, next(s))
		}
	}
	skip := given(withReadyVolume, withProgress(v1beta2.RestoreSeeding), saving("b", 1, nil), func(s *state.State) { s.Restore.Spec.SafetySnapshot = v1beta2.SafetySnapshotSkip })
	if follow, is := next(skip).(steps.Follow); !is {
		t.Errorf("skipped: %+v", follow)
	}
}

// seedReadyOfVolume has cluster-operator wait for the safety snapshot.
func seedReadyOfVolume(s *state.State) {
	withProgress(v1beta2.RestoreSeeding)(s)
	s.Cluster.Status.Restore.ClusterIDBefore, s.Cluster.Status.Restore.SeedReadyTime = "00000000000000aa", new(metav1.NewTime(now))
}

// withRead has the seed report what it has read.
func withRead(read v1beta2.VolumeRead) func(*state.State) {
	return func(s *state.State) {
		s.Cluster.Status.Restore.Volume = &v1beta2.ClusterVolumeStatus{ClaimName: theVolume.ClaimName, ClaimUID: theVolume.ClaimUID, Read: &read}
	}
}

// The last entries of a write-ahead log may have been acknowledged to a client. A user who is not told that they are left out takes the restore for complete.
func TestARestoreSaysWhatOfTheLogIsLeftOut(t *testing.T) {
	leftOut := v1beta2.VolumeRead{Revision: 42, LogEntries: 7, LeftOutEntries: 2, FirstLeftOutRevision: 43}
	for name, c := range map[string]struct {
		read  v1beta2.VolumeRead
		event string
		says  []string
	}{
		"nothing":           {v1beta2.VolumeRead{Revision: 42, LogEntries: 7}, "VolumeRead", []string{"up to revision 42. 7 entries"}},
		"writes":            {leftOut, "LogEntriesLeftOut", []string{"up to revision 42. 7 entries", "2 entries at the end of the write-ahead log are not restored", "revision 43"}},
		"entries of leases": {v1beta2.VolumeRead{Revision: 42, LeftOutEntries: 1}, "LogEntriesLeftOut", []string{"1 entries", "None of them writes a key."}},
	} {
		for _, at := range []v1beta2.RestoreStep{v1beta2.RestoreSeeding, v1beta2.RestoreGrowing, v1beta2.RestoreComplete} {
			s := given(withReadyVolume, withProgress(at), withRead(c.read))
			step := next(s)
			found := 0
			for _, event := range step.Describe(s).Events {
				if event.Reason != c.event {
					continue
				}
				found++
				for _, says := range c.says {
					if !strings.Contains(event.Note, says) {
						t.Errorf("%s, %s: %q lacks %q", name, at, event.Note, says)
					}
				}
			}
			if found != 1 {
				t.Errorf("%s, %s: %d events in %+v", name, at, found, step.Describe(s).Events)
			}
			s.Restore.Status = status.New(s, step, nil)
			if got := s.Restore.Status.Volume.Read; got == nil || *got != c.read {
				t.Errorf("%s, %s: the status has %+v", name, at, got)
			}
			for _, event := range next(s).Describe(s).Events {
				if event.Reason == c.event {
					t.Errorf("%s, %s: the event is repeated", name, at)
				}
			}
		}
	}
	s := given(withReadyVolume, withProgress(v1beta2.RestoreComplete), withRead(leftOut))
	complete := meta.FindStatusCondition(status.New(s, next(s), nil).Conditions, v1beta2.ConditionComplete)
	if !strings.Contains(complete.Message, "2 entries at the end of the write-ahead log are not restored") {
		t.Errorf("the condition says %q", complete.Message)
	}
}

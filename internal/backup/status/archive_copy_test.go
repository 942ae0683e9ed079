package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// copiedState is a series with an archive that is copied up to revision 18, two minutes ago.
func copiedState(t *testing.T, changes ...func(*state.State)) state.State {
	t.Helper()
	return statetest.ArchivingState(t, append([]func(*state.State){statetest.Copies, func(s *state.State) {
		path := s.CopyTarget.Path() + "/ns/b/0000000000000abc/x.db"
		s.Status.Copies = &v1beta2.BackupCopies{ObservedGeneration: s.Generation, Newest: &v1beta2.Snapshot{Path: path}}
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1beta2.ConditionCopied, Status: metav1.ConditionTrue, Reason: v1beta2.ReasonCopied, ObservedGeneration: s.Generation})
		s.ArchiveCopy = &state.ArchiveCopy{Begun: true, Surveyed: true, Covered: true, Ranges: []archive.Range{statetest.RangeTo(*s, 18, -2*time.Minute)}}
	}}, changes...)...)
}

func copied(s state.State) (v1beta2.EtcdBackupStatus, *metav1.Condition) {
	out := NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	return out, state.ConditionOf(out.Conditions, v1beta2.ConditionArchiveCopied)
}

// A user who reads True relies on the second location.
func TestTheStatusSaysWhetherTheSecondLocationHasTheArchive(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*state.State)
		reason string
		says   string
	}{
		"it has all":                         {func(*state.State) {}, "", "Revision 18 of"},
		"the operator has just begun":        {func(s *state.State) { s.ArchiveCopy = &state.ArchiveCopy{Idle: s.Now} }, v1beta2.ReasonCopying, "oldest first"},
		"it lags":                            {func(s *state.State) { s.ArchiveCopy.Delayed = time.Minute }, v1beta2.ReasonArchiveDelayed, "twice maxLag"},
		"no snapshot there reaches its end":  {func(s *state.State) { s.ArchiveCopy.Covered = false }, v1beta2.ReasonArchiveIncomplete, "next snapshot is copied"},
		"the first location lacks an object": {func(s *state.State) { s.ArchiveCopy.Lacking = "One is lost." }, v1beta2.ReasonArchiveIncomplete, "One is lost."},
		"the second one cannot be listed":    {func(s *state.State) { s.ArchiveCopy.Unread = "It is unread." }, v1beta2.ReasonArchiveIncomplete, "may list points"},
		"old parts are not deleted":          {func(s *state.State) { s.ArchiveCopy.Unpruned = "Old parts remain." }, "", "Old parts remain."},
		"it fails": {func(s *state.State) {
			s.ArchiveCopy.Failures, s.ArchiveCopy.Failure = 2, &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "Denied."}
		}, v1beta2.ReasonAccessDenied, "Denied. The first location is not affected."},
		"it failed once": {func(s *state.State) {
			s.ArchiveCopy.Failures, s.ArchiveCopy.Failure = 1, &state.Failure{Reason: v1beta2.ReasonAccessDenied}
		}, "", ""},
		"its Secret is missing": {func(s *state.State) {
			s.CopyProblem = &state.Failure{Reason: v1beta2.ReasonSecretMissing, Message: "Missing."}
		}, v1beta2.ReasonSecretMissing, "Missing."},
		"it is the first one under two names": {func(s *state.State) {
			s.Status.Conditions[len(s.Status.Conditions)-1].Reason = v1beta2.ReasonInvalidSpec
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1beta2.ConditionArchiveCopied, Status: metav1.ConditionTrue, Reason: v1beta2.ReasonCopied})
		}, v1beta2.ReasonArchiveStopped, "Copied"},
	} {
		_, c := copied(copiedState(t, test.change))
		want := metav1.ConditionFalse
		if test.reason == "" {
			test.reason, want = v1beta2.ReasonCopied, metav1.ConditionTrue
		}
		if c == nil || c.Status != want || c.Reason != test.reason || !strings.Contains(c.Message, test.says) {
			t.Errorf("%s: %+v, want %s and %q", name, c, test.reason, test.says)
		}
	}
}

func TestTheStatusListsWhatTheSecondLocationCanRestore(t *testing.T) {
	s := copiedState(t)
	out, _ := copied(s)
	if r := out.Copies.Recoverable; len(r) != 1 || r[0].To.Revision != 18 || out.Recoverable[0].To.Revision != 20 {
		t.Fatalf("%+v and %+v", r, out.Recoverable)
	}
	s.Status = out
	s.ArchiveCopy.Ranges = []archive.Range{statetest.RangeTo(s, 19, -90*time.Second)}
	if out, _ = copied(s); out.Copies.Recoverable[0].To.Revision != 18 {
		t.Error("the status is written more than once a minute")
	}
	s.ArchiveCopy.Failure = &state.Failure{Reason: v1beta2.ReasonStoreUnavailable}
	if out, _ = copied(s); out.Copies.Recoverable[0].To.Revision != 19 {
		t.Error("the end is not exact while the second location fails")
	}
	s.ArchiveCopy = nil // the operator has just started
	if out, c := copied(s); len(out.Copies.Recoverable) != 1 || c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("after a restart: %+v and %+v", out.Copies.Recoverable, c)
	}
	moved := copiedState(t, func(s *state.State) { s.CopyTarget.Bucket = "elsewhere" })
	moved.Status.Copies.Recoverable = out.Copies.Recoverable
	if out, _ := copied(moved); out.Copies.Recoverable != nil {
		t.Error("the status lists points of another location")
	}
	s.Spec.Continuous = nil
	if out, c := copied(s); out.Copies.Recoverable != nil || c != nil {
		t.Error("an archive that is not kept any more is still reported as copied")
	}
}

func TestTheArchiveIsCopiedAfterTheFirstSnapshotAndOnlyWhileTheSpecAsks(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*state.State)
		want   bool
	}{
		"a snapshot is there":     {func(*state.State) {}, true},
		"the series is suspended": {func(s *state.State) { s.Spec.BackupPolicy.Suspend = true }, true},
		"the cluster is lost": {func(s *state.State) {
			s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
			s.Status.Copies.Newest.Path = s.CopyTarget.Path() + "/ns/x/0000000000000abc/x.db"
		}, true},
		"a later copy of a snapshot fails":       {func(s *state.State) { s.Status.Copies.Attempts = 3 }, true},
		"no snapshot is there":                   {func(s *state.State) { s.Status.Copies.Newest = nil }, false},
		"the snapshot is in an earlier location": {func(s *state.State) { s.CopyTarget.Key = "another/folder" }, false},
		"the EtcdBackup is being deleted":        {func(s *state.State) { s.Deleting = true }, false},
		"it has no finalizer yet":                {func(s *state.State) { s.Spec.DeletionPolicy = v1beta2.DeletionDelete }, false},
		"the second location is refused":         {func(s *state.State) { s.CopyProblem = &state.Failure{} }, false},
		"nothing is archived":                    {func(s *state.State) { s.Spec.Continuous = nil }, false},
		"there is no second location":            {func(s *state.State) { s.Spec.CopyTo = nil }, false},
	} {
		s := copiedState(t, test.change)
		if state.ArchiveCopied(s) != test.want {
			t.Errorf("%s: copied %t, want %t", name, !test.want, test.want)
		}
		if prunes := state.CopyPrunes(s); name == "a snapshot is there" && !prunes {
			t.Error("old parts are never deleted")
		}
	}
	s := copiedState(t)
	s.Generation++
	if state.CopyPrunes(s) {
		t.Error("old parts are deleted before the locations were compared for this spec")
	}
}

func TestAnEventReportsACopyThatStopsAndContinues(t *testing.T) {
	at := func(status metav1.ConditionStatus) v1beta2.EtcdBackupStatus {
		return v1beta2.EtcdBackupStatus{Conditions: []metav1.Condition{{Type: v1beta2.ConditionArchiveCopied, Status: status, Reason: "Reason", Message: "Why."}}}
	}
	if n := len(ArchiveCopyEvents(v1beta2.EtcdBackupStatus{}, at(metav1.ConditionFalse))) + len(ArchiveCopyEvents(at(metav1.ConditionTrue), at(metav1.ConditionTrue))); n > 0 {
		t.Errorf("%d events about nothing", n)
	}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
		other := map[metav1.ConditionStatus]metav1.ConditionStatus{metav1.ConditionTrue: metav1.ConditionFalse, metav1.ConditionFalse: metav1.ConditionTrue}[status]
		if events := ArchiveCopyEvents(at(other), at(status)); len(events) != 1 {
			t.Errorf("to %s: %+v", status, events)
		}
	}
}

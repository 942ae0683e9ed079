package status

import (
	"encoding/json"
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

func asJSON(status v1beta2.EtcdBackupStatus) string {
	text, _ := json.Marshal(status)
	return string(text)
}

func TestABaseIsNotTheAnswerToAUsersRequest(t *testing.T) {
	s := statetest.ArchivingState(t, statetest.Wants("a gap"))
	s.Status.HandledRequest = "before"
	if o := state.JobSpecOf(s); o.Base != "a gap" || !strings.Contains(o.Request, "a gap") {
		t.Errorf("the attempt has base %q and request %q", o.Base, o.Request)
	}
	s.Attempt = &state.Attempt{
		Request: state.JobSpecOf(s).Request, Base: "a gap", Generation: s.Generation, Number: 1,
		Result: &state.Result{EndedAt: s.Now, Snapshot: statetest.SnapshotAt(s.Target.Path()+"/ns/b/0000000000000abc/y.db", s.Now)},
	}
	if out := NewStatus(s, plan.Report{}, nil); out.HandledRequest != "before" || out.Attempts != 0 {
		t.Errorf("the handled request is %q after %d attempts", out.HandledRequest, out.Attempts)
	}
}

// The archiver decides how often the end of the archive is reported. If each pass showed the exact end, the status of a busy cluster would be written
// in each pass.
func TestTheStatusOfARunningArchiveChangesOnlyWhenTheArchiverSaysSo(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Archive.Shown = s.Archive.Ranges[0].To
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	writes, last := 0, asJSON(s.Status)
	for second := range 600 { // 10 minutes
		s.Now = s.Now.Add(time.Second)
		s.Archive.Ranges = []archive.Range{s.Archive.Ranges[0]}
		s.Archive.Ranges[0].To = archive.Point{Revision: s.Archive.Ranges[0].To.Revision + 3, At: s.Now}
		if second%60 == 59 {
			s.Archive.Shown = s.Archive.Ranges[0].To
		}
		s.Status = NewStatus(s, plan.Scheduled{At: s.Status.NextTime.Time}, nil)
		if now := asJSON(s.Status); now != last {
			writes, last = writes+1, now
		}
	}
	if writes != 10 {
		t.Errorf("%d writes in 10 minutes of a busy cluster, want 10", writes)
	}
	if got := s.Status.Recoverable[0].To.Revision; got != 20+3*600 {
		t.Errorf("the end is revision %d", got)
	}
}

func TestTheStatusOfTheArchiveSaysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*state.State)
		reason string
		text   string
	}{
		"all changes are archived":             {func(*state.State) {}, v1beta2.ReasonArchiving, "Revision 20"},
		"the archive waits for its first base": {func(s *state.State) { s.Archive = &state.Archive{Want: "the archive begins"} }, v1beta2.ReasonArchiveStarting, "the archive begins"},
		"no archiver runs yet":                 {func(s *state.State) { s.Archive = nil }, v1beta2.ReasonArchiveStarting, ""},
		"the store fails":                      {func(s *state.State) { s.Archive.Delayed, s.Archive.StoreError = time.Minute, "503" }, v1beta2.ReasonArchiveDelayed, "503"},
		"no snapshot is a base":                {func(s *state.State) { s.Archive.Covered = false }, v1beta2.ReasonArchiveIncomplete, "next snapshot"},
		"a single failure is not reported": {func(s *state.State) {
			s.Archive.Failures, s.Archive.Failure = 1, &state.Failure{Reason: "X", Message: "y"}
		}, v1beta2.ReasonArchiving, ""},
		"a repeated failure is reported": {func(s *state.State) {
			s.Archive.Failures, s.Archive.Failure = 2, &state.Failure{Reason: "X", Message: "y."}
		}, "X", "y."},
		"the series is suspended":                                     {func(s *state.State) { s.Spec.BackupPolicy.Suspend = true }, v1beta2.ReasonSuspended, "suspend"},
		"a base failed its test and is replaced in a minute":          {func(s *state.State) { s.Archive.Replace = s.Now.Add(time.Minute) }, v1beta2.ReasonArchiving, "another one at 2"},
		"a base failed its test and is replaced now":                  {func(s *state.State) { s.Archive.Replace, s.Archive.Want = s.Now, "x" }, v1beta2.ReasonArchiving, "another one now"},
		"no base passed its test, and a new one is taken in a minute": {func(s *state.State) { s.Archive.Covered, s.Archive.Replace = false, s.Now.Add(time.Minute) }, v1beta2.ReasonArchiveIncomplete, "another one at 2"},
		"old parts could not be deleted":                              {func(s *state.State) { s.Archive.Unpruned = "Old parts." }, v1beta2.ReasonArchiving, "Old parts."},
	} {
		s := statetest.ArchivingState(t, test.change)
		out := NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
		c := state.ConditionOf(out.Conditions, v1beta2.ConditionArchiving)
		if c == nil || c.Reason != test.reason || !strings.Contains(c.Message, test.text) {
			t.Errorf("%s: %+v, want reason %s and %q", name, c, test.reason, test.text)
		}
		if ready := state.ConditionOf(out.Conditions, v1beta2.ConditionReady); ready.Status != metav1.ConditionTrue {
			t.Errorf("%s: the snapshots are not ready: %+v", name, ready)
		}
	}
}

func TestARestartOfTheOperatorDoesNotChangeTheReportedArchive(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	s.Archive = &state.Archive{}
	if out := NewStatus(s, plan.Scheduled{At: s.Status.NextTime.Time}, nil); asJSON(out) != asJSON(s.Status) {
		t.Errorf("the status changed to %+v", out)
	}
}

func TestAnArchiveThatTheSpecHasNoMoreIsReportedUntilTheDeletion(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	s.Spec.Continuous, s.Archive = nil, nil
	out := NewStatus(s, plan.Scheduled{At: s.Status.NextTime.Time}, nil)
	if c := state.ConditionOf(out.Conditions, v1beta2.ConditionArchiving); c == nil || c.Reason != v1beta2.ReasonArchiveStopped || out.Recoverable != nil {
		t.Errorf("condition %+v, recoverable %v", c, out.Recoverable)
	}
	if s.Status = out; !state.JobSpecOf(s).Archived {
		t.Error("a deletion would leave the archive in the store")
	}
	if state.JobSpecOf(statetest.One()).Archived {
		t.Error("an EtcdBackup that never had an archive would look for one")
	}
}

func TestLostChangesAndNewTimelinesAreEvents(t *testing.T) {
	at := func(timeline, from, to int64) v1beta2.RecoverableRange {
		return v1beta2.RecoverableRange{Timeline: timeline, From: v1beta2.RecoverablePoint{Revision: from}, To: v1beta2.RecoverablePoint{Revision: to}}
	}
	before := v1beta2.EtcdBackupStatus{Recoverable: []v1beta2.RecoverableRange{at(1, 10, 20)}}
	for name, test := range map[string]struct {
		after []v1beta2.RecoverableRange
		lost  archive.Timeline
		want  string
	}{
		"the range grows":                       {[]v1beta2.RecoverableRange{at(1, 10, 30)}, 0, ""},
		"the range is pruned":                   {[]v1beta2.RecoverableRange{at(1, 15, 30)}, 0, ""},
		"a gap begins a new range":              {[]v1beta2.RecoverableRange{at(1, 10, 20), at(1, 40, 41)}, 0, "ChangesLost"},
		"a new timeline with earlier revisions": {[]v1beta2.RecoverableRange{at(1, 10, 20), at(2, 5, 6)}, 0, "TimelineBegun"},
		"a new timeline with later revisions":   {[]v1beta2.RecoverableRange{at(1, 10, 20), at(2, 40, 41)}, 0, "TimelineBegun"},
		"no range is left":                      {nil, 0, ""},

		"a new timeline after lost changes":                 {[]v1beta2.RecoverableRange{at(1, 10, 20), at(2, 40, 41)}, 2, "ChangesLostTimelineBegun"},
		"a second new timeline after one with lost changes": {[]v1beta2.RecoverableRange{at(2, 30, 35), at(3, 40, 41)}, 2, "TimelineBegun"},
	} {
		got := ""
		for _, e := range ArchiveEvents(before, v1beta2.EtcdBackupStatus{Recoverable: test.after}, &state.Archive{Ranges: []archive.Range{{Timeline: test.lost, Lost: true}}}) {
			got += e.Reason
		}
		if got != test.want {
			t.Errorf("%s: events %q, want %q", name, got, test.want)
		}
	}
}

func TestAHibernatedClusterIsNoFailureOfItsArchive(t *testing.T) {
	s := statetest.ArchivingState(t)
	statetest.InCluster(&s, true)
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
	if c.Reason != v1beta2.ReasonClusterNotAvailable || !strings.Contains(c.Message, "hibernates") {
		t.Errorf("while the cluster hibernates: %+v", c)
	}
	s.Archive = &state.Archive{}
	statetest.InCluster(&s, false)
	out := NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	if c := state.ConditionOf(out.Conditions, v1beta2.ConditionArchiving); c.Reason != v1beta2.ReasonArchiveStarting {
		t.Errorf("when the cluster is resumed: %+v", c)
	}
}

package backup

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// archiving is a change of a State: a series with a continuous archive, whose archiver runs.
func archivingState(t *testing.T, change ...func(*State)) State {
	t.Helper()
	s := one()
	s.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
	s.Spec.Continuous = &v1beta2.ContinuousArchive{}
	s.Target, s.Problem = target(s.Namespace, s.Name, s.Spec)
	s.Status.ObservedGeneration = s.Generation
	s.Status.Snapshot = snapshotAt(s.Target.Path()+"/ns/b/0000000000000abc/x.db", s.Now.Add(-time.Minute))
	s.Status.LastSuccessDate = second(s.Now.Add(-time.Minute))
	s.Archive = &Archive{Begun: true, Surveyed: true, Covered: true, Ranges: []archive.Range{rangeTo(s, 20, 0)}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func rangeTo(s State, revision int64, later time.Duration) archive.Range {
	return archive.Range{
		Timeline: 1, From: archive.Point{Revision: 10, At: s.Now.Add(-time.Hour)},
		To: archive.Point{Revision: revision, At: s.Now.Add(later)},
	}
}

func asJSON(status v1beta2.EtcdBackupStatus) string {
	text, _ := json.Marshal(status)
	return string(text)
}

func wants(reason string) func(*State) { return func(s *State) { s.Archive.Want = reason } }

func TestAnArchiveThatNeedsABaseTakesASnapshotAtOnce(t *testing.T) {
	suspend := func(s *State) { s.Spec.BackupPolicy.Suspend = true }
	for name, test := range map[string]struct {
		state State
		want  Step
	}{
		"takes no snapshot if the archive needs no base":                    {archivingState(t), nil},
		"takes a snapshot if the archive needs a base":                      {archivingState(t, wants("a gap")), TakeSnapshot{Number: 1, Base: "a gap"}},
		"takes the snapshot that a user requested first":                    {archivingState(t, wants("a gap"), func(s *State) { s.Request = "now" }), TakeSnapshot{Number: 1}},
		"takes no snapshot of a suspended series":                           {archivingState(t, wants("a gap"), suspend), nil},
		"takes no snapshot for an archive that the spec no longer asks for": {archivingState(t, wants("a gap"), func(s *State) { s.Spec.Continuous = nil }), nil},
		"sets the finalizer first":                                          {archivingState(t, wants("a gap"), func(s *State) { s.Spec.DeletionPolicy = v1beta2.DeletionDelete }), Hold{}},
	} {
		t.Run(name, func(t *testing.T) {
			step, rule := Plan(test.state)
			_, takes := step.(TakeSnapshot)
			if test.want != nil && step != test.want || test.want == nil && takes {
				t.Errorf("rule %s gives %#v, want %#v", rule, step, test.want)
			}
		})
	}
}

func TestABaseIsNotTheAnswerToAUsersRequest(t *testing.T) {
	s := archivingState(t, wants("a gap"))
	s.Status.HandledRequest = "before"
	if o := jobSpecOf(s); o.Base != "a gap" || !strings.Contains(o.Request, "a gap") {
		t.Errorf("the attempt has base %q and request %q", o.Base, o.Request)
	}
	s.Attempt = &Attempt{
		Request: jobSpecOf(s).Request, Base: "a gap", Generation: s.Generation, Number: 1,
		Result: &Result{EndedAt: s.Now, Snapshot: snapshotAt(s.Target.Path()+"/ns/b/0000000000000abc/y.db", s.Now)},
	}
	if out := NewStatus(s, Report{}, nil); out.HandledRequest != "before" || out.Attempts != 0 {
		t.Errorf("the handled request is %q after %d attempts", out.HandledRequest, out.Attempts)
	}
}

func TestAnArchiverRunsOnlyWhileTheSpecAsksForIt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*State)
		want   bool
	}{
		"the spec asks for an archive":     {func(*State) {}, true},
		"without continuous":               {func(s *State) { s.Spec.Continuous = nil }, false},
		"while the series is suspended":    {func(s *State) { s.Spec.BackupPolicy.Suspend = true }, false},
		"while the EtcdBackup is deleted":  {func(s *State) { s.Deleting = true }, false},
		"with an invalid spec":             {func(s *State) { s.Problem = invalid("x") }, false},
		"before the finalizer is set":      {func(s *State) { s.Spec.DeletionPolicy = v1beta2.DeletionDelete }, false},
		"after the finalizer was set":      {func(s *State) { s.Spec.DeletionPolicy, s.Held = v1beta2.DeletionDelete, true }, true},
		"without its EtcdCluster":          {func(s *State) { s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"} }, false},
		"with an EtcdCluster":              {func(s *State) { inCluster(s, false) }, true},
		"while the EtcdCluster hibernates": {func(s *State) { inCluster(s, true) }, false},
		"for a one-shot":                   {func(s *State) { s.Spec.BackupPolicy = nil }, false},
	} {
		s := archivingState(t, test.change)
		if got := archiveOf(s) != nil; got != test.want {
			t.Errorf("%s: an archiver runs: %t, want %t", name, got, test.want)
		}
	}
}

func TestTheStatusShowsTheEndOfTheArchiveOnceAMinute(t *testing.T) {
	s := archivingState(t)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	writes, last := 0, asJSON(s.Status)
	for range 600 { // 10 minutes
		s.Now = s.Now.Add(time.Second)
		s.Archive.Ranges = []archive.Range{s.Archive.Ranges[0]}
		s.Archive.Ranges[0].To = archive.Point{Revision: s.Archive.Ranges[0].To.Revision + 3, At: s.Now}
		s.Status = NewStatus(s, Scheduled{At: s.Status.NextTime.Time}, nil)
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

// If a clock was ahead by an hour, all changes get its last time until the right clock has reached it. The status showed the same revision
// for that hour.
func TestTheStatusShowsTheEndOfAnArchiveWhoseTimeStandsStill(t *testing.T) {
	s := archivingState(t)
	s.Archive.Ranges[0].To.At = s.Now.Add(time.Hour)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	for range 5 {
		s.Now = s.Now.Add(s.soonest(0))
		s.Archive.Ranges = []archive.Range{s.Archive.Ranges[0]}
		s.Archive.Ranges[0].To.Revision += 3
		s.Status = NewStatus(s, Scheduled{At: s.Status.NextTime.Time}, nil)
		if got, want := s.Status.Recoverable[0].To.Revision, s.Archive.Ranges[0].To.Revision; got != want {
			t.Fatalf("at %s the status shows revision %d, want %d", s.Now, got, want)
		}
	}
}

// A user who loses a cluster restores to the end that the status shows. A pass that comes slightly too early must not double its
// age.
func TestTheEndInTheStatusIsNeverOlderThanAMinuteAndTwiceTheLag(t *testing.T) {
	for _, lag := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} {
		s := archivingState(t)
		s.Spec.Continuous.MaxLag = lag.String()
		s.Archive.Ranges[0].To.At = s.Now
		s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
		for i := range 200 {
			s.Now = s.Now.Add(s.soonest(0))
			if age := s.Now.Sub(s.Status.Recoverable[0].To.Time.Time); age > archiveInterval+2*lag+archiveInterval/4 {
				t.Fatalf("pass %d: with a lag of up to %s the status shows an end that is %s old", i, lag, age)
			}
			behind := lag * time.Duration(i*i*37%50) / 50
			s.Archive.Ranges = []archive.Range{s.Archive.Ranges[0]}
			s.Archive.Ranges[0].To = archive.Point{Revision: s.Archive.Ranges[0].To.Revision + 3, At: s.Now.Add(-behind)}
			s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
		}
	}
}

func TestTheStatusOfTheArchiveSaysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*State)
		reason string
		text   string
	}{
		"all changes are archived":                                    {func(*State) {}, v1beta2.ReasonArchiving, "Revision 20"},
		"the archive waits for its first base":                        {func(s *State) { s.Archive = &Archive{Want: "the archive begins"} }, v1beta2.ReasonArchiveStarting, "the archive begins"},
		"no archiver runs yet":                                        {func(s *State) { s.Archive = nil }, v1beta2.ReasonArchiveStarting, ""},
		"the store fails":                                             {func(s *State) { s.Archive.Delayed, s.Archive.StoreError = time.Minute, "503" }, v1beta2.ReasonArchiveDelayed, "503"},
		"no snapshot is a base":                                       {func(s *State) { s.Archive.Covered = false }, v1beta2.ReasonArchiveIncomplete, "next snapshot"},
		"a single failure is not reported":                            {func(s *State) { s.Archive.Failures, s.Archive.Failure = 1, &Failure{"X", "y"} }, v1beta2.ReasonArchiving, ""},
		"a repeated failure is reported":                              {func(s *State) { s.Archive.Failures, s.Archive.Failure = 2, &Failure{"X", "y."} }, "X", "y."},
		"the series is suspended":                                     {func(s *State) { s.Spec.BackupPolicy.Suspend = true }, v1beta2.ReasonSuspended, "suspend"},
		"a base failed its test and is replaced in a minute":          {func(s *State) { s.Archive.Replace = s.Now.Add(time.Minute) }, v1beta2.ReasonArchiving, "another one at 2"},
		"a base failed its test and is replaced now":                  {func(s *State) { s.Archive.Replace, s.Archive.Want = s.Now, "x" }, v1beta2.ReasonArchiving, "another one now"},
		"no base passed its test, and a new one is taken in a minute": {func(s *State) { s.Archive.Covered, s.Archive.Replace = false, s.Now.Add(time.Minute) }, v1beta2.ReasonArchiveIncomplete, "another one at 2"},
		"old parts could not be deleted":                              {func(s *State) { s.Archive.Unpruned = "Old parts." }, v1beta2.ReasonArchiving, "Old parts."},
	} {
		s := archivingState(t, test.change)
		out := NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
		c := conditionOf(out.Conditions, v1beta2.ConditionArchiving)
		if c == nil || c.Reason != test.reason || !strings.Contains(c.Message, test.text) {
			t.Errorf("%s: %+v, want reason %s and %q", name, c, test.reason, test.text)
		}
		if ready := conditionOf(out.Conditions, v1beta2.ConditionReady); ready.Status != metav1.ConditionTrue {
			t.Errorf("%s: the snapshots are not ready: %+v", name, ready)
		}
	}
}

func TestARestartOfTheOperatorDoesNotChangeTheReportedArchive(t *testing.T) {
	s := archivingState(t)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	s.Archive = &Archive{}
	if out := NewStatus(s, Scheduled{At: s.Status.NextTime.Time}, nil); asJSON(out) != asJSON(s.Status) {
		t.Errorf("the status changed to %+v", out)
	}
}

func TestAnArchiveThatTheSpecHasNoMoreIsReportedUntilTheDeletion(t *testing.T) {
	s := archivingState(t)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	s.Spec.Continuous, s.Archive = nil, nil
	out := NewStatus(s, Scheduled{At: s.Status.NextTime.Time}, nil)
	if c := conditionOf(out.Conditions, v1beta2.ConditionArchiving); c == nil || c.Reason != v1beta2.ReasonArchiveStopped || out.Recoverable != nil {
		t.Errorf("condition %+v, recoverable %v", c, out.Recoverable)
	}
	if s.Status = out; !jobSpecOf(s).Archived {
		t.Error("a deletion would leave the archive in the store")
	}
	if jobSpecOf(one()).Archived {
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
		for _, e := range archiveEvents(before, v1beta2.EtcdBackupStatus{Recoverable: test.after}, &Archive{Ranges: []archive.Range{{Timeline: test.lost, Lost: true}}}) {
			got += e.Reason
		}
		if got != test.want {
			t.Errorf("%s: events %q, want %q", name, got, test.want)
		}
	}
}

func TestEtcdBefore35IsNotArchived(t *testing.T) {
	for version, want := range map[string]string{"3.4.37": "refused", "3.5.9": "advice", "3.5.16": "", "3.6.0": "", "3.7.0-rc.1": "", "4.0.0": ""} {
		advice, err := archivable(version)
		if got := map[bool]string{true: "refused", false: map[bool]string{true: "advice", false: ""}[advice != ""]}[err != nil]; got != want {
			t.Errorf("etcd %s: %q, want %q", version, got, want)
		}
	}
}

// inCluster makes the series one of an EtcdCluster.
func inCluster(s *State, hibernated bool) {
	s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
	s.Cluster = &Cluster{Name: "x", ClientURLs: []string{"http://x:2379"}, Available: !hibernated, Hibernated: hibernated}
}

func TestAHibernatedClusterIsNoFailureOfItsArchive(t *testing.T) {
	s := archivingState(t)
	inCluster(&s, true)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := conditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
	if c.Reason != v1beta2.ReasonClusterNotAvailable || !strings.Contains(c.Message, "hibernates") {
		t.Errorf("while the cluster hibernates: %+v", c)
	}
	s.Archive = &Archive{}
	inCluster(&s, false)
	out := NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	if c := conditionOf(out.Conditions, v1beta2.ConditionArchiving); c.Reason != v1beta2.ReasonArchiveStarting {
		t.Errorf("when the cluster is resumed: %+v", c)
	}
}

// The archiver paused for up to a minute. A cluster that was resumed or got its quorum back was not archived during the
// pause.
func TestAnArchiverComesBackSoonAfterItsMembers(t *testing.T) {
	lost, store := ofMembers(errors.New("unavailable")), errors.New("503")
	for failures := int32(1); failures < 100; failures++ {
		if d := archiveDelay(failures, lost, time.Second); d > 5*time.Second || d < time.Second {
			t.Fatalf("after %d failures of the members it waits for %s", failures, d)
		}
		if d := archiveDelay(failures, lost, time.Hour); d > time.Minute {
			t.Fatalf("after %d failures of the members it waits for %s", failures, d)
		}
	}
	if d := archiveDelay(20, store, time.Second); d != time.Minute {
		t.Errorf("after 20 failures of the store it waits for %s", d)
	}
}

package backup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// The condition was True and named a revision, although nothing was archived any more.
func TestAnArchiveThatStandsStillIsNotReportedAsComplete(t *testing.T) {
	const unread = "The operator could not read the archive: 503."
	for name, test := range map[string]struct {
		archive func(now time.Time) *Archive
		reason  string
		text    string
	}{
		"the operator has just started":        {func(now time.Time) *Archive { return &Archive{Idle: now.Add(-time.Second)} }, v1beta2.ReasonArchiving, "Revision 20"},
		"the archiver has waited for a minute": {func(now time.Time) *Archive { return &Archive{Idle: now.Add(-time.Minute)} }, v1beta2.ReasonArchiveStarting, "since"},
		"one failed attempt took a minute": {func(now time.Time) *Archive {
			return &Archive{Idle: now.Add(-time.Minute), Failures: 1, Failure: &Failure{"X", "y."}}
		}, "X", "y."},
		"uploads fail before the archive was read": {func(time.Time) *Archive { return &Archive{Begun: true, Delayed: time.Hour} }, v1beta2.ReasonArchiveDelayed, ""},
		"the archive cannot be read":               {func(time.Time) *Archive { return &Archive{Begun: true, Unread: unread} }, v1beta2.ReasonArchiveStarting, unread},
		"a part of the archive is damaged": {func(time.Time) *Archive {
			return &Archive{Begun: true, Surveyed: true, Covered: true, Corrupt: true, Unread: unread}
		}, v1beta2.ReasonArchiveCorrupt, unread},
	} {
		s := archivingState(t)
		s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
		s.Archive = test.archive(s.Now)
		c := conditionOf(NewStatus(s, Scheduled{At: s.Status.NextTime.Time}, nil).Conditions, v1beta2.ConditionArchiving)
		if want := test.reason == v1beta2.ReasonArchiving; c.Reason != test.reason || !strings.Contains(c.Message, test.text) || (c.Status == metav1.ConditionTrue) != want {
			t.Errorf("%s: %+v, want reason %s and %q", name, c, test.reason, test.text)
		}
	}
}

// A user has changed the path, and the new bucket does not accept the first snapshot. The status still named the ranges of the earlier folder,
// which a restore from this EtcdBackup does not find.
func TestAnArchiveInAnotherFolderIsNotReported(t *testing.T) {
	s := archivingState(t)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	archived := s.Archive
	s.Generation++
	s.Spec.S3 = &v1beta2.S3Source{Path: "bucket/elsewhere"}
	s.Target, s.Problem = target(s.Namespace, s.Name, s.Spec)
	for _, view := range []*Archive{archived, {Idle: s.Now}, {Idle: s.Now, Want: "the archive begins"}, nil} {
		s.Archive = view
		s.Status = NewStatus(s, Wait{Reason: v1beta2.ReasonClusterNotAvailable}, nil)
		c := conditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
		if s.Status.Recoverable != nil || c.Status == metav1.ConditionTrue || strings.Contains(c.Message, "Revision 20") {
			t.Errorf("with the view %+v, the status has %+v and the ranges %v", view, c, s.Status.Recoverable)
		}
	}
	s.Archive = archived // a snapshot is in the new folder, and the status does not show it yet
	if s.Status = NewStatus(s, Wait{Reason: v1beta2.ReasonClusterNotAvailable}, nil); len(s.Status.Recoverable) != 1 {
		t.Errorf("the archive in the new folder has the ranges %v", s.Status.Recoverable)
	}
}

// TestAnArchiverWhoseAttemptsTakeLongHasFailed has a store that does not answer: each attempt to begin takes longer than an archiver must run
// to be called stable.
func TestAnArchiverWhoseAttemptsTakeLongHasFailed(t *testing.T) {
	counted, err := newArchiveMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	now := t0
	w := newWorld(t)
	w.now = func() time.Time { return now }
	w.open = func(context.Context, connect.Access) (objstore.Store, error) {
		now = now.Add(archiveStable + time.Second)
		return nil, errors.New("the store does not answer")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	told := make(chan struct{}, 10)
	a := &archiving{notify: func() { told <- struct{}{} }, spec: *archiveOf(archivingState(t))}
	go func() {
		defer close(ended)
		(&archiveJob{job: w.job, metrics: counted}).run(ctx, a)
	}()
	<-told
	<-told
	cancel()
	<-ended
	if v := a.look(); v.Failures != 2 || v.Failure == nil || !v.Idle.Equal(t0) {
		t.Errorf("after two attempts of a minute: %d failures, idle since %s", v.Failures, v.Idle)
	}
}

func TestAnArchiverThatExtendsALostTimelineEnds(t *testing.T) {
	survey := archive.Survey{Names: []archive.Names{{Timeline: 1, Started: true}, {Timeline: 2}}, Startless: []archive.Timeline{2}}
	for name, test := range map[string]struct {
		survey archive.Survey
		now    archiver.Status
		want   error
	}{
		"the archiver extends the newest timeline":                     {archive.Survey{Names: survey.Names[:1]}, archiver.Status{Timeline: 1}, nil},
		"another archiver has begun the next timeline":                 {archive.Survey{Names: survey.Names}, archiver.Status{Timeline: 1}, archiver.ErrFenced},
		"the archiver begins the next timeline itself":                 {archive.Survey{Names: survey.Names}, archiver.Status{Timeline: 1, Blocked: true}, nil},
		"the archiver has begun a timeline since the archive was read": {archive.Survey{Names: survey.Names[:1]}, archiver.Status{Timeline: 2}, nil},
		"the start of the archiver's timeline was lost":                {survey, archiver.Status{Timeline: 2}, archive.ErrCorrupt},
		"the start of an older timeline was lost":                      {archive.Survey{Names: survey.Names, Startless: []archive.Timeline{1}}, archiver.Status{Timeline: 2}, nil},
		"the whole archive was moved away":                             {archive.Survey{}, archiver.Status{Timeline: 2}, nil},
	} {
		if err := astray(test.survey, test.now); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// Retention of another EtcdBackup, or its deletion, would make changes unrecoverable that the status lists.
func TestAnArchiveHasASnapshotOfItsOwn(t *testing.T) {
	w := newWorld(t)
	o := jobSpecOf(archivingState(t))
	base := archive.Base{Key: "k", ClusterID: "0000000000000abc", Point: archive.Point{Revision: 5, At: t0}}
	start := archive.NewStart(1, 0xabc, base, "test")
	if err := w.store.Put(t.Context(), archive.StartKey(o.archiveRoot(), 1), objstore.NewMetadata(start.Encode())); err != nil {
		t.Fatal(err)
	}
	bases := []archive.Base{base}
	survey, err := archive.Look(t.Context(), w.store, o.archiveRoot(), bases, rangesShown)
	if err != nil || !survey.Covered {
		t.Fatalf("%+v, error %v", survey, err)
	}
	for backup, want := range map[string]bool{"another": true, o.Name: false} {
		asked := make(chan struct{}, 1)
		a := &archiving{notify: func() { asked <- struct{}{} }, turn: make(chan struct{}, 1)}
		k := &keeper{job: &archiveJob{job: w.job}, archiving: a, asked: map[string]time.Time{}, survey: survey}
		k.known = snapshot.Known{"k": snapshot.Reading{Manifest: snapshot.Manifest{Backup: backup, Cluster: snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster}}}}
		k.cover(t.Context(), o, bases)
		if got := len(k.asked) > 0; got != want {
			t.Errorf("with a snapshot of EtcdBackup %s, it asks for another one: %t, want %t", backup, got, want)
		}
		if want {
			<-asked
		}
	}
}

// A week of snapshots every five minutes is more than a thousand. The archive before them was neither restorable nor deleted.
func TestAllSnapshotsOfTheWindowAreBases(t *testing.T) {
	const window = 168 * time.Hour
	var items []snapshot.Item
	for i := range 3000 {
		at := t0.Add(-time.Duration(i) * 5 * time.Minute)
		items = append(items, snapshot.Item{Time: at, Stored: at})
	}
	got := needed(items, window)
	old := func(i snapshot.Item) bool { return t0.Sub(i.Stored) >= window }
	if !slices.ContainsFunc(got, old) {
		t.Errorf("of 3000 snapshots %d are bases, and none is older than the window", len(got))
	}
	if n := len(needed(items, time.Hour)); n > 1000+13 {
		t.Errorf("with a window of an hour, %d snapshots are read", n)
	}
}

func TestTheArchiveOfADeletedEtcdBackupIsKeptForTheOneThatContinuesIt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1beta2.EtcdBackup)
		kept   bool
	}{
		"another EtcdBackup continues the archive":     {func(*v1beta2.EtcdBackup) {}, true},
		"the other EtcdBackup uses another folder":     {func(b *v1beta2.EtcdBackup) { b.Spec.S3.Path = "bucket/elsewhere" }, false},
		"the other EtcdBackup has no archive":          {func(b *v1beta2.EtcdBackup) { b.Spec.Continuous = nil }, false},
		"the other EtcdBackup saves another cluster":   {func(b *v1beta2.EtcdBackup) { b.Spec.EtcdCluster.Name = "y" }, false},
		"the other EtcdBackup is the deleted one":      {func(b *v1beta2.EtcdBackup) { b.UID = "u" }, false},
		"the other EtcdBackup is in another namespace": {func(b *v1beta2.EtcdBackup) { b.Namespace = "other" }, false},
	} {
		s := archivingState(t)
		inCluster(&s, false)
		s.Target, s.Problem = target(s.Namespace, s.Name, s.Spec)
		other := &v1beta2.EtcdBackup{Spec: *s.Spec.DeepCopy()}
		other.Namespace, other.Name, other.UID = s.Namespace, "other", types.UID("v")
		test.change(other)
		w := newWorld(t)
		w.secrets = apiWith(t, other)
		o := jobSpecOf(s)
		start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 5, At: t0}}, "test")
		start.Writer = o.mark()
		if err := w.store.Put(t.Context(), archive.StartKey(o.archiveRoot(), 1), objstore.NewMetadata(start.Encode())); err != nil {
			t.Fatal(err)
		}
		o.Kind = KindPurge
		r := w.job.attempt(t.Context(), o, &jobProgress{})
		if kept := len(w.keys()) > 0; kept != test.kept || r.Failure != nil || strings.Contains(r.PruneProblem, "EtcdBackup other continues") != test.kept {
			t.Errorf("%s: the archive is kept: %t, want %t; %+v", name, kept, test.kept, r)
		}
	}
}

// apiWith is an API server with these objects.
func apiWith(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func TestAnArchiveIsLookedAtAgainAfterAnEtcdBackupWasDeleted(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	p := newArchives(func(ctx context.Context, _ *archiving) { <-ctx.Done() }, nil)
	p.set(key, &archiveSpec{})
	defer p.set(key, nil)
	p.forgetOthers(types.NamespacedName{Namespace: "elsewhere", Name: "c"}, "")
	if len(p.known[key].news) > 0 {
		t.Error("the archive is surveyed for an EtcdBackup of another namespace")
	}
	p.forgetOthers(types.NamespacedName{Namespace: "ns", Name: "c"}, "")
	if len(p.known[key].news) != 1 {
		t.Error("the status still lists what may have been deleted with another EtcdBackup")
	}
}

// The archiver gets a base before its restore test. After the test had failed, the status still listed the range of that base, which no
// restore accepts. The archiver asked for no other base until the next snapshot.
func TestTheArchiveIsSurveyedAgainAfterAFailedRestoreTest(t *testing.T) {
	drill := func(path string, result v1beta2.DrillResult) *v1beta2.BackupDrill {
		return &v1beta2.BackupDrill{Path: path, Result: result}
	}
	for name, test := range map[string]struct {
		before, ended *v1beta2.BackupDrill
		want          int
	}{
		"the first test failed":                      {nil, drill("a", v1beta2.DrillFailed), 1},
		"the test of the next snapshot failed":       {drill("a", v1beta2.DrillFailed), drill("b", v1beta2.DrillFailed), 1},
		"the test of the same snapshot failed again": {drill("a", v1beta2.DrillFailed), drill("a", v1beta2.DrillFailed), 0},
		"a snapshot passed after it had failed":      {drill("a", v1beta2.DrillFailed), drill("a", v1beta2.DrillPassed), 1},
		"a snapshot passed":                          {drill("a", v1beta2.DrillPassed), drill("b", v1beta2.DrillPassed), 0},
		"there was no test":                          {drill("a", v1beta2.DrillFailed), nil, 0},
	} {
		s := archivingState(t)
		s.Status.LastDrill = test.before
		s.Attempt = &Attempt{Kind: KindDrill, Result: &Result{Drill: test.ended, Failure: &Failure{v1beta2.ReasonSnapshotCorrupt, "x"}}}
		r, backup := newRig(t), object(s)
		a := &archiving{news: make(chan struct{}, 1)}
		r.archives.known[keyOf(backup)] = a
		if r.settle(backup, s, Report{}); len(a.news) != test.want {
			t.Errorf("%s: the archive is surveyed %d times, want %d", name, len(a.news), test.want)
		}
	}
}

// A revision that a newer timeline had cannot be restored from an old one. The status must say so, and be written if that changes.
func TestTheStatusSaysWhichRevisionsOnlyATimeRestores(t *testing.T) {
	r := archive.Range{Timeline: 1, From: archive.Point{Revision: 1, At: t0}, To: archive.Point{Revision: 9, At: t0}}
	newest := archive.Range{Timeline: 2, From: archive.Point{Revision: 4, At: t0}, To: archive.Point{Revision: 6, At: t0}}
	before := recoverable(nil, []archive.Range{r, newest}, true, t0)
	r.Hidden = []archive.Revisions{{First: 4, Last: 6}}
	got := recoverable(before, []archive.Range{r, newest}, true, t0)
	if want := []v1beta2.RevisionRange{{First: 4, Last: 6}}; !slices.Equal(got[0].OnlyByTime, want) || got[1].OnlyByTime != nil {
		t.Errorf("%+v", got)
	}
	newest.Hidden = []archive.Revisions{{First: 5, Last: 6}} // snapshots of a later cluster show it
	if got = recoverable(got, []archive.Range{r, newest}, true, t0); !slices.Equal(got[1].OnlyByTime, []v1beta2.RevisionRange{{First: 5, Last: 6}}) {
		t.Errorf("of the last range: %+v", got)
	}
}

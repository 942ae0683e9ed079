package backup

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

func TestTheEndOfALostClustersArchiveIsReportedAtOnce(t *testing.T) {
	s := archivingState(t)
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	s.Archive.Ranges = []archive.Range{rangeTo(s, 27, 20*time.Second)}
	if got := NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil).Recoverable[0].To.Revision; got != 20 {
		t.Errorf("while the archiver runs, the status shows revision %d after 20 seconds, want the earlier 20", got)
	}
	s.Archive.Begun, s.Archive.Failures, s.Archive.Failure = false, 1, &Failure{v1beta2.ReasonRetrying, "no member answers"}
	if got := NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil).Recoverable[0].To.Revision; got != 27 {
		t.Errorf("when the cluster is lost, the status shows revision %d, want 27", got)
	}
	s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
	out := NewStatus(s, Wait{Reason: v1beta2.ReasonClusterNotFound}, nil)
	if got := out.Recoverable[0].To.Revision; got != 27 || conditionOf(out.Conditions, v1beta2.ConditionArchiving).Reason != v1beta2.ReasonClusterNotAvailable {
		t.Errorf("when the EtcdCluster is deleted, the status shows revision %d, want 27: %+v", got, out.Conditions)
	}
}

func TestAStoppedArchiverStillReportsWhatItStoredLast(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	last := []archive.Range{{Timeline: 1, To: archive.Point{Revision: 7}}}
	p := newArchives(func(ctx context.Context, a *archiving) {
		a.update(func(v *Archive) { v.Begun, v.Surveyed, v.Want = true, true, "a base" })
		<-ctx.Done()
		a.update(func(v *Archive) { v.Ranges = last }) // it stores its last segment when it is stopped
	}, nil)
	told := make(chan struct{}, 10)
	p.notify = func(worker.Key) { told <- struct{}{} }
	p.set(key, &archiveSpec{})
	p.set(key, nil)
	<-told
	view, busy := p.find(key)
	if busy || view == nil || len(view.Ranges) != 1 || view.Begun || view.Want != "" {
		t.Errorf("after the end, the view is %+v, busy %t", view, busy)
	}
	p.set(key, &archiveSpec{})
	if view, _ := p.find(key); view == nil || len(view.Ranges) > 0 {
		t.Errorf("the next archiver begins with the view %+v of the one before", view)
	}
	p.forgetOthers(key.Object, "another UID")
	<-told
	if view, _ := p.find(key); view != nil {
		t.Errorf("the view of a deleted EtcdBackup is %+v", view)
	}
}

// The time of a base is rounded up to a second, so the first change after it may have the same time. If its cluster is lost then, the
// status must still say that this change can be restored.
func TestAChangeInTheSecondOfItsBaseCanBeRestored(t *testing.T) {
	base := archive.Point{Revision: 8, At: t0}
	survey := archive.Survey{Unbroken: 8, Covered: true, Ranges: []archive.Range{{Timeline: 1, From: base, To: base}}}
	for _, c := range []struct {
		stored archive.Point
		want   archive.Point
	}{
		{archive.Point{Revision: 9, At: t0}, archive.Point{Revision: 9, At: t0}},
		{archive.Point{Revision: 8, At: t0.Add(time.Second)}, archive.Point{Revision: 8, At: t0.Add(time.Second)}},
		{archive.Point{Revision: 9, At: t0.Add(-time.Second)}, base},
		{archive.Point{Revision: 7, At: t0.Add(time.Second)}, base},
	} {
		ranges, covered := extended(survey, archiver.Status{Timeline: 1, Unbroken: 8, Stored: c.stored})
		if got := ranges[0].To; got != c.want || !covered {
			t.Errorf("with %+v stored, the range ends with %+v, want %+v", c.stored, got, c.want)
		}
	}
}

// The archiver of a recovered cluster may have the only copy of changes that wait for the store. It continues beside the next archiver
// until the process ends or the spec changes.
func TestAnArchiverOfARecoveredClusterStoresWhatItHas(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	for name, test := range map[string]struct {
		end  func(*archives)
		ends bool
	}{
		"the next archiver starts":               {func(p *archives) { p.set(key, &archiveSpec{recovery: "of Monday"}) }, false},
		"the spec changes":                       {func(p *archives) { p.set(key, &archiveSpec{recovery: "of Monday", maxLag: time.Hour}) }, true},
		"the spec no longer asks for an archive": {func(p *archives) { p.set(key, nil) }, true},
		"the EtcdBackup is deleted":              {func(p *archives) { p.forgetOthers(key.Object, "2") }, true},
		"the process ends": {func(p *archives) {
			ctx, end := context.WithCancel(t.Context())
			end()
			_ = p.Run(ctx)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			causes, hurried := make(chan error, 2), make(chan struct{}, 2)
			p := newArchives(func(ctx context.Context, a *archiving) {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				if errors.Is(context.Cause(ctx), archiver.ErrRecovery) {
					<-a.hurried
				}
				hurried <- struct{}{}
			}, nil)
			p.set(key, &archiveSpec{})
			p.drain(key)
			if cause := <-causes; !errors.Is(cause, archiver.ErrRecovery) {
				t.Errorf("the archiver is stopped with %v", cause)
			}
			test.end(p)
			patience := 100 * time.Millisecond
			if test.ends {
				patience = 10 * time.Second
			}
			select {
			case <-hurried:
				if !test.ends {
					t.Error("the archiver was told to end")
				}
			case <-time.After(patience):
				if test.ends {
					t.Error("the archiver was not told to end")
				}
			}
		})
	}
}

func TestASnapshotNamesTheRecoveryUnlessOneIsUnderWay(t *testing.T) {
	s := archivingState(t)
	s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
	for step, want := range map[v1beta2.RecoveryStep]string{v1beta2.RecoveryForcing: "", v1beta2.RecoveryGrowing: "m " + t0.UTC().Format(time.RFC3339)} {
		at := metav1.NewTime(t0)
		s.Cluster = clusterOf(&v1beta2.EtcdCluster{Status: v1beta2.EtcdClusterStatus{Recovery: &v1beta2.ClusterRecoveryStatus{Step: step, Member: "m", StartedAt: &at}}})
		if got := jobSpecOf(s).Recovery; got != want {
			t.Errorf("in step %s, a snapshot has the recovery %q, want %q", step, got, want)
		}
	}
}

// The cache may not show a recovery yet when the survivor already serves. An archiver that began then could mix two histories.
func TestAnArchiverOnAnOldCacheDoesNotContinueOverARecovery(t *testing.T) {
	at := metav1.NewTime(t0)
	found := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}}
	found.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: "m", StartedAt: &at}
	job := &job{secrets: apiWith(t, found)}
	of := func(name, recovery string) jobSpec {
		return jobSpec{Namespace: "ns", Cluster: name, ClusterUID: "1", Recovery: recovery, Archived: true}
	}
	if err := job.confirmRecovery(t.Context(), of("x", ""), ""); err == nil {
		t.Error("an archiver starts before the cache has the recovery")
	}
	for name, spec := range map[string]jobSpec{"with the recovery": of("x", clusterOf(found).Recovery), "of a deleted cluster": of("y", ""), "of endpoints": {}} {
		if err := job.confirmRecovery(t.Context(), spec, spec.Recovery); err != nil {
			t.Errorf("an archiver %s: %v", name, err)
		}
	}
	// A snapshot that was queued before the recovery would be a base of the lost history, with changes of the new one.
	for name, test := range map[string]struct {
		spec   jobSpec
		from   ask.Answer
		stored bool
	}{
		"that was queued before the recovery": {of("x", ""), ask.Answer{}, false},
		"of the recovered cluster":            {of("x", clusterOf(found).Recovery), ask.Answer{}, true},
		"without quorum, which is no base":    {of("x", ""), ask.Answer{NotServing: errMembers}, true},
		"of a one-shot without an archive":    {jobSpec{Namespace: "ns", Cluster: "x", ClusterUID: "1"}, ask.Answer{}, true},
		// Another EtcdBackup may archive the cluster into the folder of the series.
		"that was queued before the recovery, of another series": {jobSpec{Namespace: "ns", Cluster: "x", ClusterUID: "1", Series: true}, ask.Answer{}, false},
	} {
		sent := &sending{}
		stream, _, err := job.ofHistory(test.spec, test.from, sent).Snapshot(t.Context())
		if (err == nil) != test.stored || (stream != nil) != test.stored || sent.closed == test.stored {
			t.Errorf("a snapshot %s: error %v, stream closed %t", name, err, sent.closed)
		}
	}
}

// sending is the stream of a snapshot.
type sending struct{ closed bool }

func (s *sending) Snapshot(context.Context) (io.ReadCloser, int64, error) { return s, 1, nil }
func (s *sending) Read([]byte) (int, error)                               { return 0, io.EOF }
func (s *sending) Close() error                                           { s.closed = true; return nil }

// The status of the cluster may show a recovery for the first time when its survivor already serves, because no pass saw the step Forcing.
// The archiver must then also keep the changes that wait for the store.
func TestAnArchiverWhoseRecoveryWasMissedStoresWhatItHas(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	causes, hurried := make(chan error, 2), make(chan struct{})
	p := newArchives(func(ctx context.Context, a *archiving) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		if errors.Is(context.Cause(ctx), archiver.ErrRecovery) {
			<-a.hurried
			close(hurried)
		}
	}, nil)
	p.set(key, &archiveSpec{})
	p.set(key, &archiveSpec{recovery: "of Monday"})
	if cause := <-causes; !errors.Is(cause, archiver.ErrRecovery) {
		t.Errorf("the archiver is stopped with %v, so it does not wait for the store", cause)
	}
	select {
	case <-hurried:
		t.Error("the archiver was told to end")
	case <-time.After(100 * time.Millisecond):
	}
	p.set(key, nil)
	<-hurried
}

// A restore removes the recovery from the status of the cluster. If it fails, the cluster still has the recovered history. If backup-operator
// did not run in between, it would continue the history that was lost.
func TestARecoveryIsKnownAfterARestoreHasFailed(t *testing.T) {
	at := metav1.NewTime(t0)
	found := &v1beta2.EtcdCluster{}
	found.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: "m", StartedAt: &at}
	before := clusterOf(found)
	found.Status.Recovery, found.Status.LastRecovery = nil, &v1beta2.PastRecovery{Member: "m", StartedAt: at}
	if after := clusterOf(found); before.Recovery == "" || after.Recovery != before.Recovery || after.Recovering {
		t.Errorf("the recovery is %q before the restore, and %q after it", before.Recovery, after.Recovery)
	}
}

// A second recovery is cancelled after its survivor ran alone, and the status of the cluster has the first one again. The cluster may have the
// history of the second survivor: its archiver would continue the timeline of the first one.
func TestARecoveryThatWasCancelledTooLateIsTheLastOne(t *testing.T) {
	first, second := metav1.NewTime(t0), metav1.NewTime(t0.Add(time.Hour))
	cluster := &v1beta2.EtcdCluster{}
	cluster.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: "m", StartedAt: &first}
	cluster.Status.LastRecovery = &v1beta2.PastRecovery{Member: "m", StartedAt: first}
	before := clusterOf(cluster)
	cluster.Status.LastRecovery = &v1beta2.PastRecovery{Member: "n", StartedAt: second}
	if after := clusterOf(cluster); after.Recovery == before.Recovery || after.Recovering {
		t.Errorf("after the cancelled recovery, the last one is %q", after.Recovery)
	}
	third := metav1.NewTime(t0.Add(-time.Hour)) // by a clock that is behind
	cluster.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "o", StartedAt: &third}
	if now := clusterOf(cluster); !now.Recovering || now.Recovery != recoveryID("o", third) {
		t.Errorf("while the third recovery is under way, the last one is %q", now.Recovery)
	}
}

func TestAnArchiverOfOtherEndpointsStartsAgain(t *testing.T) {
	of := func(urls ...string) archiveSpec {
		s := archivingState(t)
		s.Spec.EtcdCluster, s.Spec.EtcdEndpoints = nil, urls
		return *archiveOf(s)
	}
	if !sameArchive(of("http://a:2379"), of("http://a:2379")) {
		t.Error("the archiver starts again, although nothing has changed")
	}
	if sameArchive(of("http://a:2379"), of("http://b:2379")) {
		t.Error("the archiver continues with the members that the spec does not name any more")
	}
	managed := func(urls ...string) archiveSpec {
		s := archivingState(t)
		s.Spec.EtcdEndpoints, s.Spec.EtcdCluster, s.Cluster = nil, &v1beta2.ClusterReference{Name: "x"}, &Cluster{Name: "x", ClientURLs: urls}
		return *archiveOf(s)
	}
	if !sameArchive(managed("http://a:2379"), managed("http://a:2379", "http://b:2379")) {
		t.Error("the archiver starts again for each member that is replaced")
	}
}

// A recovery from a lost quorum keeps the cluster ID. An archiver that continued could mix two histories.
func TestAnArchiverStartsAgainAfterEachRecovery(t *testing.T) {
	after := func(r *v1beta2.ClusterRecoveryStatus) *archiveSpec {
		s := archivingState(t)
		s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
		s.Cluster = clusterOf(&v1beta2.EtcdCluster{Status: v1beta2.EtcdClusterStatus{
			Recovery: r, MemberStatuses: []v1beta2.MemberStatus{{ClientURL: "http://a:2379"}},
		}})
		return archiveOf(s)
	}
	first, second := metav1.NewTime(t0), metav1.NewTime(t0.Add(time.Hour))
	if after(&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", StartedAt: &first}) != nil {
		t.Error("an archiver runs although no survivor serves yet")
	}
	growing := after(&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: "m", StartedAt: &first})
	complete := after(&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: "m", StartedAt: &first})
	if sameArchive(*after(nil), *growing) || sameArchive(*complete, *after(&v1beta2.ClusterRecoveryStatus{Member: "m", StartedAt: &second})) {
		t.Error("the archiver continues although the cluster was recovered")
	}
	if !sameArchive(*growing, *complete) {
		t.Error("the archiver starts again for each step of one recovery")
	}
}

// TestAnArchiveBeginsBeforeTheRestoreTestOfItsSnapshot lets the test fail, and take long: etcd may be compacted meanwhile.
func TestAnArchiveBeginsBeforeTheRestoreTestOfItsSnapshot(t *testing.T) {
	w := newWorld(t)
	var bases []archive.Base
	w.drill = func(context.Context, snapshot.RestoreTestRequest) (snapshot.RestoreTestResult, error) {
		if len(bases) != 1 || bases[0].Point.Revision != 42 {
			t.Errorf("when the restore test begins, the archiver has the bases %+v, want that of revision 42", bases)
		}
		return snapshot.RestoreTestResult{}, dbfile.ErrMemory
	}
	s := series(verifies)
	s.Spec.Continuous = &v1beta2.ContinuousArchive{}
	s.Archive = &Archive{Want: "the archive begins"}
	r := w.job.attempt(t.Context(), jobSpecOf(s), &jobProgress{based: func(b archive.Base) { bases = append(bases, b) }})
	if r.Failure == nil || len(bases) != 1 {
		t.Errorf("%d bases, %+v", len(bases), r)
	}
	s.Archive.Want = ""
	if w.job.attempt(t.Context(), jobSpecOf(s), &jobProgress{based: func(b archive.Base) { bases = append(bases, b) }}); len(bases) != 1 {
		t.Errorf("an attempt for no archive gave the bases %+v", bases)
	}
}

// With noQuorum: Mark, the snapshot that an archiver has asked for may be taken without a quorum. No replay begins with it. It also
// satisfied each later request with the same reason, so the changes after it could not be restored until the next scheduled snapshot.
func TestASnapshotWithoutQuorumDoesNotAnswerTheArchiverTwice(t *testing.T) {
	w := newWorld(t)
	s := series(func(s *State) {
		s.Spec.Continuous, s.Spec.NoQuorum = &v1beta2.ContinuousArchive{}, v1beta2.NoQuorumMark
	})
	s.Archive = &Archive{Want: "no snapshot reaches the revisions after 41"}
	probe := w.probe
	w.probe = func(ctx context.Context, urls []string, by ask.Access) []ask.Answer {
		answers := probe(ctx, urls, by)
		answers[0].NotServing = errMembers
		return answers
	}
	if r := w.attempt(s); r.Failure != nil || !r.Snapshot.NoQuorum {
		t.Fatalf("without quorum: %+v", r)
	}
	w.probe, w.now = probe, at(t0.Add(time.Minute))
	if r := w.attempt(s); r.Failure != nil || r.Found || r.Snapshot.NoQuorum {
		t.Errorf("with quorum, the archiver gets the snapshot that was taken without: %+v", r)
	}
	w.now = at(t0.Add(2 * time.Minute))
	if r := w.attempt(s); r.Failure != nil || !r.Found || r.Snapshot.NoQuorum {
		t.Errorf("the snapshot with quorum is taken twice: %+v", r)
	}
}

// A drained archiver stores changes of the lost history, which exist nowhere else. The next archiver reports them.
func TestWhatADrainedArchiverHasStoredIsReported(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	stored := make(chan struct{})
	p := newArchives(func(ctx context.Context, a *archiving) {
		<-ctx.Done()
		if errors.Is(context.Cause(ctx), archiver.ErrRecovery) {
			<-stored
		}
	}, nil)
	told := make(chan struct{}, 10)
	p.notify = func(worker.Key) { told <- struct{}{} }
	p.set(key, &archiveSpec{})
	p.drain(key)
	p.set(key, &archiveSpec{recovery: "of Monday"})
	next := p.known[key]
	if len(next.news) > 0 {
		t.Error("the archive is surveyed although nothing was stored")
	}
	close(stored)
	<-told
	if len(next.news) != 1 {
		t.Error("the status does not list what the drained archiver has stored")
	}
	p.set(key, nil)
}

package archiving

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// copyBench is an archive with its snapshots in a first location, and a second location in another folder that has copies of the snapshots.
type copyBench struct {
	*attempttest.Kept
	second *objstoretest.Memory
	puts   int
	job    *runner
	spec   CopySpec
	now    time.Time
}

// counting counts the objects that are written.
type counting struct {
	objstore.Store
	puts *int
}

func (c counting) Put(ctx context.Context, key string, body io.Reader) error {
	err := c.Store.Put(ctx, key, body)
	if err == nil {
		*c.puts++
	}
	return err
}

func newCopyBench(t *testing.T) *copyBench {
	b := &copyBench{Kept: attempttest.NewKept(t, snapshot.Passed), second: objstoretest.NewMemory(), now: statetest.T0.Add(5 * time.Hour)}
	s := statetest.ArchivingState(t, statetest.Copies)
	b.O.Copy = &s.CopyTarget
	for _, key := range b.Keys() {
		if !archive.IsKey(key) {
			b.place(key)
		}
	}
	w := attempttest.NewWorld(t)
	w.Now = func() time.Time { return b.now }
	w.Open = func(_ context.Context, a connect.Access) (objstore.Store, error) {
		if a.Bucket == b.O.Copy.Bucket {
			return counting{b.second, &b.puts}, nil
		}
		return b.Memory, nil
	}
	counted, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	b.job = &runner{Clients: w.Clients, metrics: counted}
	b.spec = CopySpec{job: b.O, maxLag: 5 * time.Second, prunes: true}
	return b
}

// place copies an object of the first location, with the times of its store.
func (b *copyBench) place(key string) {
	b.T.Helper()
	body, err := b.Get(b.T.Context(), key)
	if err != nil {
		b.T.Fatal(err)
	}
	content, err := io.ReadAll(body)
	if err != nil || body.Close() != nil {
		b.T.Fatal(err)
	}
	for object, err := range b.List(b.T.Context(), key) {
		if err != nil {
			b.T.Fatal(err)
		}
		if object.Key == key {
			b.second.Now = func() time.Time { return object.ModTime }
		}
	}
	b.second.Place(b.keyThere(key), content)
}

// keyThere returns the key of a snapshot in the second location.
func (b *copyBench) keyThere(key string) string {
	return b.O.CopiedArchive().SeriesOf(0).Lives() + strings.TrimPrefix(key, b.O.SeriesOf(0).Lives())
}

func (b *copyBench) copying() *copying {
	c := &Copier{spec: b.spec, news: make(chan struct{}, 1), notify: func() {}}
	return &copying{Copier: c, job: b.job}
}

// steps does all that there is to do.
func (b *copyBench) steps(w *copying) {
	b.T.Helper()
	for range 5 {
		if err := w.step(b.T.Context()); err != nil {
			b.T.Fatal(err)
		}
		w.report(nil, 0)
	}
}

// links returns the names of the links in a location.
func links(keys []string, root string) (names []string) {
	for _, key := range keys {
		if strings.HasPrefix(key, root) && !strings.HasPrefix(key, root+"proofs/") {
			names = append(names, strings.TrimPrefix(key, root))
		}
	}
	return names
}

func (b *copyBench) there() []string { return links(b.second.Keys(), b.O.CopiedArchive().ArchiveRoot()) }
func (b *copyBench) here() []string  { return links(b.Keys(), b.O.ArchiveRoot()) }

// outdated are the names that retention deletes in the first location.
func (b *copyBench) outdated() (names []string) {
	b.T.Helper()
	known := snapshot.Known{}
	f, err := surveyOf(b.T.Context(), b, b.O, known)
	if err != nil {
		b.T.Fatal(err)
	}
	defer f.survey.Drop()
	o := b.O
	o.Keep.Now = b.now
	all, _, err := outdatedBy(b.T.Context(), b, o, f.survey, f.index, known)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, n := range all {
		names = append(names, strings.TrimPrefix(n.Key(b.O.ArchiveRoot()), b.O.ArchiveRoot()))
	}
	return names
}

func TestTheSecondLocationKeepsOfTheArchiveWhatTheFirstOneKeeps(t *testing.T) {
	b := newCopyBench(t)
	outdated := b.outdated()
	want := slices.DeleteFunc(b.here(), func(name string) bool { return slices.Contains(outdated, name) })
	w := b.copying()
	b.steps(w)
	if got := b.there(); len(outdated) == 0 || !slices.Equal(got, want) {
		t.Errorf("the second location has %q, want %q", got, want)
	}
	if v := w.look(); !v.Begun || !v.Covered || len(v.Ranges) != 1 || v.Lacking != "" || v.Unread != "" || v.Unpruned != "" {
		t.Errorf("the view is %+v", v)
	}
	before := b.puts
	for range 2 { // the first location still has what is deleted in the second one
		b.steps(b.copying())
	}
	if b.puts != before {
		t.Errorf("%d objects were written again", b.puts-before)
	}
}

// A user has the archive of a lost region only there, or it may be damaged: what retention would delete is all that is left.
func TestNothingIsDeletedInTheSecondLocation(t *testing.T) {
	for name, change := range map[string]func(*copyBench){
		"before the last copy of a snapshot has succeeded": func(b *copyBench) { b.spec.prunes = false },
		"while the last proof has failed":                  func(b *copyBench) { b.spec.job.Distrusted = &v1beta2.ArchiveProof{} },
		"while the newest snapshot is doubted":             func(b *copyBench) { b.spec.job.Doubted, b.spec.job.Keep.Verify = true, true },
		"while a proof there has failed": func(b *copyBench) {
			from := ""
			for _, key := range b.second.Keys() {
				if strings.HasSuffix(key, ".db") {
					from = key
					break
				}
			}
			p := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 2, To: 12, Failed: true}, FromKey: from}
			if err := archive.WriteProof(b.T.Context(), b.second, b.O.CopiedArchive().ArchiveRoot(), p, nil); err != nil {
				b.T.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newCopyBench(t)
			change(b)
			b.steps(b.copying())
			if got, want := b.there(), b.here(); !slices.Equal(got, want) {
				t.Errorf("the second location has %q, want all: %q", got, want)
			}
		})
	}
}

func TestALostFirstLocationChangesNothingInTheSecondOne(t *testing.T) {
	b := newCopyBench(t)
	b.spec.prunes = false
	b.steps(b.copying())
	before := b.second.Keys()
	for _, key := range b.Keys() {
		if err := b.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	b.steps(b.copying())
	if after := b.second.Keys(); !slices.Equal(before, after) {
		t.Errorf("%d objects are left of %d", len(after), len(before))
	}
}

// A proof of the first location names its snapshots by their keys there. In the second location these do not exist, so that it would hold nothing.
func TestAPassedProofIsCopiedWithTheKeysOfTheSecondLocation(t *testing.T) {
	b := newCopyBench(t)
	b.spec.prunes = false
	var snapshots []string
	for _, key := range b.Keys() {
		if strings.HasSuffix(key, ".db") {
			snapshots = append(snapshots, key)
		}
	}
	root := b.O.ArchiveRoot()
	passed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 12, To: 32}, FromKey: snapshots[1], ToKey: snapshots[3]}
	failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 22, To: 32, Failed: true}, FromKey: snapshots[2], ToKey: snapshots[3]}
	uncopied := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 32, To: 42}, FromKey: snapshots[3], ToKey: snapshots[4] + "x"}
	old := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 2, To: 12}, FromKey: snapshots[0], ToKey: snapshots[1]}
	for _, p := range []archive.Proof{passed, failed, uncopied, old} {
		if err := archive.WriteProof(t.Context(), b, root, p, nil); err != nil {
			t.Fatal(err)
		}
	}
	b.steps(b.copying())
	there := b.O.CopiedArchive().ArchiveRoot()
	names, err := archive.Proofs(t.Context(), b.second, there)
	if err != nil || !slices.Equal(names, []archive.ProofName{passed.ProofName}) {
		t.Fatalf("the second location has the proofs %+v, error %v", names, err)
	}
	p, err := archive.ReadProof(t.Context(), b.second, there, names[0])
	if err != nil || !b.second.Has(p.FromKey) || p.ToKey != b.keyThere(snapshots[3]) {
		t.Errorf("the proof is %+v, error %v", p, err)
	}
}

// A start names its base by the key in the first location. It is copied as it is.
func TestARevisionIsSelectedFromTheSecondLocation(t *testing.T) {
	b := newCopyBench(t)
	b.spec.prunes = false
	b.steps(b.copying())
	o := b.O.CopiedArchive()
	f, err := surveyOf(t.Context(), b.second, o, snapshot.Known{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.survey.Drop()
	for revision := int64(2); revision <= 47; revision += 5 {
		c, err := archive.Find(t.Context(), b.second, o.ArchiveRoot(), f.bases, archive.Progress{}, archive.Target{Revision: revision})
		if err != nil || c.Reached.Revision != revision || !strings.HasPrefix(c.Base.Key, o.Target.Key) {
			t.Errorf("revision %d: %+v, error %v", revision, c.Reached, err)
		}
	}
}

// blocked is a store whose Put waits until its context ends.
type blocked struct{ objstore.Store }

func (blocked) Put(ctx context.Context, _ string, _ io.Reader) error {
	<-ctx.Done()
	return ctx.Err()
}

// A dead second location must delay nothing in the first one: neither an upload, nor a pass, nor the end of the process.
func TestAnArchiverNeverWaitsForTheSecondLocation(t *testing.T) {
	b := newCopyBench(t)
	open := b.job.Open
	b.job.Open = func(ctx context.Context, a connect.Access) (objstore.Store, error) {
		store, err := open(ctx, a)
		if a.Bucket == b.O.Copy.Bucket {
			store = blocked{store}
		}
		return store, err
	}
	p := newCopies(b.job.copy)
	key := worker.Key{UID: "1"}
	p.set(key, &b.spec)
	for i := range int64(3 * maxStored) {
		p.offer(key, archiver.Status{Timeline: 1, Stored: archive.Point{Revision: 47 + i, At: b.now}, Safe: b.now.Add(time.Duration(i) * time.Second)})
	}
	c := p.known[key]
	if n := len(c.stored); n > maxStored {
		t.Errorf("%d points are remembered", n)
	}
	if lag, _ := c.lag(archive.Chain{Timeline: 1, Last: 47}, b.now.Add(time.Hour)); lag != 0 { // nothing was copied yet, so it is not known
		t.Errorf("the lag is %s", lag)
	}
	if _, busy := p.find(key); !busy {
		t.Error("no copier runs")
	}
	p.set(key, nil)
	p.stop()
	if view, busy := p.find(key); view != nil || busy {
		t.Errorf("after the end, the view is %+v, busy %t", view, busy)
	}
}

func TestTheLagOfTheSecondLocationIsTheAgeOfTheOldestChangeThatItLacks(t *testing.T) {
	c := &Copier{news: make(chan struct{}, 1)}
	now := statetest.T0
	offer := func(revision, head int64, safe time.Duration) {
		c.offer(archiver.Status{Timeline: 1, Stored: archive.Point{Revision: revision}, Safe: now.Add(safe), Head: head})
	}
	at := func(revision int64) archive.Chain { return archive.Chain{Timeline: 1, Last: revision, At: now} }
	lags := func(revision int64, want time.Duration) {
		t.Helper()
		if got, known := c.lag(at(revision), now.Add(20*time.Second)); got != want || !known {
			t.Errorf("at revision %d, the lag is %s, known %t, want %s", revision, got, known, want)
		}
	}
	if _, known := c.lag(at(0), now); known {
		t.Error("the lag is known before anything was copied")
	}
	offer(10, 10, time.Second)
	c.reached(at(10))
	lags(10, 0)
	offer(15, 20, 5*time.Second)
	offer(20, 20, 10*time.Second)
	lags(10, 19*time.Second) // the first of them may be as old as the last safe time
	c.reached(at(15))
	lags(15, 15*time.Second)
	c.reached(at(20))
	lags(20, 0)
	offer(20, 25, 12*time.Second) // a change that the first location lacks, too
	c.reached(at(20))
	lags(20, 8*time.Second)
}

func TestAFailureOfACopyNamesTheLocationThatFails(t *testing.T) {
	b := newCopyBench(t)
	for _, test := range []struct {
		err    error
		reason string
		names  string
	}{
		{errors.Join(archive.ErrOtherCopy), v1beta2.ReasonArchiveFenced, b.O.Copy.Bucket},
		{objstore.Mark(errors.New("refused"), objstore.ErrNoBucket), v1beta2.ReasonBucketNotFound, b.O.Copy.Bucket},
		{ofSource(objstore.Mark(errors.New("refused"), objstore.ErrNoBucket)), v1beta2.ReasonBucketNotFound, b.O.Target.Bucket},
	} {
		f := classifyCopy(test.err, b.O)
		if f.Reason != test.reason || !strings.Contains(f.Message, test.names) {
			t.Errorf("%v: %+v, want %s and the bucket %s", test.err, f, test.reason, test.names)
		}
	}
}


package standby

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestAFollowerHasTheKeysOfTheSourceAtEachLink(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.compact(12)
	s.save(1)
	o := s.options()
	f := s.follower(o)
	for range 12 {
		s.archive(1 + s.random.IntN(25))
		if s.random.IntN(2) == 0 {
			s.compact(s.kv.Rev() - s.random.Int64N(10))
			s.archive(1) // the next link says to which revision the source was compacted
		}
		s.catchUp(f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		copied := o
		copied.Dir = filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(copied.Dir, os.DirFS(o.Dir)); err != nil {
			t.Fatal(err)
		}
		s.same(copied)
		f = s.follower(o)
	}
}

func TestAFollowerIsCompactedToADeletion(t *testing.T) {
	s := newSource(t)
	s.write(5)
	s.save(1)
	o := s.options()
	f := s.follower(o)
	for range 40 {
		s.archive(1)
		s.compact(s.kv.Rev())
		s.archive(1)
	}
	s.catchUp(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.same(o)
}

func TestLeasesHaveTheirFullTTL(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	s.archive(60)
	o := s.options()
	f := s.follower(o)
	s.catchUp(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "delivered.db")
	result, err := Finish(t.Context(), o, path)
	if err != nil || result.Leases != 2 || result.Fallback != 1 {
		t.Fatalf("%+v, %v: want 2 leases and 1 with the fallback", result, err)
	}
	again, err := Finish(t.Context(), o, path)
	if err != nil || again != result {
		t.Errorf("the second call returns %+v, %v", again, err)
	}
	if _, err := Open(o); !errors.Is(err, ErrFinished) {
		t.Errorf("a database that was handed over is opened: %v", err)
	}
	got := map[int64]int64{}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(schema.Lease.Name()).ForEach(func(_, v []byte) error {
			l := &leasepb.Lease{}
			err := proto.Unmarshal(v, l)
			got[l.ID] = l.TTL
			return err
		})
	})
	if err != nil || len(got) != 3 || got[1] != 77 || got[2] != 88 || got[3] != 5 {
		t.Errorf("got the leases %v, %v", got, err)
	}
}

// Each of these ends what can be followed. The follower keeps what it has until there is a newer base, and then begins again.
func TestAFollowerBeginsAgainFromANewerBase(t *testing.T) {
	for cause, breaks := range map[Cause]func(s *source) (mend func()){
		NewTimeline: func(s *source) func() { // its base is saved later than its start
			s.archive(3)
			s.save(2)
			base := s.bases[len(s.bases)-1]
			s.bases = s.bases[:len(s.bases)-1]
			return func() { s.bases = append(s.bases, base) }
		},
		Gap: func(s *source) func() {
			s.gap(5)
			base := s.bases[len(s.bases)-1]
			s.bases = s.bases[:len(s.bases)-1]
			return func() { s.bases = append(s.bases, base) }
		},
		Missing: func(s *source) func() { // retention deletes it
			key := s.archive(4)
			s.archive(4)
			if err := s.store.Delete(s.Context(), key); err != nil {
				s.Fatal(err)
			}
			return func() { s.save(0) }
		},
		UsersChanged: func(s *source) func() {
			s.changeUsers()
			s.archive(4)
			return func() { s.save(0) }
		},
		Damaged: func(s *source) func() {
			s.plant = func(events []*mvccpb.Event) []*mvccpb.Event { return skipped(events) }
			s.archive(20)
			s.plant = nil
			return func() { s.save(0) }
		},
	} {
		t.Run(string(cause), func(t *testing.T) {
			s := newSource(t)
			s.write(20)
			s.save(1)
			s.archive(10)
			o := s.options()
			f := s.follower(o)
			s.catchUp(f)
			before := f.Status().Revision
			now := time.Now()
			f.o.Now = func() time.Time { now = now.Add(listPause); return now }
			mend := breaks(s)
			err := catchUp(t.Context(), f)
			broken := IsBroken(err)
			if broken == nil || broken.Cause != cause || broken.Revision <= before || !errors.Is(f.Status().Err, broken) {
				t.Fatalf("got %v, want %s after revision %d", err, cause, before)
			}
			t.Log(err)
			if got := f.Status(); got.Revision < before || got.Begun != 1 {
				t.Errorf("the database was given up before there was another: %+v", got)
			}
			mend()
			s.archive(7)
			s.catchUp(f)
			if got := f.Status(); got.Begun != 2 || got.Left == nil || got.Left.Cause != cause {
				t.Errorf("the status is %+v", got)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			s.same(o)
		})
	}
}

// changeUsers raises the auth revision of the source to 9.
func (s *source) changeUsers() {
	tx := s.backend.BatchTx()
	tx.LockOutsideApply()
	tx.UnsafePut(schema.Auth, schema.AuthRevisionKeyName, []byte{0, 0, 0, 0, 0, 0, 0, 9})
	tx.Unlock()
	s.users = auth.State{Revision: 9}
}

// A user was removed just before the source was stopped, and no write came after that. On a standby without that change, the password of the user opens all data.
func TestAFollowerGetsTheUsersOfASourceThatHasStopped(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	s.archive(10)
	o := s.options()
	var wanted *auth.State
	o.Users = func() *auth.State { return wanted }
	f := s.follower(o)
	s.catchUp(f)
	before := f.Status()
	s.changeUsers()
	s.catchUp(f)
	wanted = &auth.State{Revision: 9}
	if broken := IsBroken(catchUp(t.Context(), f)); broken == nil || broken.Cause != UsersChanged {
		t.Errorf("without a base with the users, it reports %v", broken)
	}
	s.save(0)
	s.catchUp(f)
	if got := f.Status(); before.Auth.Revision != 0 || got.Auth.Revision != 9 || got.Revision != before.Revision {
		t.Errorf("it has revision %d with the auth revision %d, want %d with 9", got.Revision, got.Auth.Revision, before.Revision)
	}
	wanted = &auth.State{Revision: 5} // an end from before
	s.catchUp(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.same(o)
}

// skipped removes an event of a revision with others, whose key is written again later.
func skipped(events []*mvccpb.Event) []*mvccpb.Event {
	for i, e := range events[:len(events)-1] {
		shared := events[i+1].Kv.ModRevision == e.Kv.ModRevision
		again := slices.ContainsFunc(events[i+1:], func(n *mvccpb.Event) bool { return string(n.Kv.Key) == string(e.Kv.Key) })
		if shared && again && e.Type == mvccpb.Event_PUT {
			return slices.Delete(slices.Clone(events), i, i+1)
		}
	}
	return nil
}

// The store has returned half of an object, or another one. Nothing of it may be applied.
func TestNoEventOfADamagedLinkIsApplied(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	s.archive(10)
	o := s.options()
	f := s.follower(o)
	s.catchUp(f)
	before := f.Status().Revision
	key := s.archive(30)
	path := filepath.Join(s.dir, filepath.FromSlash(key))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"cut off":        whole[:len(whole)*3/4],
		"a flipped bit":  func() []byte { c := slices.Clone(whole); c[len(c)*3/4] ^= 4; return c }(),
		"with a tail":    append(slices.Clone(whole), make([]byte, 64<<20)...),
		"empty":          nil,
		"another header": append([]byte("{}"), whole...),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		f.damaged = 0
		if _, err := f.Step(t.Context()); !errors.Is(err, archive.ErrCorrupt) || IsBroken(err) != nil {
			t.Errorf("%s: got %v", name, err)
		}
		if got := f.db.position.Revision; got != before {
			t.Errorf("%s: revision %d was applied", name, got)
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s.catchUp(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.same(o)
}

func TestAFollowerWaitsForTheFirstBase(t *testing.T) {
	s := newSource(t)
	o := s.options()
	f := s.follower(o)
	if _, err := f.Step(t.Context()); err == nil {
		t.Error("an empty archive has a base")
	}
	if _, err := Finish(t.Context(), o, filepath.Join(t.TempDir(), "delivered.db")); !errors.Is(err, ErrNoBase) {
		t.Errorf("got %v", err)
	}
	s.write(3)
	s.save(1)
	s.catchUp(f)
}

// A revision of thousands of events takes several transactions. Its last event does not follow, so nothing of it may be delivered.
func TestARevisionThatIsThereInPartIsNotDelivered(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	s.archive(10)
	o := s.options()
	f := s.follower(o)
	s.catchUp(f)
	s.kv.Commit()
	want, revision := keysOf(t, s.path), s.kv.Rev()
	txn := s.kv.Write(traceutil.TODO())
	txn.DeleteRange([]byte("key-1"), []byte("key-3"))
	for i := range 3500 {
		txn.Put(fmt.Appendf(nil, "key-0%d", i), []byte("value"), 3)
	}
	events := eventsOf(txn, revision+1)
	txn.End()
	events[len(events)-1].Kv.Version = 9
	s.link(events)
	if err := catchUp(t.Context(), f); IsBroken(err) == nil || IsBroken(err).Revision != revision+1 {
		t.Fatalf("got %v", err)
	}
	if got := f.Status(); got.Revision != revision || f.db.position.Revision != revision+1 || f.db.position.Events < batchChanges {
		t.Fatalf("the status is %+v", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "delivered.db")
	result, err := Finish(t.Context(), o, path)
	if err != nil || result.Revision != revision {
		t.Fatalf("%+v, %v: want revision %d", result, err, revision)
	}
	if got := keysOf(t, path); got != want {
		t.Error(difference(want, got))
	}
}

// The process was killed while it applied a link, and the store is lost. The link is on the disk, so nothing of it is lost.
func TestALinkOnTheDiskIsCompletedWithoutTheStore(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	s.archive(10)
	o := s.options()
	f := s.follower(o)
	s.catchUp(f)
	s.archive(30)
	if err := f.link().ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), os.RemoveAll(s.dir)); err != nil {
		t.Fatal(err)
	}
	s.same(o)
}

// The snapshot was taken while the archiver had a link open, so the first events of that link are in it.
func TestAFollowerBeginsWithinALink(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	s.archive(10)
	first := s.bases
	events := s.write(12)
	s.save(0)
	s.link(append(events, s.write(9)...))
	s.archive(3)
	o := s.options()
	f := s.follower(o)
	s.catchUp(f)
	if got := f.Status().Base; got == first[0].Key {
		t.Errorf("it has begun with the first base")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.same(o)
}

// Somebody has deleted the archive, and another cluster is archived under its name. The follower must not look up to date, and must not begin with the other data.
func TestAnotherArchiveUnderTheSameNameIsReported(t *testing.T) {
	for name, other := range map[string]archive.Timeline{"empty": 0, "with the same timeline": 1, "with a lower timeline": 1, "with the next revision": 1} {
		t.Run(name, func(t *testing.T) {
			s := newSource(t)
			s.write(20)
			s.save(1)
			if name == "with a lower timeline" {
				s.save(2)
			}
			s.archive(10)
			o := s.options()
			f := s.follower(o)
			s.catchUp(f)
			revision := f.Status().Revision
			now := time.Now()
			f.o.Now = func() time.Time { now = now.Add(listLongest); return now }
			if err := os.RemoveAll(filepath.Join(s.dir, "continuous-archive")); err != nil {
				t.Fatal(err)
			}
			if other > 0 {
				fresh := newSource(t)
				fresh.store = s.store
				fresh.write(5)
				fresh.save(other)
				fresh.archive(5)
				if name == "with the next revision" {
					fresh.archive(int(revision - fresh.kv.Rev()))
					fresh.chain.At = s.chain.At
					fresh.archive(5)
					fresh.save(0)
				}
				s.bases = append(s.bases, fresh.bases...)
			}
			if name == "with the next revision" {
				for range maxDamaged - 1 {
					if _, err := f.Step(t.Context()); !errors.Is(err, archive.ErrCorrupt) {
						t.Errorf("got %v", err)
					}
				}
			}
			if err := catchUp(t.Context(), f); IsBroken(err) == nil || IsBroken(err).Cause != Replaced || f.Status().Revision != revision {
				t.Errorf("got %v", err)
			}
		})
	}
}

// broke returns errors, and objects that are cut off, at random.
type broke struct {
	objstore.Store
	random *rand.Rand
}

func (b *broke) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	switch b.random.IntN(4) {
	case 0:
		return nil, errors.New("503")
	case 1:
		body, err := b.Store.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(io.LimitReader(body, 50+b.random.Int64N(2000))), nil
	}
	return b.Store.Get(ctx, key)
}

func TestAFollowerCatchesUpAlthoughTheStoreFailsAtRandom(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	o := s.options()
	o.Store, o.Poll = &broke{s.store, rand.New(rand.NewPCG(5, 5))}, time.Millisecond
	f := s.follower(o)
	for range 10 {
		s.archive(1 + s.random.IntN(20))
		for tries := 0; f.Status().Revision < s.kv.Rev(); tries++ {
			if _, err := f.Step(t.Context()); err != nil && tries > 100 {
				t.Fatal(err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.same(o)
}

func TestRunFollowsUntilItsContextEnds(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := s.options()
	o.Poll = time.Millisecond
	reached := make(chan int64, 1000)
	o.Report = func(s Status) { reached <- s.Revision }
	f := s.follower(o)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	for range 3 {
		s.archive(5)
		for <-reached < s.kv.Rev() {
		}
	}
	cancel()
	go func() { // Run must not block
		for range reached {
		}
	}()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheLagIsThatBehindTheArchive(t *testing.T) {
	now := noon.Add(time.Minute)
	for name, test := range map[string]struct {
		status Status
		want   time.Duration
	}{
		"up to date":             {Status{At: noon, Checked: now.Add(-time.Second)}, time.Second},
		"behind":                 {Status{At: noon}, time.Minute},
		"with times ahead of it": {Status{At: now.Add(time.Hour), Since: now.Add(-time.Hour)}, time.Hour}, // it would look as if it had all
		"slightly ahead of it":   {Status{At: now.Add(time.Second), Since: now.Add(-time.Hour)}, 0},
	} {
		if got := test.status.Lag(now); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

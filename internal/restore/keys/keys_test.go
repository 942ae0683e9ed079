package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// saved is a snapshot in memory. A value that begins with "leased" has a lease.
type saved struct {
	values map[string]string
	keys   []string
}

func savedOf(values map[string]string) *saved {
	return &saved{values, slices.Sorted(maps.Keys(values))}
}

func (s *saved) Next() (dbfile.Entry, error) {
	if len(s.keys) == 0 {
		return dbfile.Entry{}, io.EOF
	}
	key := s.keys[0]
	s.keys = s.keys[1:]
	return dbfile.Entry{Key: []byte(key), Leased: strings.HasPrefix(s.values[key], "leased")}, nil
}

func (s *saved) Value(of dbfile.Entry) ([]byte, error) { return []byte(s.values[string(of.Key)]), nil }

func (s *saved) Length(of dbfile.Entry) int64 { return int64(len(s.values[string(of.Key)])) }

// write is one write of the history; a nil value is a deletion.
type write struct {
	revision int64
	value    *string
	client   bool
}

// world is a cluster in memory with its history. before is called before each call of the operator.
type world struct {
	revision, compacted int64
	history             map[string][]write
	before              func() error
	largest             int // number of keys in a page; 0 for no limit
}

func newWorld(values map[string]string) *world {
	w := &world{revision: 1, history: map[string][]write{}, before: func() error { return nil }}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.put(key, values[key], false)
	}
	return w
}

func (w *world) put(key, value string, client bool) {
	w.revision++
	w.history[key] = append(w.history[key], write{w.revision, &value, client})
}

func (w *world) remove(key string, client bool) {
	if w.at(key, w.revision).value == nil {
		return
	}
	w.revision++
	w.history[key] = append(w.history[key], write{w.revision, nil, client})
}

// at returns the last write of a key up to a revision.
func (w *world) at(key string, revision int64) (last write) {
	for _, at := range w.history[key] {
		if at.revision <= revision {
			last = at
		}
	}
	return last
}

func (w *world) all() map[string]string {
	found := map[string]string{}
	for key := range w.history {
		if at := w.at(key, w.revision); at.value != nil {
			found[key] = *at.value
		}
	}
	return found
}

func (w *world) Keys(_ context.Context, of etcd.KeyRange) (etcd.Page, error) {
	revision := of.Revision
	if err := w.before(); err != nil {
		return etcd.Page{}, err
	}
	switch {
	case revision == 0:
		revision = w.revision
	case revision < w.compacted:
		return etcd.Page{}, fmt.Errorf("read: %w", etcd.ErrCompacted)
	}
	page := etcd.Page{Revision: w.revision}
	for _, key := range slices.Sorted(maps.Keys(w.history)) {
		at := w.at(key, revision)
		if at.value == nil || key < string(of.Begin) || key >= string(of.End) {
			continue
		}
		if page.More = int64(len(page.Keys)) == of.Limit; page.More {
			break
		}
		pair := etcd.KeyValue{Key: []byte(key), ModRevision: at.revision}
		if !of.NamesOnly {
			pair.Value = []byte(*at.value)
		}
		page.Keys = append(page.Keys, pair)
	}
	if w.largest > 0 && len(page.Keys) > w.largest {
		return etcd.Page{}, fmt.Errorf("read: %w", etcd.ErrPageTooLong)
	}
	return page, nil
}

var errLost = errors.New("the connection is lost")

func (w *world) ApplyIfUnchanged(_ context.Context, changes ...etcd.Change) (bool, error) {
	if err := w.before(); err != nil && !errors.Is(err, errLost) {
		return false, err
	} else if errors.Is(err, errLost) {
		defer func() { _ = w.apply(changes) }() // it was carried out, and nobody knows
		return false, err
	}
	return w.apply(changes), nil
}

func (w *world) apply(changes []etcd.Change) bool {
	for _, c := range changes {
		at := w.at(string(c.Key), w.revision)
		if at.value == nil {
			at.revision = 0
		}
		if at.revision != c.ModRevision {
			return false
		}
	}
	for _, c := range changes {
		if c.Delete {
			w.remove(string(c.Key), false)
		} else {
			w.put(string(c.Key), string(c.Value), false)
		}
	}
	return true
}

// A wrong count would make a person agree to what he does not want. A key of another prefix must not be touched.
func TestKeysAreComparedAndWritten(t *testing.T) {
	snapshot := map[string]string{"/a/1": "1", "/a/2": "2", "/a/3": "leased", "/a/4": "leased", "/b/1": "1", "/c": "1"}
	live := map[string]string{"/a/2": "other", "/a/4": "now", "/a/9": "new", "/b/1": "1", "/b/2": "new", "/c": "2", "/a": "not below"}
	for name, c := range map[string]struct {
		order Order
		want  Result
		after map[string]string
	}{
		"a comparison": {
			Order{Prefixes: []string{"/b/", "/a/", "/a/1"}, Prune: true},
			Result{Revision: 8, Created: 1, Changed: 1, Deleted: 2, Unchanged: 1, Leased: 2, First: []string{`create "/a/1"`, `change "/a/2"`, `delete "/a/9"`, `delete "/b/2"`}},
			live,
		},
		"a restore": {
			Order{Prefixes: []string{"/a/", "/b/"}, Write: true},
			Result{Revision: 8, Created: 1, Changed: 1, Kept: 2, Unchanged: 1, Leased: 2, First: []string{`create "/a/1"`, `change "/a/2"`}},
			map[string]string{"/a/1": "1", "/a/2": "2", "/a/4": "now", "/a/9": "new", "/b/1": "1", "/b/2": "new", "/c": "2", "/a": "not below"},
		},
		"a restore that prunes": {
			Order{Prefixes: []string{"/a/", "/b/"}, Write: true, Prune: true},
			Result{Revision: 8, Created: 1, Changed: 1, Deleted: 2, Unchanged: 1, Leased: 2, First: []string{`create "/a/1"`, `change "/a/2"`, `delete "/a/9"`, `delete "/b/2"`}},
			map[string]string{"/a/1": "1", "/a/2": "2", "/a/4": "now", "/b/1": "1", "/c": "2", "/a": "not below"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(live)
			got, err := Run(t.Context(), w, savedOf(snapshot), c.order)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v, want -, got +:\n%s", err, diff)
			}
			if diff := cmp.Diff(c.after, w.all()); diff != "" {
				t.Errorf("the keys differ (want -, got +):\n%s", diff)
			}
		})
	}
}

// A client writes while the keys are restored, the history is compacted, the connection breaks and the operator is killed. No write of a client since
// the comparison is overwritten, and each other key is as it was in the snapshot.
func TestNoWriteSinceTheComparisonIsOverwritten(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		values := func() map[string]string {
			m := map[string]string{}
			for range r.IntN(30) {
				m[fmt.Sprintf("/%c/%d", 'a'+r.IntN(3), r.IntN(20))] = []string{"1", "2", "3", "leased"}[r.IntN(4)]
			}
			return m
		}
		snapshot, w := values(), newWorld(values())
		w.largest = r.IntN(4)
		order := Order{Prefixes: []string{"/a/", "/c/"}, Prune: r.IntN(2) == 0}
		compared, err := Run(t.Context(), w, savedOf(snapshot), order)
		if err != nil {
			t.Fatal(err)
		}
		atComparison := w.all()
		order.Write, order.Revision = true, compared.Revision
		stops := r.IntN(4)
		w.before = func() error {
			for range r.IntN(3) {
				key := fmt.Sprintf("/%c/%d", 'a'+r.IntN(3), r.IntN(20))
				if r.IntN(3) == 0 {
					w.remove(key, true)
				} else {
					w.put(key, "client", true)
				}
			}
			if r.IntN(20) == 0 {
				w.compacted = w.revision
			}
			if stops > 0 && r.IntN(10) == 0 {
				stops--
				return errLost
			}
			return nil
		}
		var result Result
		runs := 0
		for err = errLost; err != nil; runs++ {
			if result, err = Run(t.Context(), w, savedOf(snapshot), order); err != nil && !errors.Is(err, errLost) {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		exact := w.compacted <= order.Revision
		w.check(t, seed, order, snapshot, atComparison, exact)
		if conflicts := w.conflicts(order, snapshot, atComparison); exact && int(result.Conflicts) > conflicts {
			t.Errorf("seed %d: %d conflicts, and clients wrote %d keys", seed, result.Conflicts, conflicts)
		}
	}
}

// lastOfClient returns the last write of a client to a key since the comparison.
func (w *world) lastOfClient(key string, since int64) (last write) {
	for _, at := range w.history[key] {
		if at.client && at.revision > since {
			last = at
		}
	}
	return last
}

func (w *world) conflicts(o Order, snapshot, before map[string]string) (n int) {
	for key := range w.history {
		if below(o, key) && w.lastOfClient(key, o.Revision).revision > 0 {
			n++
		}
	}
	return n
}

func below(o Order, key string) bool {
	return slices.ContainsFunc(o.Prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// check compares each key. If exact is false, a deletion by a client may be undone: after a compaction, it cannot be seen. The same holds for a key
// that did not exist at the comparison, and that a client has deleted since.
func (w *world) check(t *testing.T, seed uint64, o Order, snapshot, before map[string]string, exact bool) {
	t.Helper()
	now := w.all()
	keys := slices.Concat(slices.Collect(maps.Keys(w.history)), slices.Collect(maps.Keys(snapshot)))
	for _, key := range keys {
		want, has := before[key]
		if value, is := snapshot[key]; below(o, key) {
			switch {
			case is && !strings.HasPrefix(value, "leased"):
				want, has = value, true
			case !is && o.Prune:
				want, has = "", false
			}
		}
		if last := w.lastOfClient(key, o.Revision); last.revision > 0 {
			if _, had := before[key]; last.value == nil && (!exact || !had) {
				continue
			}
			// A client may have written before the operator did, and then the guard keeps the operator from writing; or after it.
			want, has = "", last.value != nil
			if has {
				want = *last.value
			}
		}
		if got, is := now[key]; got != want || is != has {
			t.Errorf("seed %d: %s is %q (%v), want %q (%v); history %s", seed, key, got, is, want, has, w.print(key))
		}
	}
}

func (w *world) print(key string) string {
	var text bytes.Buffer
	for _, at := range w.history[key] {
		value := "deleted"
		if at.value != nil {
			value = *at.value
		}
		fmt.Fprintf(&text, "%d %s client %v; ", at.revision, value, at.client)
	}
	return text.String()
}

// lying is a member whose answers end no listing.
type lying struct{ pages []etcd.Page }

func (l *lying) Keys(context.Context, etcd.KeyRange) (etcd.Page, error) {
	page := l.pages[0]
	if len(l.pages) > 1 {
		l.pages = l.pages[1:]
	}
	return page, nil
}

func (l *lying) ApplyIfUnchanged(context.Context, ...etcd.Change) (bool, error) { return true, nil }

// The members belong to a tenant. An answer that repeats itself would keep a worker for ever, and a key of another prefix would be deleted.
func TestAnswersThatWereNotAskedForEndTheComparison(t *testing.T) {
	pair := func(key string) etcd.KeyValue { return etcd.KeyValue{Key: []byte(key), ModRevision: 1} }
	for name, pages := range map[string][]etcd.Page{
		"the same page again":      {{Revision: 1, More: true, Keys: []etcd.KeyValue{pair("/a/1")}}},
		"an empty page and more":   {{Revision: 1, More: true}},
		"a key of another prefix":  {{Revision: 1, Keys: []etcd.KeyValue{pair("/b/1")}}},
		"keys in descending order": {{Revision: 1, Keys: []etcd.KeyValue{pair("/a/2"), pair("/a/1")}}},
		"more keys than asked":     {{Revision: 1, Keys: make([]etcd.KeyValue, pageLimit+1)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Run(t.Context(), &lying{pages}, savedOf(nil), Order{Prefixes: []string{"/a/"}, Prune: true, Write: true})
			if !errors.Is(err, errOrder) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The operator is killed, or the connection breaks, after most of the keys are written. No client writes anything. The next run reads the cluster at the
// revision of the comparison, where these keys still differ, and reports its own writes as those of clients.
func TestKeysThatTheOperatorHasWrittenAreNoConflicts(t *testing.T) {
	snapshot := map[string]string{}
	for i := range 300 {
		snapshot[fmt.Sprintf("/a/%03d", i)] = "saved"
	}
	w := newWorld(map[string]string{"/a/000": "other", "/a/new": "x"})
	order := Order{Prefixes: []string{"/a/"}, Prune: true}
	compared, err := Run(t.Context(), w, savedOf(snapshot), order)
	if err != nil {
		t.Fatal(err)
	}
	order.Write, order.Revision = true, compared.Revision
	calls := 0
	w.before = func() error {
		if calls++; calls == 5 { // the first page, and three transactions
			return errors.New("killed")
		}
		return nil
	}
	if _, err := Run(t.Context(), w, savedOf(snapshot), order); err == nil {
		t.Fatal("not interrupted")
	}
	w.before = func() error { return nil }
	result, err := Run(t.Context(), w, savedOf(snapshot), order)
	if err != nil || result.Conflicts != 0 {
		t.Errorf("error %v, %d conflicts with clients, and no client wrote: %v", err, result.Conflicts, result.First)
	}
}

// Members are slow, and an attempt ends after its time, before all keys are written. Nobody else writes. The manual: "the operator tries again, and
// continues with the keys that still differ". But the next attempt reads the keys at the revision of the comparison, where those that are written still
// differ. It writes each of them again in vain and then asks for it, which takes longer than to write it, and ends no later than the one before.
func TestEachAttemptToWriteIsFurtherThanTheOneBefore(t *testing.T) {
	snapshot, outOfTime := map[string]string{}, errors.New("the members were too slow")
	const batches, callsOfOneAttempt = 150, 100
	for i := range batches * maxChanges {
		snapshot[fmt.Sprintf("/a/%05d", i)] = "saved"
	}
	w := newWorld(map[string]string{"/b": "other"})
	order := Order{Prefixes: []string{"/a/"}}
	compared, err := Run(t.Context(), w, savedOf(snapshot), order)
	if err != nil {
		t.Fatal(err)
	}
	order.Write, order.Revision = true, compared.Revision
	for attempt := range 10 {
		calls := 0
		w.before = func() error {
			if calls++; calls > callsOfOneAttempt {
				return outOfTime
			}
			return nil
		}
		_, err := Run(t.Context(), w, savedOf(snapshot), order)
		t.Logf("attempt %d: %d of %d keys are written, %v", attempt+1, len(w.all())-1, len(snapshot), err)
		if err == nil {
			return
		}
	}
	t.Error("it never ends")
}

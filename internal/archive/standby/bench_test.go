package standby

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

const root = "continuous-archive/ns/name/"

var noon = time.Date(2026, 11, 22, 23, 59, 30, 0, time.UTC) // so that the chains change the day

// source is a store of etcd, without a process, that is archived.
type source struct {
	*testing.T
	random  *rand.Rand
	backend backend.Backend
	kv      mvcc.KV
	path    string

	store     objstore.Store
	dir       string // of the store
	bases     []archive.Base
	chain     archive.Chain
	users     auth.State
	compacted int64
	plant     func([]*mvccpb.Event) []*mvccpb.Event // changes what the archiver sees
}

func newSource(t *testing.T) *source {
	t.Helper()
	s := &source{T: t, random: rand.New(rand.NewPCG(7, 7)), dir: t.TempDir(), path: filepath.Join(t.TempDir(), "source.db")}
	var err error
	if s.store, err = file.Open(s.dir); err != nil {
		t.Fatal(err)
	}
	config := backend.DefaultBackendConfig(dbfile.PanickingLogger())
	config.Path, config.UnsafeNoFsync = s.path, true
	s.backend = backend.New(config)
	tx := s.backend.BatchTx()
	tx.LockOutsideApply()
	for _, b := range []backend.Bucket{schema.Meta, schema.Lease, schema.Auth} {
		tx.UnsafeCreateBucket(b)
	}
	tx.Unlock()
	s.kv = mvcc.NewStore(dbfile.PanickingLogger(), s.backend, &lease.FakeLessor{}, mvcc.StoreConfig{CompactionBatchLimit: 100, CompactionSleepInterval: time.Nanosecond})
	t.Cleanup(func() { _, _ = s.kv.Close(), s.backend.Close() })
	return s
}

// write writes random revisions and returns their events, as a watch sends them.
func (s *source) write(revisions int) (events []*mvccpb.Event) {
	for last := s.kv.Rev() + int64(revisions); s.kv.Rev() < last; {
		revision := s.kv.Rev() + 1
		txn := s.kv.Write(traceutil.TODO())
		if s.random.IntN(15) == 0 {
			txn.DeleteRange([]byte("key-1"), []byte("key-2"))
		} else {
			written := map[string]bool{} // etcd allows no key twice
			for range 1 + s.random.IntN(4) {
				s.change(txn, written)
			}
		}
		events = append(events, eventsOf(txn, revision)...)
		txn.End()
	}
	return events
}

func eventsOf(txn mvcc.TxnWrite, revision int64) (events []*mvccpb.Event) {
	for _, kv := range txn.Changes() {
		event := &mvccpb.Event{Kv: proto.CloneOf(kv)}
		if kv.ModRevision == 0 {
			event.Type, event.Kv.ModRevision = mvccpb.Event_DELETE, revision
		}
		events = append(events, event)
	}
	return events
}

func (s *source) change(txn mvcc.TxnWrite, written map[string]bool) {
	key := fmt.Appendf(nil, "key-%02d", s.random.IntN(40))
	value := fmt.Append(nil, s.random.Uint64())
	switch s.random.IntN(200) {
	case 0, 1, 2: // longer than a key of bbolt
		key = append(bytes.Repeat([]byte("long"), 10_000), byte('a'+s.random.IntN(2)))
	case 3, 4:
		value = bytes.Repeat(value, 20_000)
	}
	if written[string(key)] {
		return
	}
	written[string(key)] = true
	if s.random.IntN(5) == 0 {
		txn.DeleteRange(key, nil)
		return
	}
	txn.Put(key, value, lease.LeaseID(s.random.IntN(4)))
}

// compact compacts the source to a revision.
func (s *source) compact(revision int64) {
	s.Helper()
	if revision <= s.compacted {
		return
	}
	done, err := s.kv.Compact(traceutil.TODO(), revision)
	if err != nil {
		s.Fatal(err)
	}
	<-done
	s.compacted = revision
}

// save saves a snapshot that is a base, and begins a timeline with it if that is not 0.
func (s *source) save(t archive.Timeline) archive.Base {
	s.Helper()
	s.kv.Commit()
	base := archive.Base{
		Key: filepath.Join(s.TempDir(), "base.db"), ClusterID: fmt.Sprintf("%016x", 1), Auth: s.users,
		Point: archive.Point{Revision: s.kv.Rev(), At: noon.Add(time.Duration(s.kv.Rev()) * time.Second)},
	}
	content, err := os.ReadFile(s.path)
	if err == nil {
		err = os.WriteFile(base.Key, content, 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
	s.bases = append(s.bases, base)
	if t > 0 {
		start := archive.NewStart(t, 1, base, "test")
		if err := s.store.Put(s.Context(), archive.StartKey(root, t), objstore.NewMetadata(start.Encode())); err != nil {
			s.Fatal(err)
		}
		s.chain = start.Chain()
	}
	return base
}

// archive stores one link of so many revisions, and returns its key.
func (s *source) archive(revisions int) string {
	s.Helper()
	return s.link(s.write(revisions))
}

func (s *source) link(events []*mvccpb.Event) string {
	s.Helper()
	if s.plant != nil {
		events = s.plant(events)
	}
	var records, object bytes.Buffer
	w := archive.NewWriter(&records, s.chain, s.users)
	for _, e := range events {
		if err := w.Add(e, noon.Add(time.Duration(e.Kv.ModRevision)*time.Second)); err != nil {
			s.Fatal(err)
		}
	}
	h, err := w.Seal([]archive.Lease{{ID: 1, TTL: 77}, {ID: 2, TTL: 88}}, s.users, s.compacted)
	if err == nil {
		h, err = archive.WriteObject(&object, codec.Encoder{Compression: codec.Zstd}, h, &records)
	}
	if err != nil {
		s.Fatal(err)
	}
	return s.put(h, &object)
}

func (s *source) put(h archive.Header, object io.Reader) string {
	s.Helper()
	key := archive.LinkKey(root, s.chain.Timeline, s.chain.At, h.First)
	if err := s.store.Put(s.Context(), key, object); err != nil {
		s.Fatal(err)
	}
	s.chain = h.Chain()
	return key
}

// gap stores a link without its events, and a base after it.
func (s *source) gap(revisions int) {
	s.Helper()
	s.write(revisions)
	h := archive.NewGap(s.chain, s.save(0), s.compacted, "test")
	s.put(h, bytes.NewReader(h.Encode()))
}

// options returns those of a follower of the source, in a directory of its own.
func (s *source) options() Options {
	return optionsOf(filepath.Join(s.TempDir(), "standby"), s.store, &s.bases)
}

func optionsOf(dir string, store objstore.Store, bases *[]archive.Base) Options {
	all := func(string) bool { return true }
	return Options{
		Dir: dir, Store: store, Root: root, FallbackTTL: 5, Now: time.Now, unsynced: true,
		Find:  func(ctx context.Context) (archive.Choice, error) { return Newest(ctx, store, root, all, *bases, nil) },
		Fetch: func(_ context.Context, b archive.Base, path string) error { return copyFile(path, b.Key) },
	}
}

func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

func (s *source) follower(o Options) *Follower {
	s.Helper()
	f, err := Open(o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = f.Close() })
	return f
}

// catchUp makes steps until the archive has nothing new.
func catchUp(ctx context.Context, f *Follower) error {
	for {
		if done, err := f.Step(ctx); err != nil || done == Idle {
			return err
		}
	}
}

func (s *source) catchUp(f *Follower) {
	s.Helper()
	if err := catchUp(s.Context(), f); err != nil {
		s.Fatal(err)
	}
	if got := f.Status(); got.Revision != s.kv.Rev() || got.Timeline != s.chain.Timeline || got.Checked.IsZero() {
		s.Fatalf("the status is %+v, want revision %d of timeline %d", got, s.kv.Rev(), s.chain.Timeline)
	}
}

// same finishes the following, and compares the result with the source, byte for byte and by etcd's hash.
func (s *source) same(o Options) {
	s.Helper()
	path := filepath.Join(s.TempDir(), "delivered.db")
	result, err := Finish(s.Context(), o, path)
	if err != nil {
		s.Fatal(err)
	}
	if result.Revision != s.kv.Rev() {
		s.Errorf("revision %d was delivered, want %d", result.Revision, s.kv.Rev())
	}
	s.compare(path)
}

// sameKeys compares a delivered database with the source, byte for byte.
func (s *source) sameKeys(path string) {
	s.Helper()
	s.kv.Commit()
	want, got := keysOf(s.T, s.path), keysOf(s.T, path)
	if want != got {
		s.Errorf("the keys differ: got %d bytes, want %d:\n%s", len(got), len(want), difference(want, got))
	}
}

func (s *source) compare(path string) {
	s.Helper()
	s.sameKeys(path)
	hash, _, err := s.kv.(interface{ HashStorage() mvcc.HashStorage }).HashStorage().HashByRev(0)
	if err != nil {
		s.Fatal(err)
	}
	found, err := dbfile.TryRestore(s.Context(), dbfile.Trial{SnapshotPath: path, DataDir: filepath.Join(s.TempDir(), "data"), Revision: hash.Revision})
	if err != nil {
		s.Fatal(err)
	}
	if found.Hash != hash.Hash || found.CompactRevision != max(hash.CompactRevision, 0) {
		s.Errorf("the hash is %08x (compacted to %d), want %08x (%d)", found.Hash, found.CompactRevision, hash.Hash, hash.CompactRevision)
	}
}

// keysOf returns the bucket of keys as text. The database may be open in this process.
func keysOf(t *testing.T, path string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := copyFile(copied, path); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(copied, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: false})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text strings.Builder
	err = db.View(func(tx *bbolt.Tx) error {
		err := tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if strings.HasPrefix(string(name), "standby") {
				t.Errorf("the bucket %s was delivered", name)
			}
			return nil
		})
		_ = tx.Bucket(schema.Key.Name()).ForEach(func(k, v []byte) error {
			fmt.Fprintf(&text, "%x %x\n", k, v)
			return nil
		})
		return err
	})
	if err != nil && !strings.Contains(path, "source.db") {
		t.Fatal(err)
	}
	return text.String()
}

// difference returns the first lines that differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d of %d and %d:\n%.120s\n%.120s", i, len(a), len(b), a[i], b[min(i, len(b)-1)])
		}
	}
	return "more lines"
}

// describe writes the bases for a child process.
func (s *source) describe(path string) {
	s.Helper()
	content, err := json.Marshal(s.bases)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}

package copying

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/copier"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// copiedHistory is a random history of an archive and of its copy: changes, snapshots, timelines, retention in both locations, faults of both, and restarts.
type copiedHistory struct {
	*attempttest.Kept
	*rand.Rand
	second   *objstoretest.Memory
	puts     int
	w        *copying
	job      *job
	spec     Spec
	chain    archive.Chain
	revision int64
	log      []string
	recovery string
	at       map[int64]time.Time // of each revision
	newest   time.Time           // snapshot
}

func newCopiedHistory(t *testing.T, seed uint64) *copiedHistory {
	s := statetest.ArchivingState(t, statetest.Copies)
	h := &copiedHistory{
		Kept: &attempttest.Kept{Memory: objstoretest.NewMemory(), T: t, O: state.JobSpecOf(s), At: statetest.T0},
		Rand: rand.New(rand.NewPCG(seed, 85)), second: objstoretest.NewMemory(), revision: 10, at: map[int64]time.Time{},
	}
	for _, store := range []*objstoretest.Memory{h.Memory, h.second} {
		ahead := time.Duration(h.IntN(600)-300) * time.Minute
		store.Now = func() time.Time { return h.At.Add(ahead) }
		h.note("a clock is %s ahead", ahead)
	}
	h.O.Keep.Window, h.O.Keep.MaxBackups, h.O.Archived, h.O.Distrusted = 3*time.Hour, 1+h.IntN(3), true, nil
	h.O.Copy = &s.CopyTarget
	w := attempttest.NewWorld(t)
	w.Now = func() time.Time { return h.At }
	w.Open = func(_ context.Context, a connect.Access) (objstore.Store, error) {
		if a.Bucket == h.O.Copy.Bucket {
			return counting{h.second, &h.puts}, nil
		}
		return h.Memory, nil
	}
	counted, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	h.job, h.spec = &job{Clients: w.Clients, metrics: counted, places: limits.NewPlaces(nil, 0)}, Spec{job: h.O, maxLag: 5 * time.Second, prunes: true}
	h.restart()
	h.begin()
	return h
}

func (h *copiedHistory) note(format string, values ...any) {
	h.log = append(h.log, h.At.Format("15:04 ")+fmt.Sprintf(format, values...))
}

func (h *copiedHistory) restart() {
	h.w = &copying{Copier: &Copier{spec: h.spec, news: make(chan struct{}, 1), notify: func() {}}, job: h.job}
}

// begin begins a timeline, sometimes after lost revisions.
func (h *copiedHistory) begin() {
	if h.IntN(2) == 0 && h.revision > 20 {
		h.recovery = fmt.Sprint("r", h.At.Unix())
		h.revision -= int64(h.IntN(6))
	} else {
		h.revision += int64(h.IntN(3))
	}
	key := h.take("")
	start := archive.NewStart(h.chain.Timeline+1, 1, archive.Base{Key: key, Recovery: h.recovery, Point: archive.Point{Revision: h.revision, At: h.At}}, "test")
	attempttest.Place(h.T, h.Memory, archive.StartKey(h.O.ArchiveRoot(), h.chain.Timeline+1), string(start.Encode()))
	h.chain = start.Chain()
	h.note("begin %d at %d", h.chain.Timeline, h.revision)
}

func (h *copiedHistory) segment() {
	var records, object bytes.Buffer
	w := archive.NewWriter(&records, h.chain, auth.State{})
	for range 1 + h.IntN(3) {
		h.revision++
		h.at[h.revision] = h.At
		if err := w.Add(&mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 2, ModRevision: h.revision, Version: h.revision}}, h.At); err != nil {
			h.T.Fatal(err)
		}
	}
	head, err := w.Seal(nil, auth.State{}, 0)
	if err == nil {
		head, err = archive.WriteObject(&object, codec.Encoder{}, head, &records)
	}
	if err != nil {
		h.T.Fatal(err)
	}
	attempttest.Place(h.T, h.Memory, archive.LinkKey(h.O.ArchiveRoot(), h.chain.Timeline, h.chain.At, head.First), object.String())
	h.chain = head.Chain()
	h.note("segment to %d", h.revision)
}

// take takes a snapshot whose bytes are those of its manifest.
func (h *copiedHistory) take(verdict snapshot.Result) string {
	key := h.Take(h.revision, verdict)
	h.newest = h.At
	m, err := snapshot.ManifestOf(h.T.Context(), h.Memory, key, snapshot.Anyone)
	if err != nil {
		h.T.Fatal(err)
	}
	m.Recovery = h.recovery
	m.SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte("data")))
	content, err := m.Encode()
	if err != nil {
		h.T.Fatal(err)
	}
	h.Place(snapshot.ManifestKey(key), content)
	return key
}

// retain applies retention to one location, as an attempt and a keeper do.
func (h *copiedHistory) retain(store objstore.Store, o state.JobSpec, archives bool) {
	ctx := h.T.Context()
	o.Keep.Now = h.At
	known := catalog.Known{}
	index, err := catalog.Scan(ctx, store, o.SeriesOf(1).Prefix())
	if err != nil {
		return
	}
	d, err := retention.Retain(ctx, store, o.SeriesOf(1), index, known, o.Keep)
	if err != nil {
		return
	}
	for _, key := range d.Delete {
		if store.Delete(ctx, key) == nil {
			h.note("delete %s %s", o.Target.Bucket, short(key))
		}
	}
	if !archives {
		return
	}
	known = catalog.Known{}
	f, err := inventory.Of(ctx, store, o, known)
	if err != nil {
		return
	}
	defer f.Survey.Drop()
	names, _, err := inventory.OutdatedBy(ctx, store, o, f.Survey, f.Index, known)
	for _, n := range names {
		if err == nil && store.Delete(ctx, n.Key(o.ArchiveRoot())) == nil {
			h.note("delete %s %s", o.Target.Bucket, short(n.Key(o.ArchiveRoot())))
		}
	}
}

func short(key string) string {
	parts := strings.Split(key, "/")
	return strings.Join(parts[max(0, len(parts)-3):], "/")
}

func (h *copiedHistory) copySnapshots() {
	o := h.O.CopiedArchive()
	keep := o.Keep
	keep.Now = h.At
	_, err := copier.Copy(h.T.Context(), copier.Request{From: h.Memory, To: h.second, FromSeries: h.O.SeriesOf(1), ToSeries: o.SeriesOf(1), Policy: keep})
	h.note("copy snapshots: %v", err)
	h.retain(h.second, o, false)
}

func (h *copiedHistory) step() {
	if h.IntN(4) > 0 {
		h.w.offer(h.status())
	}
	before := h.puts
	err := h.w.step(h.T.Context())
	h.w.report(err, time.Second)
	h.note("step: %d puts, %v", h.puts-before, err)
}

func (h *copiedHistory) fault() {
	store := []*objstoretest.Memory{h.Memory, h.second}[h.IntN(2)]
	keys := store.Keys()
	if len(keys) == 0 {
		return
	}
	key := keys[h.IntN(len(keys))]
	fault := []objstoretest.Fault{objstoretest.Cold, objstoretest.Locked, objstoretest.Omitted, objstoretest.Lost}[h.IntN(4)]
	store.Set(key, fault)
	h.note("fault %d of %s, second %t", fault, short(key), store == h.second)
}

func (h *copiedHistory) heal() {
	for _, store := range []*objstoretest.Memory{h.Memory, h.second} {
		for _, key := range store.Keys() {
			store.Set(key, 0)
		}
	}
}

// reached returns which of the revisions a location has.
func (h *copiedHistory) reached(store objstore.Store, o state.JobSpec) (all map[int64]string) {
	f, err := inventory.Of(h.T.Context(), store, o, catalog.Known{})
	if err != nil {
		h.T.Fatal(err)
	}
	defer f.Survey.Drop()
	all = map[int64]string{}
	for r := int64(1); r <= h.revision; r++ {
		if c, err := archive.Find(h.T.Context(), store, o.ArchiveRoot(), f.Bases, archive.Progress{}, archive.Target{Revision: r}); err == nil {
			all[r] = fmt.Sprint(c.Timeline, " ", c.Reached.Revision)
		}
	}
	return all
}

// settle lets the copy catch up without faults.
func (h *copiedHistory) settle() {
	h.heal()
	h.copySnapshots()
	for range 5 {
		h.w.offer(h.status())
		h.step()
		h.At = h.At.Add(11 * time.Minute)
	}
}

// status is that of the archiver.
func (h *copiedHistory) status() archiver.Status {
	end := archive.Point{Revision: h.chain.Last, At: h.chain.At}
	return archiver.Status{Timeline: h.chain.Timeline, Stored: end, Progress: end, Unbroken: h.chain.Unbroken, Head: h.chain.Last, Safe: h.At}
}

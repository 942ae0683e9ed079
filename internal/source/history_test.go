package source

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// writer is one EtcdBackup.
type writer struct {
	name   string
	series snapshot.Series
	policy retention.Policy
	uid    string
	status string // the key that its status names
}

// tenant is somebody who has put snapshots into the series of others.
var tenant = &writer{name: "tenant"}

// history is a random history of several EtcdBackups of several clusters in one folder.
type history struct {
	*testing.T
	*rand.Rand
	store *objstoretest.Memory
	// real is the store's time. The operator's clock differs from it by drift.
	real    time.Time
	drift   time.Duration
	writers []*writer
	owners  map[string]*writer
	// taken is when each snapshot was taken, by the store's time.
	taken map[string]time.Time
	// noQuorum are the snapshots that were taken without quorum.
	noQuorum map[string]bool
	// omitted is the object that the last listing lacked.
	omitted string
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{T: t, Rand: rand.New(rand.NewPCG(seed, 7)), real: dawn, owners: map[string]*writer{}, taken: map[string]time.Time{}, noQuorum: map[string]bool{}}
	h.store = objstoretest.NewMemory()
	h.store.Now = func() time.Time { return h.real }
	for i, of := range []struct {
		backup, namespace, cluster string
		id                         uint64
	}{
		{"backup-0", "ns", "a", 1}, {"backup-1", "ns", "a", 1}, {"backup-2", "ns", "a", 2}, {"backup-3", "ns", "a-2", 3}, {"backup-4", "prod", "a", 4},
		{"backup-0", "ns", "a", 1}, // in another Kubernetes
	} {
		uid := fmt.Sprint("uid-", i)
		h.writers = append(h.writers, &writer{
			name: of.backup, uid: uid,
			series: snapshot.Series{Folder: "daily", Namespace: of.namespace, Cluster: of.cluster, ClusterID: of.id},
			policy: retention.Policy{MaxBackups: h.IntN(4), Hourly: h.IntN(3), Daily: h.IntN(3), Verify: h.IntN(3) > 0, Tests: h.IntN(2) == 0,
				Window: []time.Duration{0, 12 * time.Hour, 36 * time.Hour}[h.IntN(3)], // of a continuous archive
				Owner:  snapshot.Owner{Namespace: of.namespace, Cluster: of.cluster, Backup: of.backup, BackupUID: uid, BackupSince: dawn.AddDate(-1, 0, 0)}},
		})
	}
	return h
}

// run is one run of an EtcdBackup: save, test, record, prune, report. It may be killed at any write.
func (h *history) run(w *writer) {
	h.real = h.real.Add(time.Duration(1+h.IntN(90)) * time.Minute)
	if h.IntN(15) == 0 {
		h.drift = time.Duration(h.IntN(3)-1) * time.Duration(h.IntN(400)) * time.Hour
	}
	now := h.real.Add(h.drift)
	if h.store.Kill(-1); h.IntN(3) == 0 {
		h.store.Kill(1 + h.IntN(8))
	}
	key := w.series.Key(now, int64(h.store.Writes()))
	m := snapshot.Manifest{
		FormatVersion: 1, Revision: 2, Keys: []int64{1000, 1000, 1000, 1000, 10}[h.IntN(5)], Size: 1, SHA256: strings.Repeat("ab", 32),
		CreatedAt: now.Truncate(time.Second), Cluster: snapshot.Cluster{Namespace: w.series.Namespace, Name: w.series.Cluster, ID: fmt.Sprintf("%016x", w.series.ClusterID)},
		Backup: w.name, Attempt: w.uid + "/1", NoQuorum: h.IntN(8) == 0,
	}
	if w.status == "" && h.IntN(2) == 0 {
		h.forge(w, now.Add(time.Second), m)
	}
	text, err := m.Encode()
	if err != nil {
		h.Fatal(err)
	}
	h.owners[key], h.noQuorum[key], h.taken[key] = w, m.NoQuorum, h.real
	ctx := h.Context()
	if h.store.Put(ctx, key, strings.NewReader("x")) != nil || h.store.Put(ctx, snapshot.ManifestKey(key), strings.NewReader(string(text))) != nil {
		return
	}
	if w.policy.Verify || h.IntN(4) == 0 {
		result := []snapshot.Result{snapshot.Passed, snapshot.Passed, snapshot.Failed, ""}[h.IntN(4)]
		if result == "" || snapshot.WriteVerdict(ctx, h.store, key, snapshot.Verdict{Result: result}) != nil || result == snapshot.Failed {
			return // the test failed, or could not run: the run ends
		}
	}
	if w.status = ""; h.prune(w, key, now) {
		w.status = key // a killed run reports nothing: a restore then falls back, see TestFindFallsBackToTheNewestThatExists
	}
}

// forge puts a snapshot of a tenant into the series of a writer.
func (h *history) forge(w *writer, at time.Time, m snapshot.Manifest) {
	key := w.series.Key(at, 1)
	m.Cluster.Namespace, m.Attempt, m.NoQuorum = "tenant", "uid-tenant/1", false
	text, err := m.Encode()
	if err != nil {
		h.Fatal(err)
	}
	for name, content := range map[string]string{key: "x", snapshot.ManifestKey(key): string(text)} {
		h.store.Place(name, []byte(content))
	}
	h.owners[key] = tenant
}

// disturb locks or unlocks an object, and lets the next listings lack one.
func (h *history) disturb() {
	keys := h.store.Keys()
	if h.IntN(4) == 0 {
		key := keys[h.IntN(len(keys))]
		h.store.Set(key, h.store.Of(key)^objstoretest.Locked)
	}
	h.list()
	if h.IntN(3) == 0 {
		h.omitted = keys[h.IntN(len(keys))]
		h.store.Set(h.omitted, h.store.Of(h.omitted)|objstoretest.Omitted)
	}
}

// list lets the next listings have all objects.
func (h *history) list() {
	h.store.Set(h.omitted, h.store.Of(h.omitted)&^objstoretest.Omitted)
}

// cold reports whether an object cannot be read.
func (h *history) cold(key string) bool { return h.store.Of(key)&objstoretest.Cold != 0 }

// prune applies the policy, and checks each deletion. It returns whether the run was not killed.
func (h *history) prune(w *writer, saved string, now time.Time) bool {
	ctx := h.Context()
	h.disturb()
	index, err := catalog.Scan(ctx, h.store, w.series.Prefix())
	if h.list(); err != nil {
		h.Fatal(err)
	}
	verified := h.newestVerified(w, index, now)
	p := w.policy
	p.Now, p.Saved = now, saved
	d, err := retention.Retain(ctx, h.store, w.series, index, catalog.Known{}, p)
	if err != nil {
		h.Fatal(err)
	}
	for _, key := range d.Delete {
		object, _, _ := strings.Cut(key, ".db")
		object += ".db"
		exists := h.store.Has(object)
		if exists && h.store.Of(object)&objstoretest.Locked != 0 && key != object {
			continue // as the operator does
		}
		switch {
		case exists && key != object:
			h.Fatalf("%s deletes %s, and the object exists", w.name, key)
		case h.owners[object] != w:
			h.Fatalf("%s deletes %s of %s", w.name, key, h.owners[object].name)
		case h.cold(snapshot.ManifestKey(object)):
			h.Fatalf("%s deletes %s, whose manifest cannot be read", w.name, key)
		case object == verified && (w.policy.Verify || w.policy.Tests):
			h.Fatalf("%s deletes %s, the newest verified snapshot", w.name, key)
		case exists && h.real.Sub(h.taken[object]) < w.policy.Window:
			h.Fatalf("%s deletes %s of %s, which the archive of the last %s needs, while the clock of the operator differs by %s", w.name, key, h.taken[object], w.policy.Window, h.drift)
		case object == saved:
			h.Fatalf("%s deletes %s, which it has just saved", w.name, key)
		}
		if err := h.store.Delete(ctx, key); err != nil && !errors.Is(err, fs.ErrPermission) {
			return false
		}
	}
	return true
}

// newestVerified returns the newest snapshot of a writer that passed its test and can be read.
func (h *history) newestVerified(w *writer, index catalog.Index, now time.Time) string {
	for _, item := range index.Items {
		if h.owners[item.Key] == w && item.Verdict == snapshot.Passed && !item.Future(now) && !h.cold(snapshot.ManifestKey(item.Key)) {
			return item.Key
		}
	}
	return ""
}

// check compares what a restore would choose with all that exists.
func (h *history) check(w *writer) {
	now := h.real.Add(h.drift)
	if w.status != "" && !h.store.Has(w.status) {
		h.Fatalf("the status of %s names %s, which does not exist", w.name, w.status)
	}
	index, err := catalog.Scan(h.Context(), h.store, w.series.Prefix())
	if err != nil {
		h.Fatal(err)
	}
	best := ""
	for _, later := range []bool{false, true} {
		for _, item := range index.Items {
			readable := !h.cold(snapshot.ManifestKey(item.Key))
			if best == "" && h.owners[item.Key] != tenant && item.Verdict != snapshot.Failed && readable && !h.noQuorum[item.Key] && item.Future(now) == later {
				best = item.Key
			}
		}
	}
	src := v1beta2.RestoreSource{Bucket: "bucket", Key: w.series.Prefix()}
	key, _, err := choose(h.Context(), h.store, src, Choice{Folder: true}, snapshot.Anyone, now)
	if key != best || (err == nil) != (best != "") {
		h.Fatalf("a restore from %s chooses %q (%v), the best that exists is %q", src.Key, key, err, best)
	}
}

// checkRolledBack restores a Kubernetes from a backup: the status of a writer names one of its earlier snapshots again. A restore of the
// EtcdBackup takes that one or a newer one of the same EtcdBackup, and never loses what its newest good snapshot has.
func (h *history) checkRolledBack(w *writer) {
	index, err := catalog.Scan(h.Context(), h.store, w.series.Lives())
	if err != nil {
		h.Fatal(err)
	}
	now := h.real.Add(h.drift)
	var good []catalog.Item // newest first
	for _, item := range index.Items {
		fit := item.Verdict != snapshot.Failed && !h.cold(snapshot.ManifestKey(item.Key)) && !h.noQuorum[item.Key] && !item.Future(now)
		if h.owners[item.Key] == w && item.InSeries() && fit {
			good = append(good, item)
		}
	}
	if len(good) == 0 {
		return
	}
	named := good[h.IntN(len(good))]
	src := v1beta2.RestoreSource{Bucket: "bucket", Key: named.Key}
	c := Choice{
		Fallback: w.series.Lives(), Of: w.series.Namespace + "/" + w.series.Cluster, Backup: w.name,
		Prefer: w.series.ID(), Owner: snapshot.Owner{Backup: w.name, BackupUID: w.uid, BackupSince: w.policy.Owner.BackupSince},
	}
	key, why, err := exact(h.Context(), h.store, src, c, snapshot.Anyone, now)
	chosen, found := index.Find(key)
	switch {
	case err != nil || !found:
		h.Fatalf("the status of %s names %s again, and the restore chooses %q (%v)", w.name, named.Key, key, err)
	case h.owners[key] != w:
		h.Fatalf("the status of %s names %s again, and the restore chooses %s of %s (%s)", w.name, named.Key, key, h.owners[key].uid, why)
	case chosen.Time.Before(good[0].Time) || chosen.Verdict == snapshot.Failed || h.noQuorum[key]:
		h.Fatalf("the status of %s names %s again, and the restore chooses %s, although %s is good (%s)", w.name, named.Key, key, good[0].Key, why)
	}
}

func TestNoHistoryOfFailuresDeletesTheBestSnapshot(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := newHistory(t, seed)
			for range 120 {
				w := h.writers[h.IntN(len(h.writers))]
				h.run(w)
				if h.IntN(10) == 0 {
					keys := h.store.Keys()
					if key := keys[h.IntN(len(keys))]; strings.HasSuffix(key, ".json") {
						h.store.Set(key, h.store.Of(key)^objstoretest.Cold)
					}
				}
				h.store.Kill(-1)
				h.check(w)
				h.checkRolledBack(w)
			}
		})
	}
}

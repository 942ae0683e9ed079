package backup

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// kept is a store with an archive of 9 segments and a snapshot each hour. The newest snapshot before the window has failed a later restore test.
type kept struct {
	*objstoretest.Memory
	t   *testing.T
	o   jobSpec
	now time.Time
}

func newKept(t *testing.T, newest snapshot.Result) *kept {
	w := &kept{Memory: objstoretest.NewMemory(), t: t, o: jobSpecOf(archivingState(t)), now: t0}
	w.Now = func() time.Time { return w.now }
	w.o.Keep.Window, w.o.Archived, w.o.Distrusted = 90*time.Minute, true, nil
	first := w.take(2, snapshot.Passed)
	start := archive.NewStart(1, 1, archive.Base{Key: first, Point: archive.Point{Revision: 2, At: t0}}, "test")
	place(t, w.Memory, archive.StartKey(w.o.archiveRoot(), 1), string(start.Encode()))
	chain := start.Chain()
	for i, verdict := range []snapshot.Result{snapshot.Passed, snapshot.Failed, "", newest} {
		w.now = t0.Add(time.Duration(i+1) * time.Hour)
		chain = w.segment(w.segment(chain))
		key := w.take(int64(10*i+12), verdict)
		if verdict == snapshot.Failed {
			place(t, w.Memory, snapshot.VerdictKey(key, snapshot.Passed), "{") // of an earlier test
		}
	}
	w.segment(chain)
	return w
}

// take places a snapshot and its result.
func (w *kept) take(revision int64, verdict snapshot.Result) string {
	m := snapshot.Manifest{
		FormatVersion: snapshot.FormatVersion, Cluster: snapshot.Cluster{Namespace: w.o.Namespace, Name: w.o.Cluster, ID: "0000000000000001"}, Revision: revision, Keys: 1, Size: 4,
		SHA256: strings.Repeat("0", 64), CreatedAt: w.now.UTC(), CapturedAt: w.now.UTC(), Backup: w.o.Name,
	}
	content, err := m.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	key := w.o.seriesOf(1).EncodedKey(w.now, revision, w.o.Encoder.Encoding())
	place(w.t, w.Memory, key, "data")
	place(w.t, w.Memory, snapshot.ManifestKey(key), string(content))
	if verdict != "" {
		place(w.t, w.Memory, snapshot.VerdictKey(key, verdict), "{")
	}
	return key
}

// segment archives the next 5 revisions.
func (w *kept) segment(chain archive.Chain) archive.Chain {
	var records, object bytes.Buffer
	writer := archive.NewWriter(&records, chain, auth.State{})
	for i := range int64(5) {
		event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 2, ModRevision: chain.Last + 1 + i, Version: chain.Last + i}}
		if err := writer.Add(event, w.now); err != nil {
			w.t.Fatal(err)
		}
	}
	h, err := writer.Seal(nil, auth.State{}, 0)
	if err == nil {
		h, err = archive.WriteObject(&object, codec.Encoder{}, h, &records)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	place(w.t, w.Memory, archive.LinkKey(w.o.archiveRoot(), 1, w.now, h.First), object.String())
	return h.Chain()
}

// deletes returns the parts of the archive that a keeper deletes.
func (w *kept) deletes() (keys []string) {
	known := snapshot.Known{}
	f, err := surveyOf(w.t.Context(), w, w.o, known)
	if err != nil {
		return nil // it deletes nothing
	}
	defer f.survey.Drop()
	if f.last != nil && f.last.Result == v1beta2.ProofFailed {
		return nil
	}
	names, _, err := outdatedBy(w.t.Context(), w, w.o, f.survey, f.index, known)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		keys = append(keys, name.Key(w.o.archiveRoot()))
	}
	return keys
}

// A listing omits one object, whichever it is. No part of the archive is deleted that a whole listing keeps. An omitted result of a restore test
// deleted what a restore from the last good snapshot needs, and an omitted failed proof deleted the rest of a damaged archive.
func TestNoOmittedObjectDeletesMoreOfAnArchive(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *jobSpec)
		newest snapshot.Result
		proof  bool // has failed
		want   int  // deletions with a whole listing
	}{
		"no tests":                 {func(*jobSpec) {}, snapshot.Passed, false, 2},
		"verify":                   {func(o *jobSpec) { o.Keep.Verify = true }, snapshot.Passed, false, 2},
		"restore tests":            {func(o *jobSpec) { o.Keep.Tests = true }, snapshot.Passed, false, 2},
		"the newest test failed":   {func(o *jobSpec) { o.Keep.Tests = true }, snapshot.Failed, false, 0},
		"a proof failed":           {func(*jobSpec) {}, snapshot.Passed, true, 0},
		"a proof failed, verified": {func(o *jobSpec) { o.Keep.Verify = true }, snapshot.Passed, true, 0},
	} {
		w := newKept(t, test.newest)
		test.change(&w.o)
		if test.proof {
			from := w.o.seriesOf(1).EncodedKey(t0, 2, w.o.Encoder.Encoding())
			failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 2, To: 12, Failed: true}, FromKey: from, Message: "Revision 7 is damaged."}
			if err := archive.WriteProof(t.Context(), w, w.o.archiveRoot(), failed, nil); err != nil {
				t.Fatal(err)
			}
		}
		allowed := w.deletes()
		if len(allowed) != test.want {
			t.Errorf("%s: a whole listing deletes %q, want %d", name, allowed, test.want)
		}
		for _, object := range w.Keys() {
			w.Set(object, objstoretest.Omitted)
			for _, key := range w.deletes() {
				if !slices.Contains(allowed, key) {
					t.Errorf("%s: a listing omits %s, and %s is deleted", name, object, key)
				}
			}
			why, err := w.o.archiveHolds(t.Context(), w)
			if err != nil || (why != "") != test.proof {
				t.Errorf("%s: a listing omits %s, and snapshots are kept because of %q, error %v", name, object, why, err)
			}
			w.Set(object, 0)
		}
	}
}

package attempttest

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Kept is a store with an archive of 9 segments and a snapshot each hour. The newest snapshot before the window has failed a later restore test.
type Kept struct {
	*objstoretest.Memory
	T *testing.T
	// O is the job spec of the EtcdBackup that archives.
	O state.JobSpec
	// At is the present time of the store.
	At time.Time
}

// NewKept returns such a store.
func NewKept(t *testing.T, newest snapshot.Result) *Kept {
	w := &Kept{Memory: objstoretest.NewMemory(), T: t, O: state.JobSpecOf(statetest.ArchivingState(t)), At: statetest.T0}
	w.Now = func() time.Time { return w.At }
	w.O.Keep.Window, w.O.Archived, w.O.Distrusted = 90*time.Minute, true, nil
	first := w.Take(2, snapshot.Passed)
	start := archive.NewStart(1, 1, archive.Base{Key: first, Point: archive.Point{Revision: 2, At: statetest.T0}}, "test")
	Place(t, w.Memory, archive.StartKey(w.O.ArchiveRoot(), 1), string(start.Encode()))
	chain := start.Chain()
	for i, verdict := range []snapshot.Result{snapshot.Passed, snapshot.Failed, "", newest} {
		w.At = statetest.T0.Add(time.Duration(i+1) * time.Hour)
		chain = w.segment(w.segment(chain))
		key := w.Take(int64(10*i+12), verdict)
		if verdict == snapshot.Failed {
			Place(t, w.Memory, snapshot.VerdictKey(key, snapshot.Passed), "{") // of an earlier test
		}
	}
	w.segment(chain)
	return w
}

// Take places a snapshot and its result.
func (w *Kept) Take(revision int64, verdict snapshot.Result) string {
	m := snapshot.Manifest{
		FormatVersion: snapshot.FormatVersion, Cluster: snapshot.Cluster{Namespace: w.O.Namespace, Name: w.O.Cluster, ID: "0000000000000001"}, Revision: revision, Keys: 1, Size: 4,
		SHA256: strings.Repeat("0", 64), CreatedAt: w.At.UTC(), CapturedAt: w.At.UTC(), Backup: w.O.Name,
	}
	content, err := m.Encode()
	if err != nil {
		w.T.Fatal(err)
	}
	key := w.O.SeriesOf(1).EncodedKey(w.At, revision, w.O.Encoder.Encoding())
	Place(w.T, w.Memory, key, "data")
	Place(w.T, w.Memory, snapshot.ManifestKey(key), string(content))
	if verdict != "" {
		Place(w.T, w.Memory, snapshot.VerdictKey(key, verdict), "{")
	}
	return key
}

// segment archives the next 5 revisions.
func (w *Kept) segment(chain archive.Chain) archive.Chain {
	var records, object bytes.Buffer
	writer := archive.NewWriter(&records, chain, auth.State{})
	for i := range int64(5) {
		event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 2, ModRevision: chain.Last + 1 + i, Version: chain.Last + i}}
		if err := writer.Add(event, w.At); err != nil {
			w.T.Fatal(err)
		}
	}
	h, err := writer.Seal(nil, auth.State{}, 0)
	if err == nil {
		h, err = archive.WriteObject(&object, codec.Encoder{}, h, &records)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	Place(w.T, w.Memory, archive.LinkKey(w.O.ArchiveRoot(), 1, w.At, h.First), object.String())
	return h.Chain()
}

package inventory

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// archived is a random history of one EtcdBackup with a continuous archive: it takes snapshots and archives revisions, segments are lost, proofs
// pass and fail, restore tests fail, timelines begin.
type archived struct {
	*attempttest.History
	timeline archive.Timeline
	chain    archive.Chain
	revision int64
	segments []string
}

func newArchived(t *testing.T, seed uint64) *archived {
	a := &archived{History: attempttest.NewHistory(t, seed), revision: 41}
	a.State.Spec.Continuous = &v1beta2.ContinuousArchive{}
	a.Probe = func(_ context.Context, _ []string, _ ask.Access) []ask.Answer {
		return []ask.Answer{clientstest.Member("a", a.revision)}
	}
	return a
}

func (a *archived) root() string { return state.JobSpecOf(a.State).ArchiveRoot() }

func (a *archived) put(key string, content []byte) {
	if err := a.Store.Put(a.T.Context(), key, bytes.NewReader(content)); err != nil {
		a.T.Fatal(err)
	}
}

// begin begins a timeline with the newest snapshot.
func (a *archived) begin(now time.Time) {
	key := strings.TrimPrefix(a.State.Status.Snapshot.Path, "bucket/")
	a.timeline++
	start := archive.NewStart(a.timeline, 1, archive.Base{Key: key, Point: archive.Point{Revision: a.State.Status.Snapshot.Revision, At: now}}, "test")
	a.put(archive.StartKey(a.root(), a.timeline), start.Encode())
	a.chain, a.revision = start.Chain(), a.State.Status.Snapshot.Revision
}

// archive writes a segment of some revisions.
func (a *archived) archive(now time.Time) {
	var records, object bytes.Buffer
	w := archive.NewWriter(&records, a.chain, auth.State{})
	for range 1 + a.IntN(3) {
		a.revision++
		event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 2, ModRevision: a.revision, Version: a.revision}}
		if err := w.Add(event, now); err != nil {
			a.T.Fatal(err)
		}
	}
	h, err := w.Seal(nil, auth.State{}, 0)
	if err == nil {
		h, err = archive.WriteObject(&object, codec.Encoder{}, h, &records)
	}
	if err != nil {
		a.T.Fatal(err)
	}
	key := archive.LinkKey(a.root(), a.timeline, a.chain.At, h.First)
	a.put(key, object.Bytes())
	a.segments, a.chain = append(a.segments, key), h.Chain()
}

// spoil loses a segment, or stores what a proof has found.
func (a *archived) spoil(now time.Time) {
	switch n := len(a.segments); a.IntN(6) {
	case 0:
		if err := a.Store.Delete(a.T.Context(), a.segments[a.IntN(n)]); err != nil {
			a.T.Fatal(err)
		}
	case 1, 2:
		from := int64(1 + a.IntN(int(a.revision)))
		p := archive.Proof{ProofName: archive.ProofName{Timeline: a.timeline, From: from, To: from + 1, Failed: a.IntN(3) == 0}, FromKey: strings.TrimPrefix(a.State.Status.Snapshot.Path, "bucket/"), ToKey: "later", Time: now, Message: "x"}
		if err := proofs.Write(a.T.Context(), a.Store, a.root(), p, nil); err != nil {
			a.T.Fatal(err)
		}
	}
}

// reported is what the status reports of an archive that the operator reads with a status.
func (a *archived) reported(before v1beta2.EtcdBackupStatus, now time.Time) v1beta2.EtcdBackupStatus {
	s := a.State
	s.Status, s.Now = *before.DeepCopy(), now
	f, err := Of(a.T.Context(), a.Store, state.JobSpecOf(s), catalog.Known{})
	if err != nil {
		a.T.Fatal(err)
	}
	defer f.Survey.Drop()
	s.Archive = &state.Archive{Surveyed: true, Covered: f.Survey.Covered, Ranges: f.Survey.Ranges, Holes: holed(f.Survey.Holes), Unpruned: Startless(f.Survey.Startless), Proof: f.Last}
	out := status.NewStatus(s, plan.Scheduled{At: now.Add(time.Hour)}, nil)
	return v1beta2.EtcdBackupStatus{Recoverable: out.Recoverable, LastArchiveProof: out.LastArchiveProof}
}

// After a disaster, Kubernetes is rebuilt from Git, or rolled back. What a person can restore, and what was found damaged, is in the store, so a
// status that was thrown away, or an old one, reports the same again.
func TestWhatCanBeRestoredIsThatOfTheStore(t *testing.T) {
	var ranges, holes, failed int
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			a := newArchived(t, seed)
			for run := range 12 {
				now := statetest.T0.Add(time.Duration(run) * time.Hour)
				a.Take(now)
				if run == 0 || a.IntN(6) == 0 {
					a.begin(now)
				}
				for range a.IntN(4) + 1 {
					a.archive(now)
				}
				a.spoil(now)
				known := a.reported(a.State.Status, now)
				for name, status := range map[string]v1beta2.EtcdBackupStatus{"no": {}, "an old": a.Old[a.IntN(len(a.Old))]} {
					if diff := cmp.Diff(known, a.reported(status, now)); diff != "" {
						t.Fatalf("run %d: with %s status, another archive is reported (-want +got):\n%s", run, name, diff)
					}
				}
				a.State.Status.Recoverable, a.State.Status.LastArchiveProof = known.Recoverable, known.LastArchiveProof
				a.Old = append(a.Old, *a.State.Status.DeepCopy())
				ranges += len(known.Recoverable)
				if p := known.LastArchiveProof; p != nil && p.Result == v1beta2.ProofFailed {
					failed++
				}
				if f, err := Of(t.Context(), a.Store, state.JobSpecOf(a.State), catalog.Known{}); err == nil {
					holes += len(f.Survey.Holes)
					f.Survey.Drop()
				}
			}
		})
	}
	if ranges < 50 || holes < 10 || failed < 5 {
		t.Errorf("the histories have %d ranges, %d holes and %d failed proofs, so they show little", ranges, holes, failed)
	}
}

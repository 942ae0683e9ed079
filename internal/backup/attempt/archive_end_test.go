package attempt_test

import (
	"context"
	"io"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// The cache may not show a recovery yet when the survivor already serves. An archiver that began then could mix two histories.
func TestAnArchiverOnAnOldCacheDoesNotContinueOverARecovery(t *testing.T) {
	at := metav1.NewTime(statetest.T0)
	found := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}}
	found.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: "m", StartedAt: &at}
	job := &attempt.Job{Tester: &verify.Tester{Clients: &clients.Clients{Secrets: apiWith(t, found)}}}
	of := func(name, recovery string) state.JobSpec {
		return state.JobSpec{Namespace: "ns", Cluster: name, ClusterUID: "1", Recovery: recovery, Archived: true}
	}
	if err := job.ConfirmRecovery(t.Context(), of("x", ""), ""); err == nil {
		t.Error("an archiver starts before the cache has the recovery")
	}
	for name, spec := range map[string]state.JobSpec{"with the recovery": of("x", state.ClusterOf(found).Recovery), "of a deleted cluster": of("y", ""), "of endpoints": {}} {
		if err := job.ConfirmRecovery(t.Context(), spec, spec.Recovery); err != nil {
			t.Errorf("an archiver %s: %v", name, err)
		}
	}
	// A snapshot that was queued before the recovery would be a base of the lost history, with changes of the new one.
	for name, test := range map[string]struct {
		spec   state.JobSpec
		from   ask.Answer
		stored bool
	}{
		"that was queued before the recovery": {of("x", ""), ask.Answer{}, false},
		"of the recovered cluster":            {of("x", state.ClusterOf(found).Recovery), ask.Answer{}, true},
		"without quorum, which is no base":    {of("x", ""), ask.Answer{NotServing: failure.ErrMembers}, true},
		"of a one-shot without an archive":    {state.JobSpec{Namespace: "ns", Cluster: "x", ClusterUID: "1"}, ask.Answer{}, true},
		// Another EtcdBackup may archive the cluster into the folder of the series.
		"that was queued before the recovery, of another series": {state.JobSpec{Namespace: "ns", Cluster: "x", ClusterUID: "1", Series: true}, ask.Answer{}, false},
	} {
		sent := &sending{}
		stream, _, err := job.OfHistory(test.spec, test.from, sent).Snapshot(t.Context())
		if (err == nil) != test.stored || (stream != nil) != test.stored || sent.closed == test.stored {
			t.Errorf("a snapshot %s: error %v, stream closed %t", name, err, sent.closed)
		}
	}
}

// sending is the stream of a snapshot.
type sending struct{ closed bool }

func (s *sending) Snapshot(context.Context) (io.ReadCloser, int64, error) { return s, 1, nil }

func (s *sending) Read([]byte) (int, error) { return 0, io.EOF }

func (s *sending) Close() error { s.closed = true; return nil }

// TestAnArchiveBeginsBeforeTheRestoreTestOfItsSnapshot lets the test fail, and take long: etcd may be compacted meanwhile.
func TestAnArchiveBeginsBeforeTheRestoreTestOfItsSnapshot(t *testing.T) {
	w := attempttest.NewWorld(t)
	var bases []archive.Base
	w.Drill = func(context.Context, proof.RestoreTestRequest) (proof.RestoreTestResult, error) {
		if len(bases) != 1 || bases[0].Point.Revision != 42 {
			t.Errorf("when the restore test begins, the archiver has the bases %+v, want that of revision 42", bases)
		}
		return proof.RestoreTestResult{}, dbfile.ErrMemory
	}
	s := statetest.Series(statetest.Verifies)
	s.Spec.Continuous = &v1beta2.ContinuousArchive{}
	s.Archive = &state.Archive{Want: "the archive begins"}
	r := w.Run(t.Context(), state.JobSpecOf(s), &queue.Progress{Based: func(b archive.Base) { bases = append(bases, b) }})
	if r.Failure == nil || len(bases) != 1 {
		t.Errorf("%d bases, %+v", len(bases), r)
	}
	s.Archive.Want = ""
	if w.Run(t.Context(), state.JobSpecOf(s), &queue.Progress{Based: func(b archive.Base) { bases = append(bases, b) }}); len(bases) != 1 {
		t.Errorf("an attempt for no archive gave the bases %+v", bases)
	}
}

// With noQuorum: Mark, the snapshot that an archiver has asked for may be taken without a quorum. No replay begins with it. It also
// satisfied each later request with the same reason, so the changes after it could not be restored until the next scheduled snapshot.
func TestASnapshotWithoutQuorumDoesNotAnswerTheArchiverTwice(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) {
		s.Spec.Continuous, s.Spec.NoQuorum = &v1beta2.ContinuousArchive{}, v1beta2.NoQuorumMark
	})
	s.Archive = &state.Archive{Want: "no snapshot reaches the revisions after 41"}
	probe := w.Probe
	w.Probe = func(ctx context.Context, urls []string, by ask.Access) []ask.Answer {
		answers := probe(ctx, urls, by)
		answers[0].NotServing = failure.ErrMembers
		return answers
	}
	if r := w.Attempt(s); r.Failure != nil || !r.Snapshot.NoQuorum {
		t.Fatalf("without quorum: %+v", r)
	}
	w.Probe, w.Now = probe, statetest.At(statetest.T0.Add(time.Minute))
	if r := w.Attempt(s); r.Failure != nil || r.Found || r.Snapshot.NoQuorum {
		t.Errorf("with quorum, the archiver gets the snapshot that was taken without: %+v", r)
	}
	w.Now = statetest.At(statetest.T0.Add(2 * time.Minute))
	if r := w.Attempt(s); r.Failure != nil || !r.Found || r.Snapshot.NoQuorum {
		t.Errorf("the snapshot with quorum is taken twice: %+v", r)
	}
}

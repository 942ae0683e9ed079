package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// proofTTL in seconds is that of leases without a known TTL. Leases are not compared.
const proofTTL = 3600

// proveArchive rolls an earlier snapshot forward to the newest one with the archive, and compares the hash of all keys and values with
// what the restore test of the newest one has found. An error means that the proof could not be carried out.
func (t *job) proveArchive(ctx context.Context, o jobSpec, store objstore.Store, want dbfile.KVHash, progress *jobProgress) (*v1beta2.ArchiveProof, error) {
	proof := &v1beta2.ArchiveProof{Result: v1beta2.ProofPassed, To: o.Newest.Path, Revision: want.Revision}
	choice, found, err := earlier(ctx, o, store, want.Revision)
	if err == nil && found {
		proof.From, proof.Segments = o.Target.Bucket+"/"+choice.Base.Key, int32(len(choice.Links)) // limited by the store
		proof.Message = fmt.Sprintf("All keys and values at revision %d are those of the snapshot.", want.Revision)
		err = t.rollForward(ctx, o, store, choice, want, progress)
	}
	if err == nil && !found {
		proof.Result, proof.Message = v1beta2.ProofSkipped, "There was nothing to prove: the archive reaches this snapshot from no earlier one with another revision."
	}
	if proof.Time = (metav1.Time{Time: t.now()}); errors.Is(err, errStillFailed) {
		failed := *o.Distrusted
		failed.To, failed.Time = o.Newest.Path, proof.Time
		return &failed, nil
	}
	if refutes(err) {
		proof.Result, proof.Message = v1beta2.ProofFailed, clip(err.Error())
		return proof, nil
	}
	if errors.Is(err, archive.ErrIdentity) || errors.Is(err, snapshot.ErrIdentity) {
		return nil, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf("The operator cannot decrypt the continuous archive to prove it: %v. "+
			"Put the identity into the key %s of the Secret with the store's credentials.", err, v1beta2.AgeIdentityKey))
	}
	if err != nil {
		return nil, fmt.Errorf("prove the continuous archive: %w", err)
	}
	return proof, nil
}

// withoutIdentity returns the skipped proof of an archive that this operator cannot read: its Secret may lack the identity on purpose.
func (t *job) withoutIdentity(ctx context.Context, o jobSpec) (*v1beta2.ArchiveProof, error) {
	if !o.Prove || len(o.Encoder.Recipients) == 0 || o.Distrusted != nil {
		return nil, nil //nolint:nilnil // there is nothing to skip
	}
	secret, err := t.secret(ctx, o.Namespace, o.Target.Secret)
	if err != nil || len(connect.Identity(secret)) > 0 {
		return nil, err
	}
	return &v1beta2.ArchiveProof{
		Result: v1beta2.ProofSkipped, To: o.Newest.Path, Time: metav1.Time{Time: t.now()},
		Message: fmt.Sprintf("The archive is encrypted, and the Secret with the store's credentials has no key %s. Add it, and the operator proves the archive after each snapshot.", v1beta2.AgeIdentityKey),
	}, nil
}

// errStillFailed means that the earlier snapshot of a failed proof exists, and cannot be rolled forward to the newest one: after a gap or
// a restore there is no way. A proof from another snapshot would pass beside the damage.
var errStillFailed = errors.New("the snapshot of the failed proof does not lead to the newest one")

// earlier returns how the archive reaches a revision from an earlier snapshot. It takes that of a proof that has failed, as long as it
// exists.
func earlier(ctx context.Context, o jobSpec, store objstore.Store, revision int64) (choice archive.Choice, found bool, err error) {
	index, bases, err := basesOf(ctx, store, o, snapshot.Known{}, 0)
	if err != nil {
		return choice, false, err
	}
	still := false
	if o.Distrusted != nil {
		_, still = index.Find(strings.TrimPrefix(o.Distrusted.From, o.Target.Bucket+"/"))
	}
	var all, failed []archive.Base
	for _, b := range bases {
		if b.ClusterID != o.Newest.ClusterID || b.Point.Revision >= revision {
			continue
		}
		all = append(all, b)
		if o.Distrusted != nil && o.Distrusted.From == o.Target.Bucket+"/"+b.Key {
			failed = append(failed, b)
		}
	}
	for _, from := range [][]archive.Base{failed, all} {
		if still && len(failed) == 0 {
			return choice, false, errStillFailed
		}
		if len(from) == 0 {
			continue
		}
		choice, err = archive.Find(ctx, store, o.archiveRoot(), from, archive.Progress{}, archive.Target{Revision: revision})
		if !archive.IsRefusal(err) {
			return choice, err == nil, err
		}
		if still {
			return choice, false, errStillFailed
		}
	}
	return choice, false, nil
}

// rollForward replays the archive into a copy of the earlier snapshot, in a child process, and compares the hash of the result.
func (t *job) rollForward(ctx context.Context, o jobSpec, store objstore.Store, choice archive.Choice, want dbfile.KVHash, progress *jobProgress) error {
	secret, err := t.secret(ctx, o.Namespace, o.Target.Secret)
	if err != nil {
		return err
	}
	done, err := t.tests.enter(ctx, o.Namespace, progress)
	if err != nil {
		return err
	}
	defer done()
	m, err := snapshot.ManifestOf(ctx, store, choice.Base.Key, snapshot.Anyone)
	if err == nil && m == nil {
		err = fmt.Errorf("the manifest of snapshot %s was deleted", choice.Base.Key)
	}
	if err != nil {
		return err
	}
	changes := sizeOf(choice.Links)
	database := max(m.Size, m.PlainSize)
	stage := "rolling forward " + o.Target.Bucket + "/" + choice.Base.Key
	needed := func(database int64) int64 { return snapshot.RestoreTestSpace(database + 2*changes) }
	share, err := patientSpool{t.spool.Of(o.Namespace), progress, stage}.Reserve(ctx, needed(database))
	if err != nil {
		return err
	}
	defer share.Release()
	dir, err := os.MkdirTemp(t.spool.Dir(), archiveDirs)
	if err != nil {
		return fmt.Errorf("%w: %w", snapshot.ErrDisk, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	identities := connect.Identity(secret)
	base, err := snapshot.Fetch(ctx, store, choice.Base.Key, snapshot.Place{
		Dir: dir, Room: snapshot.RoomFunc(func(bytes, written int64) error { return share.Grow(needed(bytes), written) }),
	}, identities, snapshot.Anyone)
	if err != nil {
		return err
	}
	links, err := fetchLinks(ctx, store, choice.Links, dir, linksRoom(share, needed(database), changes))
	if err != nil {
		return err
	}
	order := replay.Order{
		Options: replay.Options{Path: base.Path, Revision: want.Revision, Chain: choice.Chain, Identities: identities, FallbackTTL: proofTTL},
		Store:   links, Root: o.archiveRoot(), Links: choice.Links, Progress: progress.passing(stage, changes),
	}
	grow := func(size int64) error { return share.Grow(snapshot.RestoreTestSpace(size), size) }
	if err := t.replayInTurn(ctx, o.Namespace, order, grow, progress); err != nil {
		return err
	}
	got, err := t.tests.trial(o.Namespace, progress)(ctx, dbfile.Trial{
		SnapshotPath: base.Path, DataDir: filepath.Join(dir, "data"), Revision: want.Revision, CompactRevision: want.CompactRevision, Proven: true,
	})
	if err == nil && got != want {
		err = fmt.Errorf("%w: at revision %d the hash is %d (compacted to %d), and that of the snapshot %s is %d (compacted to %d)",
			errDiverged, want.Revision, got.Hash, got.CompactRevision, o.Newest.Path, want.Hash, want.CompactRevision)
	}
	return err
}

// replayGrowing replays the archive, and ends when the database outgrows the spool. It needs its data directory beside it later.
func (t *job) replayGrowing(ctx context.Context, o replay.Order, grow func(size int64) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	report := o.Progress
	o.Progress = func(n int64) {
		if info, err := os.Stat(o.Options.Path); err == nil {
			if err := grow(info.Size()); err != nil {
				end(err)
			}
		}
		report(n)
	}
	_, err := t.replay(ctx, o)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// errDiverged means that the archive does not lead from one snapshot to the other.
var errDiverged = errors.New("the earlier snapshot, rolled forward with the archive, differs from the newest one")

// refutes returns whether an error is a fault of the archive or of the earlier snapshot.
func refutes(err error) bool {
	for _, kind := range []error{errDiverged, archive.ErrCorrupt, replay.ErrRefused, dbfile.ErrCorrupt, dbfile.ErrNoTrailer, dbfile.ErrRefused} {
		if errors.Is(err, kind) && !errors.Is(err, snapshot.ErrDisk) && !errors.Is(err, dbfile.ErrDisk) {
			return true
		}
	}
	return false
}

// disproven says what a failed proof means, and what to do.
func disproven(p v1beta2.ArchiveProof) string {
	from := p.From
	if from == "" {
		from = "its snapshots"
	}
	return fmt.Sprintf("The continuous archive failed its proof from %s up to revision %d: %s. Points after that snapshot may not be recoverable. "+
		"The operator deletes nothing until a proof passes. Check the store. If the damage is final, delete the object that is named, and that snapshot with its manifest.",
		from, p.Revision, strings.TrimSuffix(p.Message, "."))
}

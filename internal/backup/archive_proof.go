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
	"github.com/etcd-suite/etcd-operator/internal/codec"
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
	what, found, err := o.choose(ctx, store, want.Revision)
	if err == nil && found && what.to.Path != o.Newest.Path { // an earlier part comes first
		want, err = t.hashOfEarlier(ctx, o, store, what.to, progress)
		proof.To, proof.Revision = what.to.Path, want.Revision
	}
	if err == nil && found {
		proof.From, proof.Segments = o.Target.Bucket+"/"+what.choice.Base.Key, int32(len(what.choice.Links)) // limited by the store
		proof.Message = fmt.Sprintf("All keys and values at revision %d are those of the snapshot.", want.Revision)
		err = t.rollForward(ctx, o, store, what, want, progress)
	}
	if err == nil && !found {
		proof.Result, proof.Message = v1beta2.ProofSkipped, "There was nothing to prove. Each part of the archive that leads to this snapshot is proven, or it begins at no earlier snapshot with another revision."
	}
	proof.Time = metav1.Time{Time: t.now()}
	switch {
	case errors.Is(err, errEarlierFailed):
		proof.Result, proof.To, proof.Message = v1beta2.ProofSkipped, o.Newest.Path, clip(err.Error())
		return proof, nil
	case errors.Is(err, errStillFailed):
		return o.stillFailed(ctx, store, what.proofs, proof.Time)
	case refutes(err):
		proof.Result, proof.Message = v1beta2.ProofFailed, clip(err.Error())
		proof.To = o.Newest.Path // it is repeated after the next snapshot
		return proof, o.recordProof(ctx, store, *proof, what)
	}
	if errors.Is(err, codec.ErrIdentity) {
		return nil, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf("The operator cannot decrypt the continuous archive to prove it: %v. "+
			"Put the identity into the key %s of the Secret with the store's credentials.", err, v1beta2.AgeIdentityKey))
	}
	if err != nil {
		return nil, fmt.Errorf("prove the continuous archive: %w", err)
	}
	return proof, o.recordProof(ctx, store, *proof, what)
}

// hashOfEarlier returns the hash of a snapshot before the newest one, by a restore test of it.
func (t *job) hashOfEarlier(ctx context.Context, o jobSpec, store objstore.Store, s v1beta2.Snapshot, progress *jobProgress) (dbfile.KVHash, error) {
	drill, hash, err := t.prove(ctx, o, store, s, progress)
	if err == nil && drill.Result == v1beta2.DrillFailed {
		err = fmt.Errorf("%w: %s: %s", errEarlierFailed, s.Path, drill.Message)
	}
	return hash, err
}

// errEarlierFailed means that there is nothing to compare a part of the archive with.
var errEarlierFailed = errors.New("the archive was not proven up to a snapshot that failed its restore test")

// stillFailed reports the failed proof again, for the newest snapshot.
func (o jobSpec) stillFailed(ctx context.Context, store objstore.Store, proofs []archive.ProofName, now metav1.Time) (*v1beta2.ArchiveProof, error) {
	failed := v1beta2.ArchiveProof{}
	stored, err := standing(ctx, store, o.archiveRoot(), proofs)
	switch {
	case err != nil:
		return nil, err
	case stored != nil:
		failed = *o.tellProof(stored)
	case o.Distrusted != nil:
		failed = *o.Distrusted
	}
	failed.Result, failed.To, failed.Time = v1beta2.ProofFailed, o.Newest.Path, now
	return &failed, nil
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

// rollForward replays the archive into a copy of the earlier snapshot, in a child process, and compares the hash of the result.
func (t *job) rollForward(ctx context.Context, o jobSpec, store objstore.Store, what interval, want dbfile.KVHash, progress *jobProgress) error {
	choice := what.choice
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
		Namespace: o.Namespace, Dir: dir, Room: snapshot.RoomFunc(func(bytes, written int64) error { return share.Grow(needed(bytes), written) }),
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
			errDiverged, want.Revision, got.Hash, got.CompactRevision, what.to.Path, want.Hash, want.CompactRevision)
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
var errDiverged = errors.New("the earlier snapshot, rolled forward with the archive, differs from a later one")

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

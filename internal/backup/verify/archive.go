package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// proveArchive rolls an earlier snapshot forward to the newest one with the archive, and compares the hash of all keys and values with
// what the restore test of the newest one has found. An error means that the proof could not be carried out.
func (t *Tester) proveArchive(ctx context.Context, o state.JobSpec, store objstore.Store, want dbfile.KVHash, progress *queue.Progress) (*v1beta2.ArchiveProof, error) {
	proof := &v1beta2.ArchiveProof{Result: v1beta2.ProofPassed, To: o.Newest.Path, Revision: want.Revision}
	var err error
	if o.Keep.Signers, err = t.SignersOf(ctx, o, o.Newest); err != nil {
		return nil, err
	}
	what, found, err := chooseInterval(ctx, o, store, want.Revision)
	if err == nil && found && what.to.Path != o.Newest.Path { // an earlier part comes first
		want, err = t.hashOfEarlier(ctx, o, store, what.to, progress)
		proof.To, proof.Revision = what.to.Path, want.Revision
	}
	if err == nil && found {
		proof.From, proof.Segments = o.Target.Bucket+"/"+what.choice.Base.Key, int32(len(what.choice.Links)) // limited by the store
		proof.Message = what.holds(want.Revision)
		err = t.rollForward(ctx, o, store, what, want, progress)
	}
	if err == nil && !found {
		if stored := provenBefore(ctx, o, store, what.proofs, want.Revision); stored != nil {
			return stored, nil
		}
		proof.Result, proof.Message = v1beta2.ProofSkipped, "There was nothing to prove. Each part of the archive that leads to this snapshot is proven, or it begins at no earlier snapshot with another revision."
	}
	proof.Time = metav1.Time{Time: t.Now()}
	switch {
	case errors.Is(err, errStillFailed), errors.Is(err, errEarlierFailed) && what.repeated:
		return stillFailed(ctx, o, store, what.proofs, proof.Time)
	case errors.Is(err, errEarlierFailed):
		proof.Result, proof.To, proof.Message = v1beta2.ProofSkipped, o.Newest.Path, state.Clip(err.Error())
		return proof, nil
	case refutes(err):
		proof.Result, proof.Message = v1beta2.ProofFailed, state.Clip(err.Error())
		if key := what.choice.Base.Key; key != "" {
			proof.From, proof.Revision = o.Target.Bucket+"/"+key, what.to.Revision
		}
		proof.To = o.Newest.Path // it is repeated after the next snapshot
		return proof, recordProof(ctx, o, store, *proof, what)
	}
	if errors.Is(err, codec.ErrIdentity) {
		return nil, failure.New(v1beta2.ReasonSecretMissing, fmt.Sprintf("The operator cannot decrypt the continuous archive to prove it: %v. "+
			"Put the identity into the key %s of the Secret with the store's credentials.", err, v1beta2.AgeIdentityKey))
	}
	if err != nil {
		return nil, fmt.Errorf("prove the continuous archive: %w", err)
	}
	return proof, recordProof(ctx, o, store, *proof, what)
}

// provenBefore returns the proof up to the newest snapshot that an earlier attempt has stored, and nil if there is none. The operator may have been killed
// before it wrote the result into the status.
func provenBefore(ctx context.Context, o state.JobSpec, store objstore.Store, allProofs []archive.ProofName, revision int64) *v1beta2.ArchiveProof {
	newest, found := proofs.NewestPassed(allProofs)
	if !found || newest.To != revision {
		return nil
	}
	p, err := proofs.Read(ctx, store, o.ArchiveRoot(), newest)
	if shown := shownProof(o, &p); err == nil && shown.To == o.Newest.Path {
		return shown
	}
	return nil
}

// holds says what a passed proof shows, and which segment keeps an earlier part from being proven. That part cannot be restored, either.
func (what interval) holds(revision int64) string {
	message := fmt.Sprintf("All keys and values at revision %d are those of the snapshot.", revision)
	if what.unread != nil {
		message += planning.Sentence(" But an earlier part of the archive was not proven, and cannot be restored: ", what.unread.Error())
	}
	return state.Clip(message)
}

// hashOfEarlier returns the hash of a snapshot before the newest one, by a restore test of it.
func (t *Tester) hashOfEarlier(ctx context.Context, o state.JobSpec, store objstore.Store, s v1beta2.Snapshot, progress *queue.Progress) (dbfile.KVHash, error) {
	drill, hash, err := t.prove(ctx, o, store, s, progress)
	if err == nil && drill.Result == v1beta2.DrillFailed {
		err = fmt.Errorf("%w: %s: %s", errEarlierFailed, s.Path, drill.Message)
	}
	return hash, err
}

// errEarlierFailed means that there is nothing to compare a part of the archive with.
var errEarlierFailed = errors.New("the archive was not proven up to a snapshot that failed its restore test")

// stillFailed reports the failed proof again, for the newest snapshot.
func stillFailed(ctx context.Context, o state.JobSpec, store objstore.Store, proofs []archive.ProofName, now metav1.Time) (*v1beta2.ArchiveProof, error) {
	failed := v1beta2.ArchiveProof{}
	stored, err := standing(ctx, store, o.ArchiveRoot(), proofs)
	switch {
	case err != nil:
		return nil, err
	case stored != nil:
		failed = *shownProof(o, stored)
	case o.Distrusted != nil:
		failed = *o.Distrusted
	}
	failed.Result, failed.To, failed.Time = v1beta2.ProofFailed, o.Newest.Path, now
	return &failed, nil
}

// withoutIdentity returns the skipped proof of an archive that this operator cannot read: its Secret may lack the identity on purpose.
func (t *Tester) withoutIdentity(ctx context.Context, o state.JobSpec) (*v1beta2.ArchiveProof, error) {
	if !o.Prove || len(o.Encoder.Recipients) == 0 || o.Distrusted != nil {
		return nil, nil //nolint:nilnil // there is nothing to skip
	}
	secret, err := t.Secret(ctx, o.Namespace, o.Target.Secret, v1beta2.AgeIdentityKey)
	if err != nil || len(connect.Identity(secret)) > 0 {
		return nil, err
	}
	return &v1beta2.ArchiveProof{
		Result: v1beta2.ProofSkipped, To: o.Newest.Path, Time: metav1.Time{Time: t.Now()},
		Message: fmt.Sprintf("The archive is encrypted, and the Secret with the store's credentials has no key %s. Add it, and the operator proves the archive after each snapshot.", v1beta2.AgeIdentityKey),
	}, nil
}

// recordProof writes a result beside the archive. It does nothing if nothing was proven.
func recordProof(ctx context.Context, o state.JobSpec, store objstore.Store, p v1beta2.ArchiveProof, what interval) error {
	if p.Result == v1beta2.ProofSkipped || what.timeline == 0 || what.choice.Base.Key == "" { // a record without its snapshot holds deletions until a user deletes it
		return nil
	}
	key := func(path string) string { return strings.TrimPrefix(path, o.Target.Bucket+"/") }
	return proofs.Write(ctx, store, o.ArchiveRoot(), archive.Proof{
		Unreturned: proofs.StillUnread(ctx, store, o.ArchiveRoot(), what.proofs, archive.SegmentOf(what.unread)),
		ProofName:  archive.ProofName{Timeline: what.timeline, From: what.choice.Base.Point.Revision, To: what.to.Revision, Failed: p.Result == v1beta2.ProofFailed},
		FromKey:    what.choice.Base.Key, ToKey: key(what.to.Path), Time: p.Time.UTC(), Segments: len(what.choice.Links), Backup: o.Name, Tool: clients.Tool(), Message: bounded.Message(p.Message),
	}, what.proofs)
}

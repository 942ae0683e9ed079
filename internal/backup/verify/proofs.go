package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// standing returns a proof that has failed and whose earlier snapshot still exists, and nil if there is none. The store decides, and not the
// status: an EtcdBackup may be recreated, and continuous may be switched off for a time. A record that the store does not return counts, but it does
// not name its snapshot.
func standing(ctx context.Context, store objstore.Store, root string, allProofs []archive.ProofName) (*archive.Proof, error) {
	var unread *archive.Proof
	for _, n := range allProofs {
		if !n.Failed {
			continue
		}
		p, err := proofs.Read(ctx, store, root, n)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, objstore.ErrNoBucket):
			continue // it was just deleted
		case errors.Is(err, archive.ErrCorrupt):
			return &archive.Proof{ProofName: n, Message: bounded.Message("the object " + n.Key(root) + " that records the failure cannot be decoded")}, nil
		case objstore.Unread(ctx, err) && unread == nil: // another one may name a snapshot
			unread = &archive.Proof{ProofName: n, Message: bounded.Message(fmt.Sprintf("the store does not return the object %s that records the failure: %v", n.Key(root), err))}
			continue
		case objstore.Unread(ctx, err):
			continue
		case err != nil:
			return nil, fmt.Errorf("read a failed proof of the archive: %w", err)
		}
		gone, err := objstore.Gone(ctx, store, p.FromKey)
		if err != nil && !objstore.Unread(ctx, err) {
			return nil, fmt.Errorf("look whether the snapshot of a failed proof exists: %w", err)
		}
		if !gone {
			return &p, nil
		}
	}
	return unread, nil
}

// LastProof returns what the store knows about the proofs of the archive: one that has failed, or else the newest one.
func LastProof(ctx context.Context, store objstore.Store, o state.JobSpec, allProofs []archive.ProofName) (*v1beta2.ArchiveProof, error) {
	failed, err := standing(ctx, store, o.ArchiveRoot(), allProofs)
	if failed != nil || err != nil {
		return shownProof(o, failed), err
	}
	newest, found := proofs.NewestPassed(allProofs)
	if !found {
		return nil, nil //nolint:nilnil // nothing was proven yet
	}
	p, err := proofs.Read(ctx, store, o.ArchiveRoot(), newest)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // what has passed is proven again
	}
	return shownProof(o, &p), nil
}

// shownProof returns a proof as the status shows it.
func shownProof(o state.JobSpec, p *archive.Proof) *v1beta2.ArchiveProof {
	if p == nil {
		return nil
	}
	told := &v1beta2.ArchiveProof{
		Result: v1beta2.ProofPassed, From: o.Target.Bucket + "/" + p.FromKey, To: o.Target.Bucket + "/" + p.ToKey, Revision: p.To,
		Segments: int32(min(p.Segments, archive.MaxLinks)), Message: state.Clip(string(p.Message)), Time: metav1.Time{Time: p.Time},
	}
	if p.Failed {
		told.Result = v1beta2.ProofFailed
	}
	return told
}

// ArchiveHolds returns why nothing may be deleted: a proof of the archive has failed. It is empty if none has. A second location has no archive.
func ArchiveHolds(ctx context.Context, o state.JobSpec, store objstore.Store) (string, error) {
	const holds = "The last proof of the continuous archive has failed, so the operator deletes no snapshot and no part of the archive."
	if o.Distrusted != nil {
		return holds, nil
	}
	if !o.Archived {
		return "", nil
	}
	proofs, err := proofs.List(ctx, store, o.ArchiveRoot())
	if err != nil {
		return "", err
	}
	failed, err := standing(ctx, store, o.ArchiveRoot(), proofs)
	if failed == nil || err != nil {
		return "", err
	}
	if failed.FromKey == "" {
		return fmt.Sprintf("%s The object %s records it, and cannot be read. Move it back to a class that can be read, or delete it if the damage is final.",
			holds, failed.Key(o.ArchiveRoot())), nil
	}
	return fmt.Sprintf("%s The object %s records it. If the damage is final, delete the snapshot %s with its manifest, or this object.",
		holds, failed.Key(o.ArchiveRoot()), failed.FromKey), nil
}

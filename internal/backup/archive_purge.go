package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// purgers is how many objects of an archive are deleted at the same time.
const purgers = 16

// purgeArchive deletes the timelines that this EtcdBackup has begun. The start of a timeline is the last object of it, so
// that a repeated attempt still knows whose it is. It deletes nothing if another EtcdBackup continues the archive, because the status of
// that one promises to restore it.
func (t *job) purgeArchive(ctx context.Context, o jobSpec, store objstore.Store, removed *Result) error {
	root := o.archiveRoot()
	other, err := t.archivedBy(ctx, o)
	if err != nil {
		return err
	}
	if other != "" {
		removed.blame(o, fail(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("EtcdBackup %s continues the continuous archive %s/%s, so the operator keeps it.", other, o.Target.Bucket, root)))
		return nil
	}
	all, release, err := archive.List(ctx, store, root)
	if err != nil {
		return err
	}
	defer release()
	slices.Reverse(all)
	proofs, err := archive.Proofs(ctx, store, root)
	if err != nil {
		return err
	}
	return objstore.Each(ctx, all, func(names archive.Names) error { return purgeTimeline(ctx, o, store, names, proofs) }).Err()
}

// purgeTimeline deletes a timeline that this EtcdBackup has begun.
func purgeTimeline(ctx context.Context, o jobSpec, store objstore.Store, names archive.Names, proofs []archive.ProofName) error {
	if !names.Started {
		return nil // its owner is unknown
	}
	start, err := archive.ReadStart(ctx, store, o.archiveRoot(), names.Timeline)
	if err != nil || start.Writer != o.mark() {
		return err
	}
	remove := func(key string) error {
		if err := store.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete the continuous archive: %w", err)
		}
		return nil
	}
	removeName := func(n archive.Name) error { return remove(n.Key(o.archiveRoot())) }
	removeProof := func(n archive.ProofName) error { return remove(n.Key(o.archiveRoot())) }
	own := slices.DeleteFunc(slices.Clone(proofs), func(n archive.ProofName) bool { return n.Timeline != names.Timeline })
	links, of := objstore.EachOf(ctx, purgers, names.Links, removeName), objstore.EachOf(ctx, purgers, own, removeProof)
	if err := errors.Join(links.Err(), of.Err(), archive.DropFailed(ctx, store, o.archiveRoot(), names.Timeline)); err != nil {
		return err
	}
	return remove(archive.StartKey(o.archiveRoot(), names.Timeline))
}

// archivedBy returns the name of another EtcdBackup that archives the same cluster into the same folder; empty if there is none.
func (t *job) archivedBy(ctx context.Context, o jobSpec) (string, error) {
	var all v1beta2.EtcdBackupList
	if err := t.secrets.List(ctx, &all, client.InNamespace(o.Namespace)); err != nil {
		return "", fail(v1beta2.ReasonRetrying, fmt.Sprintf("The operator cannot list the EtcdBackups in namespace %s: %v.", o.Namespace, err))
	}
	for i := range all.Items {
		b := &all.Items[i]
		if b.UID == o.UID || !b.DeletionTimestamp.IsZero() || b.Spec.Continuous == nil {
			continue
		}
		location, problem := target(b.Namespace, b.Name, b.Spec)
		same := jobSpec{Namespace: b.Namespace, Cluster: sourceName(b.Name, b.Spec), Target: location}
		if problem == nil && location.Bucket == o.Target.Bucket && same.archiveRoot() == o.archiveRoot() {
			return b.Name, nil
		}
	}
	return "", nil
}

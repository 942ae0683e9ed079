package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// purger deletes what an EtcdBackup has written.
type purger struct{ *verify.Tester }

// purgers is how many objects of an archive are deleted at the same time.
const purgers = 16

// archiveNeeded says which waiting EtcdRestore may need the archive. It is empty if none does.
func (p purger) archiveNeeded(ctx context.Context, o state.JobSpec) (string, error) {
	selections, err := p.Selections(ctx, o)
	if err != nil {
		return "", failure.New(v1beta2.ReasonRetrying, fmt.Sprintf("The operator cannot read which points of the continuous archive may be restored: %v.", err))
	}
	for _, s := range selections {
		if s.Point {
			return fmt.Sprintf("The continuous archive is kept, because EtcdRestore %s may choose a point of it.", s.Restore), nil
		}
	}
	return "", nil
}

// archive deletes the timelines that this EtcdBackup has begun. The start of a timeline is the last object of it, so
// that a repeated attempt still knows whose it is. It deletes nothing if another EtcdBackup continues the archive, because the status of
// that one promises to restore it.
func (p purger) archive(ctx context.Context, o state.JobSpec, store objstore.Store, removed *state.Result) error {
	root := o.ArchiveRoot()
	other, err := p.archivedBy(ctx, o)
	if err != nil {
		return err
	}
	if other != "" {
		blame(removed, o, failure.New(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("EtcdBackup %s continues the continuous archive %s/%s, so the operator keeps it.", other, o.Target.Bucket, root)))
		return nil
	}
	all, release, err := archive.ListSome(ctx, store, root)
	if err != nil {
		return err
	}
	defer release()
	slices.Reverse(all)
	proofs, err := proofs.List(ctx, store, root)
	if err != nil {
		return err
	}
	if err := objstore.Each(ctx, all, func(names archive.Names) error { return purgeTimeline(ctx, o, store, names, proofs) }).Err(); err != nil {
		return err
	}
	return switchover.Purge(ctx, store, root, string(o.UID), p.Now().UTC())
}

// purgeTimeline deletes a timeline that this EtcdBackup has begun. A listing may omit the start, so the store is asked for it.
func purgeTimeline(ctx context.Context, o state.JobSpec, store objstore.Store, names archive.Names, allProofs []archive.ProofName) error {
	start, err := archive.ReadStart(ctx, store, o.ArchiveRoot(), names.Timeline)
	if missing := errors.Is(err, fs.ErrNotExist) && !errors.Is(err, objstore.ErrNoBucket) && !objstore.Refused(err); missing && !names.Started {
		return nil // its owner is unknown
	}
	if err != nil || start.Writer != o.AttemptPrefix() {
		return err
	}
	remove := func(key string) error {
		if err := store.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete the continuous archive: %w", err)
		}
		return nil
	}
	removeName := func(n archive.Name) error { return remove(n.Key(o.ArchiveRoot())) }
	removeProof := func(n archive.ProofName) error { return remove(n.Key(o.ArchiveRoot())) }
	own := slices.DeleteFunc(slices.Clone(allProofs), func(n archive.ProofName) bool { return n.Timeline != names.Timeline })
	of := objstore.EachOf(ctx, purgers, own, removeProof)
	if err := errors.Join(purgeLinks(ctx, o, store, names, removeName), of.Err(), proofs.DropFailed(ctx, store, o.ArchiveRoot(), names.Timeline)); err != nil {
		return err
	}
	return remove(archive.StartKey(o.ArchiveRoot(), names.Timeline))
}

// purgeLinks deletes all links of a timeline. It lists those that were not held after it has deleted the others.
func purgeLinks(ctx context.Context, o state.JobSpec, store objstore.Store, names archive.Names, remove func(archive.Name) error) error {
	links, more := names.Links, names.Omitted > 0
	for {
		of := objstore.EachOf(ctx, purgers, links, remove)
		if err := of.Err(); err != nil || !more {
			return err
		}
		before := links
		var err error
		if links, more, err = archive.Oldest(ctx, store, o.ArchiveRoot(), names.Timeline, purgedLinks, func(archive.Name) bool { return true }); err != nil {
			return err
		}
		if len(links) > 0 && len(before) > 0 && links[0] == before[0] {
			return fmt.Errorf("the store lists %s after its deletion", links[0].Key(o.ArchiveRoot()))
		}
	}
}

// purgedLinks is how many links of a large timeline are held.
const purgedLinks = 100_000

// archivedBy returns the name of another EtcdBackup that archives the same cluster into the same folder; empty if there is none.
func (p purger) archivedBy(ctx context.Context, o state.JobSpec) (string, error) {
	var all v1beta2.EtcdBackupList
	if err := p.Secrets.List(ctx, &all, client.InNamespace(o.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", failure.New(v1beta2.ReasonRetrying, fmt.Sprintf("The operator cannot list the EtcdBackups in namespace %s: %v.", o.Namespace, err))
	}
	for i := range all.Items {
		b := &all.Items[i]
		if b.UID == o.UID || !b.DeletionTimestamp.IsZero() || b.Spec.Continuous == nil {
			continue
		}
		if archivesInto(b, o) {
			return b.Name, nil
		}
	}
	return "", nil
}

// archivesInto reports whether an EtcdBackup has its archive, or the copy of it, in the folder of another one.
func archivesInto(b *v1beta2.EtcdBackup, o state.JobSpec) bool {
	first, problem := state.TargetOf(b.Namespace, b.Name, b.Spec)
	if problem != nil {
		return false
	}
	at := func(l storage.Location) bool {
		own := state.JobSpec{Namespace: b.Namespace, Cluster: state.SourceName(b.Name, b.Spec), Target: l}
		return l.Bucket == o.Target.Bucket && own.ArchiveRoot() == o.ArchiveRoot()
	}
	if at(first) {
		return true
	}
	second, problem := state.CopyTargetOf(b.Namespace, b.Name, b.Spec, first)
	return problem == nil && b.Spec.CopyTo != nil && at(second)
}

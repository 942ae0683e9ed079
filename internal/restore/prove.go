package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/bounded"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// InSpool returns a Prove that stores each snapshot as a file in a directory below dir, without a budget. See OpenSpool.
func InSpool(dir string) (Prove, error) {
	s, err := OpenSpool(dir, spool.Options{})
	return s.Prove, err
}

// Prove finds a source, and reads it once and completely into a file, which it deletes. It ends if that takes too long.
func (s Spool) Prove(ctx context.Context, asked Asked) (Found, error) {
	ctx, limit := limitReading(ctx, func() bool { return s.Of(asked.Namespace).Crowds() || s.replays.slot.Crowds(asked.Namespace) })
	defer limit.stop()
	asked.Wait = limit.pausing(asked.Wait)
	asked.end = limit.end
	ctx, held := objstore.Hold(ctx, asked.Namespace) // the segments of a point are held until they are replayed
	defer held.Release()
	prove := s.prove
	switch {
	case asked.Choice.Point():
		prove = s.provePoint
	case asked.Choice.Follow:
		prove = s.proveBase
	}
	found, err := prove(ctx, asked, limit)
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errTooSlow) || errors.Is(cause, pace.ErrTooSlow) || errors.Is(cause, turns.ErrOthersWaited)) {
		err = fmt.Errorf("%w%s: %w", cause, limit.waits(), err)
	}
	return found, err
}

// maxChoices is how many snapshots are chosen one after the other, if retention deletes each of them before it is read.
const maxChoices = 3

// prove chooses a snapshot and reads it. If the snapshot was deleted in between, it chooses again.
func (s Spool) prove(ctx context.Context, asked Asked, limit *readLimit) (Found, error) {
	var before v1beta2.RestoreSource
	for choices := 1; ; choices++ {
		exact, why, err := find(ctx, asked)
		if err != nil {
			return Found{}, err
		}
		found, err := s.readWhole(ctx, asked, exact, why, limit)
		if !source.Missing(err) || exact == before || choices == maxChoices {
			return found, err
		}
		before = exact
	}
}

// find chooses a snapshot. After that, no name of another one is held.
func find(ctx context.Context, asked Asked) (exact v1beta2.RestoreSource, why string, err error) {
	ctx, held := objstore.Hold(ctx, asked.Namespace)
	defer held.Release()
	return source.Find(ctx, asked.Source, asked.By, asked.Choice)
}

// readWhole reads a snapshot once and completely into a file, which it deletes.
func (s Spool) readWhole(ctx context.Context, asked Asked, exact v1beta2.RestoreSource, why string, limit *readLimit) (Found, error) {
	size, err := source.SizeOf(ctx, exact, asked.By)
	if err != nil {
		return Found{}, err
	}
	share, err := s.reserve(ctx, asked, asked.needs(size))
	if err != nil {
		return Found{}, err
	}
	defer share.Release()
	limit.begin(size)
	room := proof.RoomFunc(func(size, written int64) error { return share.Grow(asked.needs(size), written) })
	proven, err := source.Read(ctx, exact, asked.By, s.place(asked.Namespace, room), asked.Progress)
	if err != nil {
		return Found{}, err
	}
	found := Found{Source: exact, ChosenBecause: why, Proven: proven}
	if stay := asked.stay; stay == nil {
		asked.stay = share.Keep
	} else {
		asked.stay = func() bool { return share.Keep() && stay() }
	}
	asked.extracted = func(bytes int64) error {
		if err := removeSpooled(proven); err != nil {
			return err
		}
		return share.Resize(bytes, bytes)
	}
	found.Keys, err = s.keys(ctx, asked, proven)
	if removed := removeSpooled(proven); err == nil {
		err = removed
	}
	return found, err
}

// removeSpooled deletes the file of a snapshot, unless that was done before.
func removeSpooled(read source.Proven) error {
	if err := os.Remove(read.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the spooled snapshot: %w: %w", source.ErrDisk, err)
	}
	return nil
}

// maxBases is how many snapshots are read one after the other until one is a base for a standby.
const maxBases = 3

// proveBase reads the newest snapshot with which a standby can begin. If that is damaged or was deleted, an earlier one may do, too.
func (s Spool) proveBase(ctx context.Context, asked Asked, limit *readLimit) (Found, error) {
	var unusable error
	var without []string
	for range maxBases {
		point, err := findBase(ctx, asked, without)
		if err != nil {
			return Found{}, cmp.Or(unusable, err)
		}
		found, err := s.readWhole(ctx, asked, point.Base, "it is the newest snapshot with which a standby can begin to follow the continuous archive", limit)
		if err == nil {
			found.Follow = followOf(asked, point)
			return found, nil
		}
		if !replaceable(err) {
			return Found{}, err
		}
		unusable, without = cmp.Or(unusable, err), append(without, point.Base.Key)
	}
	return Found{}, unusable
}

// findBase finds a snapshot. After that, no name and no header of another one is held: the store decides how long it is read.
func findBase(ctx context.Context, asked Asked, without []string) (source.Point, error) {
	ctx, held := objstore.Hold(ctx, asked.Namespace)
	defer held.Release()
	return source.FindNewest(ctx, asked.Source, asked.By, asked.Choice, without...)
}

// followOf returns which archive the standby follows. It names the cluster by what the snapshot says, and not by the spec, which may name several.
func followOf(asked Asked, point source.Point) *v1beta2.RestoreFollowStatus {
	from := point.Base
	from.Key = point.Series.Lives()
	return &v1beta2.RestoreFollowStatus{
		Source: from, Cluster: point.Series.Namespace + "/" + point.Series.Cluster,
		ClusterUID: bounded.Word(point.Manifest.Cluster.UID), ClusterID: bounded.Word(point.Manifest.Cluster.ID), OnlyClusterID: asked.Choice.ClusterID,
	}
}

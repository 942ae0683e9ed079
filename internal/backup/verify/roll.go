package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// proofTTL in seconds is that of leases without a known TTL. Leases are not compared.
const proofTTL = 3600

// replayInTurn replays an archive when it is the turn of its namespace, because each replay may use the memory of a restore test. It ends if it
// takes too long while others wait.
func (t *Tester) replayInTurn(ctx context.Context, namespace string, order replay.Order, grow func(int64) error, progress *queue.Progress) error {
	done, err := t.Tests.Process(ctx, namespace, progress)
	if err != nil {
		return err
	}
	defer done()
	return t.Tests.Processes.Limited(ctx, namespace, replay.SizeOf(order), func(ctx context.Context, a *turns.Allowance) error {
		return t.replayGrowing(ctx, replay.Measured(order, a), grow)
	})
}

// rollForward replays the archive into a copy of the earlier snapshot, in a child process, and compares the hash of the result.
func (t *Tester) rollForward(ctx context.Context, o state.JobSpec, store objstore.Store, what interval, want dbfile.KVHash, progress *queue.Progress) error {
	choice := what.choice
	secret, err := t.Secret(ctx, o.Namespace, o.Target.Secret, v1beta2.AgeIdentityKey)
	if err != nil {
		return err
	}
	done, err := t.Tests.Enter(ctx, o.Namespace, progress)
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
	needed := func(database int64) int64 { return proof.RestoreTestSpace(database + 2*changes) }
	share, err := queue.PatientSpool{Namespace: t.Spool.Of(o.Namespace), Progress: progress, Then: stage}.Reserve(ctx, needed(database))
	if err != nil {
		return err
	}
	defer share.Release()
	dir, err := os.MkdirTemp(t.Spool.Dir(), queue.ArchiveDirs)
	if err != nil {
		return fmt.Errorf("%w: %w", snapshot.ErrDisk, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	identities := connect.Identity(secret)
	base, err := proof.Fetch(ctx, store, choice.Base.Key, proof.Place{
		Namespace: o.Namespace, Dir: dir, Room: proof.RoomFunc(func(bytes, written int64) error { return share.Grow(needed(bytes), written) }),
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
		Store:   links, Root: o.ArchiveRoot(), Links: choice.Links, Progress: progress.Passing(stage, changes),
	}
	grow := func(size int64) error { return share.Grow(proof.RestoreTestSpace(size), size) }
	if err := t.replayInTurn(ctx, o.Namespace, order, grow, progress); err != nil {
		return err
	}
	got, err := t.Tests.Trial(o.Namespace, progress)(ctx, dbfile.Trial{
		SnapshotPath: base.Path, DataDir: filepath.Join(dir, "data"), Revision: want.Revision, CompactRevision: want.CompactRevision, Proven: true,
	})
	if err == nil && got != want {
		err = fmt.Errorf("%w: at revision %d the hash is %d (compacted to %d), and that of the snapshot %s is %d (compacted to %d)",
			errDiverged, want.Revision, got.Hash, got.CompactRevision, what.to.Path, want.Hash, want.CompactRevision)
	}
	return err
}

// replayGrowing replays the archive, and ends when the database outgrows the spool. It needs its data directory beside it later.
func (t *Tester) replayGrowing(ctx context.Context, o replay.Order, grow func(size int64) error) error {
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
	_, err := t.Replay(ctx, o)
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

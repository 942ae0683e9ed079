package replay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// sector divides the size of every database, so that a trailer can be recognised.
const sector = 512

// database is the database of a snapshot, open with etcd's storage code.
type database struct {
	backend backend.Backend
	store   mvcc.KV
	auth    auth.State
}

// openDatabase removes the trailer of a snapshot and opens it. The whole index of its keys is in memory, as in a member.
func openDatabase(path string) (*database, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the base snapshot: %w", err)
	}
	if info.Size()%sector == sha256.Size {
		if err := os.Truncate(path, info.Size()-sha256.Size); err != nil {
			return nil, fmt.Errorf("open the base snapshot: %w", err)
		}
	}
	logger := dbfile.PanickingLogger()
	config := backend.DefaultBackendConfig(logger)
	config.Path, config.UnsafeNoFsync = path, true // close syncs the file once
	b := backend.New(config)
	store := mvcc.NewStore(logger, b, &lease.FakeLessor{}, mvcc.StoreConfig{
		CompactionBatchLimit: 10_000, CompactionSleepInterval: time.Nanosecond, // no other request needs a pause
	})
	return &database{backend: b, store: store, auth: authState(b)}, nil
}

// authState returns revision 0 for a database in which authentication was never used.
func authState(b backend.Backend) auth.State {
	tx := b.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	tx.UnsafeCreateBucket(schema.Auth) // as every start of a member does
	users := schema.NewAuthBackend(zap.NewNop(), b).BatchTx()
	return auth.State{Revision: users.UnsafeReadAuthRevision(), Enabled: auth.SwitchOf(users.UnsafeReadAuthEnabled())}
}

func (d *database) revision() int64 { return d.store.Rev() }

// close commits everything and syncs the file.
func (d *database) close() error {
	d.backend.ForceCommit()
	return errors.Join(d.store.Close(), d.backend.Close())
}

// compact deletes revisions that are not needed for the newest one, so that their space is used again.
func (d *database) compact(ctx context.Context) error {
	done, err := d.store.Compact(traceutil.TODO(), d.revision())
	if err != nil {
		return fmt.Errorf("compact the restored database to revision %d: %w", d.revision(), err)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// transaction is one revision.
type transaction struct {
	mvcc.TxnWrite
	revision int64
	applied  int
}

func (d *database) begin(revision int64) *transaction {
	return &transaction{TxnWrite: d.store.Write(traceutil.TODO()), revision: revision}
}

// end commits the transaction. It returns nil, which means that none is open.
func (t *transaction) end() *transaction {
	if t != nil {
		t.End()
	}
	return nil
}

// abandon unlocks the store after an error, so that the database can be closed.
func (t *transaction) abandon() *transaction { return t.end() }

// apply writes one event and compares what etcd's code made of it with what etcd sent.
func (t *transaction) apply(event *mvccpb.Event) error {
	want := event.Kv
	wrong := func(format string, args ...any) error {
		return &archive.RevisionError{Revision: t.revision, Err: fmt.Errorf("%w: key %q: %w", archive.ErrCorrupt, dbfile.Short(want.Key), fmt.Errorf(format, args...))}
	}
	if event.Type == mvccpb.Event_DELETE {
		if n, _ := t.DeleteRange(want.Key, nil); n != 1 {
			return wrong("it is deleted, but did not exist: an event before this one is missing, or this one is there twice")
		}
		t.applied++
		return nil
	}
	t.Put(want.Key, want.Value, lease.LeaseID(want.Lease))
	changes := t.Changes()
	t.applied++
	if len(changes) != t.applied {
		return wrong("%d changes after %d events", len(changes), t.applied)
	}
	got := changes[len(changes)-1]
	if got.CreateRevision != want.CreateRevision || got.Version != want.Version || got.ModRevision != want.ModRevision {
		return wrong("it became version %d, created at revision %d. In etcd it was version %d, created at %d. An event before this one is missing or there twice",
			got.Version, got.CreateRevision, want.Version, want.CreateRevision)
	}
	return nil
}

// writeLeases writes the leases of all keys that exist, with their full TTL. Leases of the base without keys are kept.
func (d *database) writeLeases(ctx context.Context, seen bool, ttl map[int64]int64, fallback int64) (known, unknown int, err error) {
	if !seen {
		return 0, 0, nil
	}
	attached, err := d.attached(ctx)
	if err != nil {
		return 0, 0, err
	}
	tx := d.backend.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	tx.UnsafeCreateBucket(schema.Lease)
	for _, id := range attached {
		granted, ok := ttl[id]
		if !ok && schema.MustUnsafeGetLease(tx, id) != nil {
			known++
			continue
		}
		if !ok {
			granted = fallback
			unknown++
		} else {
			known++
		}
		schema.MustUnsafePutLease(tx, &leasepb.Lease{ID: id, TTL: granted})
	}
	return known, unknown, nil
}

// attached returns the leases of all keys in ascending order.
func (d *database) attached(ctx context.Context) ([]int64, error) {
	const page = 1000
	found := map[int64]struct{}{}
	read := d.store.Read(mvcc.ConcurrentReadTxMode, traceutil.TODO())
	defer read.End()
	for from := []byte{0}; ; {
		result, err := read.Range(ctx, from, []byte{}, mvcc.RangeOptions{Limit: page})
		if err != nil {
			return nil, fmt.Errorf("list the keys of the restored database: %w", err)
		}
		for _, kv := range result.KVs {
			if kv.Lease != 0 {
				found[kv.Lease] = struct{}{}
			}
		}
		if len(result.KVs) < page {
			break
		}
		from = append(slices.Clone(result.KVs[page-1].Key), 0)
	}
	ids := make([]int64, 0, len(found))
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

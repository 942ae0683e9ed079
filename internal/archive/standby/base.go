package standby

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// beginning is what the position of a new database is made of.
type beginning struct {
	archive.Choice
	next, start string // see position
}

// importBase makes a database of a follower from that of a snapshot, which it only reads. The file at to is complete and synced if there is no error.
func importBase(ctx context.Context, from, to string, b beginning) (err error) {
	if err := dropTrailer(from); err != nil {
		return err
	}
	source, err := bbolt.Open(from, 0o400, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
	if err != nil {
		return fmt.Errorf("open the base: %w", err)
	}
	defer source.Close() //nolint:errcheck // it was only read
	o := boltOptions()
	o.NoSync, o.NoGrowSync = true, true // until the end
	bolt, err := bbolt.Open(to, 0o600, o)
	if err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	i := &importer{ctx: ctx, to: bolt}
	if err = i.run(source); err == nil {
		err = i.begin(b)
	}
	if err == nil {
		err = (&database{bolt: bolt, durable: func() {}}).resume(ctx)
	}
	if err == nil {
		err = bolt.Sync()
	}
	return errors.Join(err, bolt.Close())
}

// importer copies the buckets of etcd, and makes the index.
type importer struct {
	ctx      context.Context //nolint:containedctx // it lives as long as one import
	to       *bbolt.DB
	batch    *batch
	revision int64 // the newest one
}

func (i *importer) run(source *bbolt.DB) error {
	err := i.to.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{schema.Key.Name(), bucketPosition, bucketIndex, bucketReplaced, bucketTTL} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer func() { i.batch.rollback() }()
	err = source.View(func(tx *bbolt.Tx) error {
		i.revision = max(1, compacted(tx), revisionOf(tx, schema.ScheduledCompactKeyName))
		return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
			if err := i.bucket(name, bucket); err != nil {
				return fmt.Errorf("copy the bucket %q of the base: %w", name, err)
			}
			return nil
		})
	})
	if err == nil && i.batch != nil {
		err = i.batch.tx.Commit()
	}
	return err
}

// bucket copies one bucket of etcd. They have no buckets in them.
func (i *importer) bucket(name []byte, from *bbolt.Bucket) error {
	keys := bytes.Equal(name, schema.Key.Name())
	to, err := i.next(name) // etcd expects some of them, although they are empty
	if err != nil {
		return err
	}
	return from.ForEach(func(key, value []byte) error {
		if value == nil {
			return fmt.Errorf("%w: %q is a bucket", archive.ErrCorrupt, key)
		}
		if i.batch.full() {
			if to, err = i.next(name); err != nil {
				return err
			}
		}
		if err := to.Put(key, value); err != nil {
			return err
		}
		if keys {
			return i.note(key, value)
		}
		i.batch.changes++
		i.batch.bytes += len(key) + len(value)
		return nil
	})
}

// next commits the batch if it is full, and returns the bucket in the present one.
func (i *importer) next(name []byte) (*bbolt.Bucket, error) {
	if err := i.ctx.Err(); err != nil {
		return nil, err
	}
	if i.batch.full() {
		if err := i.batch.tx.Commit(); err != nil {
			return nil, err
		}
		i.batch = nil
	}
	if i.batch == nil {
		var err error
		if i.batch, err = newBatch(i.to); err != nil {
			return nil, err
		}
	}
	to, err := i.batch.tx.CreateBucketIfNotExists(name)
	if err == nil {
		to.FillPercent = appended
	}
	return to, err
}

// note adds one change of a key to the index.
func (i *importer) note(key, value []byte) error {
	kv := &mvccpb.KeyValue{}
	if err := proto.Unmarshal(value, kv); err != nil {
		return fmt.Errorf("%w: a key: %w", archive.ErrCorrupt, err)
	}
	at := mvcc.BytesToRev(key)
	i.revision = max(i.revision, at.Main)
	before, exists, err := i.batch.find(kv.Key)
	if err != nil {
		return err
	}
	return i.batch.note(at, kv, mvcc.IsTombstone(key), before, exists)
}

// begin stores the position of the base.
func (i *importer) begin(b beginning) error {
	if want := b.Base.Point.Revision; i.revision != max(want, 1) {
		return fmt.Errorf("%w: the base %s has revision %d, want %d", archive.ErrCorrupt, b.Base.Key, i.revision, want)
	}
	if b.Chain.Last > i.revision {
		return fmt.Errorf("%w: the links begin after revision %d, but the base ends with %d", archive.ErrCorrupt, b.Chain.Last, i.revision)
	}
	p := position{Base: b.Base.Key, Start: b.start, Chain: b.Chain, Next: b.next, Revision: i.revision, Events: allEvents, At: b.Base.Point.At.UTC()}
	return i.to.Update(func(tx *bbolt.Tx) error {
		p.Auth = authOf(tx)
		return store(tx, p)
	})
}

// authOf returns the state of authentication in a database.
func authOf(tx *bbolt.Tx) auth.State {
	bucket := tx.Bucket(schema.Auth.Name())
	if bucket == nil {
		return auth.State{Enabled: auth.Off}
	}
	state := auth.State{Enabled: auth.SwitchOf(bytes.Equal(bucket.Get(schema.AuthEnabledKeyName), []byte{1}))}
	if value := bucket.Get(schema.AuthRevisionKeyName); len(value) == 8 {
		state.Revision = binary.BigEndian.Uint64(value)
	}
	return state
}

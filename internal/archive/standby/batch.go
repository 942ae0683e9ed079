package standby

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// appended is how full the pages of a bucket are whose keys ascend.
const appended = 0.9

// batch is one transaction that adds changes of keys.
type batch struct {
	tx                    *bbolt.Tx
	keys, index, replaced *bbolt.Bucket
	changes               int
	bytes                 int
}

func newBatch(bolt *bbolt.DB) (*batch, error) {
	tx, err := bolt.Begin(true)
	if err != nil {
		return nil, err
	}
	b := &batch{tx: tx, keys: tx.Bucket(schema.Key.Name()), index: tx.Bucket(bucketIndex), replaced: tx.Bucket(bucketReplaced)}
	if b.keys == nil || b.index == nil || b.replaced == nil {
		return nil, errors.Join(errors.New("the database lacks a bucket"), tx.Rollback())
	}
	b.keys.FillPercent, b.replaced.FillPercent = appended, appended
	return b, nil
}

func (b *batch) full() bool { return b != nil && (b.changes >= batchChanges || b.bytes >= batchBytes) }

// rollback ends a batch that was not committed.
func (b *batch) rollback() {
	if b != nil {
		_ = b.tx.Rollback() // it is an error after a commit, and no change is lost then
	}
}

// find returns what the index has of a key.
func (b *batch) find(key []byte) (e entry, exists bool, err error) {
	value := b.index.Get(indexKey(key))
	if value == nil {
		return e, false, nil
	}
	e, err = decodeEntry(value)
	return e, err == nil, err
}

// note changes the index for a change that is in etcd's bucket.
func (b *batch) note(at mvcc.Revision, kv *mvccpb.KeyValue, deletion bool, before entry, existed bool) error {
	b.changes++
	b.bytes += len(kv.Key) + len(kv.Value)
	change, replaced := changeKey(at, deletion), []byte(nil)
	if existed {
		replaced = changeKey(before.modified, false)
	}
	if existed || deletion {
		if err := b.replaced.Put(change, replaced); err != nil {
			return err
		}
	}
	if deletion {
		return b.index.Delete(indexKey(kv.Key))
	}
	e := entry{modified: at, created: kv.CreateRevision, version: kv.Version, lease: kv.Lease}
	return b.index.Put(indexKey(kv.Key), e.encode())
}

// apply writes one event as etcd would, and compares it with what the database has.
func (b *batch) apply(event *mvccpb.Event, sub int64) error {
	kv, deletion := event.Kv, event.Type == mvccpb.Event_DELETE
	at := mvcc.Revision{Main: kv.ModRevision, Sub: sub}
	before, exists, err := b.find(kv.Key)
	if err != nil {
		return err
	}
	if err := follows(kv, deletion, before, exists); err != nil {
		return &archive.RevisionError{Revision: kv.ModRevision, Err: fmt.Errorf("%w: key %q: %w", archive.ErrCorrupt, dbfile.Short(kv.Key), err)}
	}
	stored := kv
	if deletion {
		stored = &mvccpb.KeyValue{Key: kv.Key}
	}
	value, err := proto.Marshal(stored)
	if err != nil {
		return err
	}
	if err := b.keys.Put(changeKey(at, deletion), value); err != nil {
		return err
	}
	return b.note(at, kv, deletion, before, exists)
}

// follows compares an event with what the index has of its key.
func follows(kv *mvccpb.KeyValue, deletion bool, before entry, exists bool) error {
	if deletion {
		if !exists {
			return errors.New("it is deleted, but did not exist: an event before this one is missing, or this one is there twice")
		}
		return nil
	}
	version, created := int64(1), kv.ModRevision
	if exists {
		version, created = before.version+1, before.created
	}
	if kv.Version != version || kv.CreateRevision != created {
		return fmt.Errorf("it became version %d, created at revision %d. In etcd it was version %d, created at %d. An event before this one is missing or there twice",
			version, created, kv.Version, kv.CreateRevision)
	}
	return nil
}

package standby

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"
)

// undo removes the events of a revision that is in the database in part, newest first, so that the revision before is the last one. No compaction has removed what
// they replace, because it runs between two links.
func (d *database) undo() error {
	to := d.position
	if to.whole() == to.Revision {
		return nil
	}
	for to.Events > 0 {
		err := d.update(func(tx *bbolt.Tx) error {
			for n := 0; n < batchChanges && to.Events > 0; n++ {
				if err := undoLast(tx, to.Revision); err != nil {
					return err
				}
				to.Events--
			}
			return store(tx, to)
		})
		if err != nil {
			return fmt.Errorf("remove the events of revision %d, which is in the database in part: %w", to.Revision, err)
		}
		d.position = to
	}
	to.Revision, to.Events = to.Revision-1, allEvents
	return d.move(to, 0)
}

// undoLast removes the last event of a revision, which is the newest one.
func undoLast(tx *bbolt.Tx, revision int64) error {
	keys, index, replaced := tx.Bucket(schema.Key.Name()), tx.Bucket(bucketIndex), tx.Bucket(bucketReplaced)
	change, value := keys.Cursor().Last()
	if change == nil || int64(binary.BigEndian.Uint64(change)) != revision {
		return fmt.Errorf("the last event is %x", change)
	}
	kv := &mvccpb.KeyValue{}
	if err := proto.Unmarshal(value, kv); err != nil {
		return err
	}
	before, name := replaced.Get(change), indexKey(kv.Key)
	if len(before) == 0 {
		if err := index.Delete(name); err != nil {
			return err
		}
	} else if err := restoreEntry(keys, index, name, before); err != nil {
		return err
	}
	change = append([]byte(nil), change...)
	if err := replaced.Delete(change); err != nil {
		return err
	}
	return keys.Delete(change)
}

// restoreEntry makes a change the newest one of its key.
func restoreEntry(keys, index *bbolt.Bucket, name, change []byte) error {
	kv := &mvccpb.KeyValue{}
	if err := proto.Unmarshal(keys.Get(change), kv); err != nil {
		return err
	}
	e := entry{modified: mvcc.BytesToRev(change), created: kv.CreateRevision, version: kv.Version, lease: kv.Lease}
	return index.Put(name, e.encode())
}

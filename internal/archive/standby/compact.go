package standby

import (
	"bytes"
	"context"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// compacted returns the revision to which the database was compacted.
func compacted(tx *bbolt.Tx) int64 { return revisionOf(tx, schema.FinishedCompactKeyName) }

// resume completes the compaction that was scheduled last, in this database or in the base. It deletes what etcd deletes: each change that another one up to that
// revision has replaced, and each deletion before it. A deletion at exactly that revision is kept, as in etcd since 3.5.16.
func (d *database) resume(ctx context.Context) error {
	var from []byte
	for again := true; again; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := d.update(func(tx *bbolt.Tx) (err error) {
			revision := revisionOf(tx, schema.ScheduledCompactKeyName)
			if again = revision > compacted(tx); !again {
				return nil
			}
			if from, err = compactSome(tx, revision, from); err != nil || from != nil {
				return err
			}
			return putRevision(tx, schema.FinishedCompactKeyName, revision)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// change is a change that is in the list of those that replace others.
type change struct{ key, replaces []byte }

// deletes reports whether the change is a deletion.
func (c change) deletes() bool { return mvcc.IsTombstone(c.key) }

// compactSome does one batch of a compaction, from a change on. It returns the first one that is left; nil if there is none.
func compactSome(tx *bbolt.Tx, revision int64, from []byte) (left []byte, err error) {
	keys, replaced := tx.Bucket(schema.Key.Name()), tx.Bucket(bucketReplaced)
	some, left := replacedUpTo(replaced, from, revision)
	for _, c := range some {
		if len(c.replaces) > 0 {
			if err := keys.Delete(c.replaces); err != nil {
				return nil, err
			}
		}
		if c.deletes() && mvcc.BytesToRev(c.key).Main == revision {
			if err := replaced.Put(c.key, nil); err != nil { // the next compaction deletes it
				return nil, err
			}
			continue
		}
		if c.deletes() {
			if err := keys.Delete(c.key); err != nil {
				return nil, err
			}
		}
		if err := replaced.Delete(c.key); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// replacedUpTo returns the first changes from one up to a revision that a compaction has to handle, and the one after them; nil if there is none. Deletions at the
// revision that replace nothing are handled.
func replacedUpTo(replaced *bbolt.Bucket, from []byte, revision int64) (some []change, left []byte) {
	cursor := replaced.Cursor()
	for key, value := cursor.Seek(from); key != nil; key, value = cursor.Next() {
		at := mvcc.BytesToRev(key).Main
		if at > revision {
			return some, nil
		}
		if at == revision && mvcc.IsTombstone(key) && len(value) == 0 {
			continue
		}
		if len(some) == batchChanges {
			return some, bytes.Clone(key)
		}
		some = append(some, change{bytes.Clone(key), bytes.Clone(value)})
	}
	return some, nil
}

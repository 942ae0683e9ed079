package standby

import (
	"bytes"
	"context"
	"encoding/binary"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"
)

// writeLeases writes the leases of all keys that exist, with their full TTL. Leases of the base without keys are kept. If it is interrupted, the next call
// continues.
func (d *database) writeLeases(ctx context.Context, fallback int64) (known, unknown int, err error) {
	if !d.position.Leased {
		return 0, 0, nil
	}
	err = d.update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucketAttached)
		return err
	})
	w := &leaseWriter{fallback: fallback}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			err = d.update(func(tx *bbolt.Tx) (err error) { more, err = w.some(tx); return err })
		}
	}
	if err != nil {
		return 0, 0, err
	}
	err = d.bolt.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketAttached).ForEach(func(_, value []byte) error {
			if bytes.Equal(value, isKnown) {
				known++
			} else {
				unknown++
			}
			return nil
		})
	})
	return known, unknown, err
}

// What the list of attached leases says of the TTL of a lease.
var isKnown, isUnknown = []byte{1}, []byte{2}

// leaseWriter writes leases in the order of the index.
type leaseWriter struct {
	fallback int64
	after    []byte // of the index
}

// some handles the next keys. It returns whether more are left.
func (w *leaseWriter) some(tx *bbolt.Tx) (more bool, err error) {
	cursor := tx.Bucket(bucketIndex).Cursor()
	name, value := cursor.Seek(w.after)
	if w.after != nil && bytes.Equal(name, w.after) {
		name, value = cursor.Next()
	}
	for n := 0; name != nil; name, value = cursor.Next() {
		if n++; n > batchChanges {
			return true, nil
		}
		w.after = bytes.Clone(name)
		e, err := decodeEntry(value)
		if err != nil {
			return false, err
		}
		if e.lease == 0 {
			continue
		}
		if err := w.write(tx, e.lease); err != nil {
			return false, err
		}
	}
	return false, nil
}

// write writes one lease, if that was not done yet.
func (w *leaseWriter) write(tx *bbolt.Tx, id int64) error {
	key, attached := leaseKey(id), tx.Bucket(bucketAttached)
	if attached.Get(key) != nil {
		return nil
	}
	leases, err := tx.CreateBucketIfNotExists(schema.Lease.Name())
	if err != nil {
		return err
	}
	ttl := tx.Bucket(bucketTTL).Get(key)
	switch {
	case len(ttl) == 8:
		if err := attached.Put(key, isKnown); err != nil {
			return err
		}
		return putLease(leases, id, int64(binary.BigEndian.Uint64(ttl)))
	case leases.Get(key) != nil:
		return attached.Put(key, isKnown)
	}
	if err := attached.Put(key, isUnknown); err != nil {
		return err
	}
	return putLease(leases, id, w.fallback)
}

func putLease(leases *bbolt.Bucket, id, ttl int64) error {
	value, err := proto.Marshal(&leasepb.Lease{ID: id, TTL: ttl})
	if err != nil {
		return err
	}
	return leases.Put(leaseKey(id), value)
}

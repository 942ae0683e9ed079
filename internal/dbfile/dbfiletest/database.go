// Package dbfiletest creates snapshots for tests with etcd's storage code, without a server.
package dbfiletest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/coreos/go-semver/semver"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
	"google.golang.org/protobuf/encoding/protowire"
)

// Database is a key-value store of etcd without a server.
type Database struct {
	t       testing.TB
	backend backend.Backend
	store   mvcc.WatchableKV
}

// New creates an empty database of etcd 3.7 whose only member has this ID.
func New(t testing.TB, member uint64) *Database {
	t.Helper()
	b := backend.NewDefaultBackend(zap.NewNop(), filepath.Join(t.TempDir(), "db"))
	tx := b.BatchTx()
	tx.LockOutsideApply()
	for _, bucket := range []backend.Bucket{schema.Meta, schema.Members, schema.Cluster, schema.Lease, schema.Alarm} {
		tx.UnsafeCreateBucket(bucket)
	}
	tx.UnsafePut(schema.Members, fmt.Appendf(nil, "%x", member), fmt.Appendf(nil, `{"id":%d}`, member))
	tx.UnsafePut(schema.Cluster, schema.ClusterClusterVersionKeyName, []byte("3.7.0"))
	schema.UnsafeSetStorageVersion(tx, &semver.Version{Major: 3, Minor: 7})
	tx.Unlock()
	d := &Database{t: t, backend: b, store: mvcc.New(zap.NewNop(), b, &lease.FakeLessor{}, mvcc.StoreConfig{})}
	t.Cleanup(func() {
		_ = d.store.Close()
		_ = b.Close()
	})
	return d
}

// Put writes count keys, key-000000 and on, with values of size bytes.
func (d *Database) Put(count, size int) *Database {
	for i := range count {
		d.store.Put(fmt.Appendf(nil, "key-%06d", i), bytes.Repeat([]byte{byte(i)}, size), lease.NoLease)
	}
	return d
}

// PutKey writes one key with a value of size bytes.
func (d *Database) PutKey(key string, size int) *Database {
	d.store.Put([]byte(key), make([]byte, size), lease.NoLease)
	return d
}

// Delete removes one key.
func (d *Database) Delete(key string) *Database {
	d.store.DeleteRange([]byte(key), nil)
	return d
}

// PutMeta writes a raw value to the bucket "meta".
func (d *Database) PutMeta(key string, value []byte) *Database {
	tx := d.backend.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	tx.UnsafePut(schema.Meta, []byte(key), value)
	return d
}

// Alarm raises an alarm of a member: 1 is NOSPACE, 2 is CORRUPT.
func (d *Database) Alarm(member uint64, kind byte) *Database {
	key := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), member)
	tx := d.backend.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	tx.UnsafePut(schema.Alarm, protowire.AppendVarint(protowire.AppendTag(key, 2, protowire.VarintType), uint64(kind)), nil)
	return d
}

// Revision returns the current revision of the store.
func (d *Database) Revision() int64 { return d.store.Rev() }

// Compact discards the history before the current revision.
func (d *Database) Compact() *Database {
	d.t.Helper()
	return d.CompactTo(d.store.Rev())
}

// CompactTo discards the history before a revision.
func (d *Database) CompactTo(revision int64) *Database {
	d.t.Helper()
	done, err := d.store.Compact(traceutil.TODO(), revision)
	if err != nil {
		d.t.Fatal(err)
	}
	<-done
	return d
}

// HashKV returns the hash that a member returns for a revision.
func (d *Database) HashKV(revision int64) uint32 {
	d.t.Helper()
	hash, _, err := d.store.HashStorage().HashByRev(revision)
	if err != nil {
		d.t.Fatal(err)
	}
	return hash.Hash
}

// Snapshot returns the bytes that a member streams.
func (d *Database) Snapshot() []byte {
	d.t.Helper()
	d.store.Commit()
	s := d.backend.Snapshot()
	defer func() { _ = s.Close() }()
	var buf bytes.Buffer
	if _, err := s.WriteTo(&buf); err != nil {
		d.t.Fatal(err)
	}
	return Seal(buf.Bytes())
}

// Seal appends the SHA-256, as a member does.
func Seal(db []byte) []byte {
	sum := sha256.Sum256(db)
	return append(bytes.Clone(db), sum[:]...)
}

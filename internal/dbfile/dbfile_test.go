package dbfile_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"

	"github.com/coreos/go-semver/semver"
)

// database is a store of etcd without a server around it.
type database struct {
	t       testing.TB
	backend backend.Backend
	store   mvcc.WatchableKV
}

func newDatabase(t testing.TB) *database {
	t.Helper()
	b := backend.NewDefaultBackend(zap.NewNop(), filepath.Join(t.TempDir(), "db"))
	tx := b.BatchTx()
	tx.LockOutsideApply()
	for _, bucket := range []backend.Bucket{schema.Meta, schema.Members, schema.Cluster, schema.Lease, schema.Alarm} {
		tx.UnsafeCreateBucket(bucket)
	}
	tx.UnsafePut(schema.Members, []byte("8e9e05c52164694d"), []byte(`{"id":10276657743932975437}`))
	tx.UnsafePut(schema.Cluster, schema.ClusterClusterVersionKeyName, []byte("3.7.0"))
	schema.UnsafeSetStorageVersion(tx, &semver.Version{Major: 3, Minor: 7})
	tx.Unlock()
	d := &database{t: t, backend: b, store: mvcc.New(zap.NewNop(), b, &lease.FakeLessor{}, mvcc.StoreConfig{})}
	t.Cleanup(func() {
		d.store.Close()
		_ = b.Close()
	})
	return d
}

func (d *database) put(count, size int) *database {
	for i := range count {
		d.store.Put(fmt.Appendf(nil, "key-%06d", i), bytes.Repeat([]byte{byte(i)}, size), lease.NoLease)
	}
	return d
}

func (d *database) delete(key string) *database {
	d.store.DeleteRange([]byte(key), nil)
	return d
}

func (d *database) compact() *database {
	d.t.Helper()
	done, err := d.store.Compact(traceutil.TODO(), d.store.Rev())
	if err != nil {
		d.t.Fatal(err)
	}
	<-done
	return d
}

// snapshot is what a member would stream.
func (d *database) snapshot() []byte {
	d.t.Helper()
	d.store.Commit()
	s := d.backend.Snapshot()
	defer s.Close()
	var buf bytes.Buffer
	if _, err := s.WriteTo(&buf); err != nil {
		d.t.Fatal(err)
	}
	return seal(buf.Bytes())
}

// seal appends the SHA-256, as the server does.
func seal(db []byte) []byte {
	sum := sha256.Sum256(db)
	return append(bytes.Clone(db), sum[:]...)
}

// unseal drops it.
func unseal(snapshot []byte) []byte { return bytes.Clone(snapshot[:len(snapshot)-sha256.Size]) }

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// foreign is a database of bbolt that etcd did not write.
func foreign(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("outer"))
		if err != nil {
			return err
		}
		return b.Put([]byte("k"), []byte("v"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return seal(content)
}

func wantText(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one with %q", err, text)
	}
}

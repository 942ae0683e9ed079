package dbfile_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

// member is the member ID in all test databases.
const member = 0x8e9e05c52164694d

func newDatabase(t testing.TB) *dbfiletest.Database { return dbfiletest.New(t, member) }

// unseal removes the trailer.
func unseal(snapshot []byte) []byte { return bytes.Clone(snapshot[:len(snapshot)-sha256.Size]) }

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// foreign returns a bbolt database with one bucket that etcd has not written.
func foreign(t testing.TB, bucket string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucket))
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
	return dbfiletest.Seal(content)
}

func wantText(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one with %q", err, text)
	}
}

package standby

import (
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// A disk damaged the file of a standby. Its process ended with the stack of a panic each time it started, and the Pod showed no reason.
func TestADamagedFileOfAStandbyIsAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, DatabaseName)
	bolt, err := bbolt.Open(path, 0o600, boltOptions())
	if err == nil {
		err = bolt.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucket(bucketPosition)
			if err == nil {
				err = bucket.Put(keyPosition, []byte("{}"))
			}
			return err
		})
	}
	if err != nil || bolt.Close() != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(content[2*os.Getpagesize():]) // all but the two meta pages
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); err == nil {
		t.Error("it is opened")
	}
}

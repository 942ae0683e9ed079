package standby

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// The buckets of a follower, beside those of etcd. Finish deletes them.
var (
	bucketPosition = []byte("standby-position")
	bucketIndex    = []byte("standby-index")    // key of a client: entry
	bucketReplaced = []byte("standby-replaced") // key of a change: key of the change that it replaces, or nothing for a deletion without one
	bucketTTL      = []byte("standby-ttl")      // lease: its TTL
	bucketAttached = []byte("standby-attached") // leases that Finish has counted
	keyPosition    = []byte("position")
)

// The most that one transaction changes. It bounds the memory.
const (
	batchChanges = 2000
	batchBytes   = 4 << 20
)

// lockWait is how long a database is waited for that another process has open.
const lockWait = 2 * time.Second

// database is the database of a follower.
type database struct {
	bolt     *bbolt.DB
	position position
	durable  func()
}

func boltOptions() *bbolt.Options {
	// The list of free pages is in the file, and is an array in memory. Otherwise the process would hold a map of all pages when it opens the file.
	return &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistArrayType}
}

// openDatabase opens the database of a follower. The error is fs.ErrNotExist if there is none, and ErrFinished if it was handed over.
func openDatabase(path string, o Options) (*database, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	options := boltOptions()
	options.NoSync = o.unsynced
	bolt, err := bbolt.Open(path, 0o600, options)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	d := &database{bolt: bolt, durable: o.durable}
	if err := bolt.View(d.load); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), bolt.Close())
	}
	return d, nil
}

func (d *database) load(tx *bbolt.Tx) error {
	bucket := tx.Bucket(bucketPosition)
	if bucket == nil {
		return ErrFinished
	}
	return json.Unmarshal(bucket.Get(keyPosition), &d.position)
}

func (d *database) close() error { return d.bolt.Close() }

// store writes a position. It counts when the transaction is committed.
func store(tx *bbolt.Tx, p position) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketPosition).Put(keyPosition, content)
}

// update is one transaction.
func (d *database) update(change func(tx *bbolt.Tx) error) error {
	err := d.bolt.Update(change)
	if err == nil {
		d.durable()
	}
	return err
}

// revisionOf returns a revision in the bucket of meta data; 0 if it is not there.
func revisionOf(tx *bbolt.Tx, name []byte) int64 {
	meta := tx.Bucket(schema.Meta.Name())
	if meta == nil {
		return 0
	}
	value := meta.Get(name)
	if len(value) < len(mvcc.NewRevBytes()) {
		return 0
	}
	return mvcc.BytesToRev(value).Main
}

func putRevision(tx *bbolt.Tx, name []byte, revision int64) error {
	meta, err := tx.CreateBucketIfNotExists(schema.Meta.Name())
	if err != nil {
		return err
	}
	return meta.Put(name, mvcc.RevToBytes(mvcc.Revision{Main: revision}, mvcc.NewRevBytes()))
}

// guard turns a panic of bbolt, or a fault on the file that is mapped into memory, into an error.
func guard(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = fmt.Errorf("the database of the follower: it panicked: %w", dbfile.Panicked(p))
		}
	}
}

// Package source is one snapshot object that a restore reads: how its store is opened, and the proof that the
// object is a whole snapshot of etcd. restore-operator reads it before anything is touched, and the seed again.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

var (
	// ErrChanged is in the chain when the object is whole and is not the one that was proven before.
	ErrChanged = snapshot.ErrChanged
)

// Proven is a source that was read once, whole, and found good.
type Proven struct {
	// File is where it lies.
	File string
	// Snapshot is what is in it.
	Snapshot v1beta2.Snapshot
	// Format is the etcd version whose minor says which etcd can read it.
	Format string
}

// By says who opens the store.
type By struct {
	// Secret is the content of the Secret that the source names. Nil means the identity of the process.
	Secret map[string][]byte
	// For is what may be read and written. The zero Scope refuses the identity of the process.
	For grant.Scope
	// Signers, of which one must have signed the snapshot. snapshot.Anyone requires no signature.
	Signers snapshot.Signers
}

// Progress is told how many bytes of an object have come, and how many it has; 0 where that is not known.
type Progress func(bytes, of int64)

// Find is the exact object that a Choice among those below src means, and why it is that one. Without a Choice src is
// that already. The error is fs.ErrNotExist where none fits, and ErrAmbiguous where those of two clusters do.
func Find(ctx context.Context, src v1beta2.RestoreSource, by By, c Choice) (found v1beta2.RestoreSource, why string, err error) {
	if !c.Folder && c.Fallback == "" {
		return src, "", nil
	}
	store, err := open(ctx, src, by)
	if err != nil {
		return src, "", err
	}
	find := choose
	if !c.Folder {
		find = exact
	}
	key, why, err := find(ctx, store, src, c, by.Signers, time.Now())
	if err != nil {
		return src, "", fmt.Errorf("choose a snapshot: %w", err)
	}
	src.Key = key
	return src, why, nil
}

// Read streams the object once into a new file in the place, and proves it. The caller removes the file; after an error
// there is none. progress may be nil.
func Read(ctx context.Context, src v1beta2.RestoreSource, by By, place proof.Place, progress Progress) (Proven, error) {
	var proven Proven
	err := withStore(ctx, src, by, place.Dir, progress, func(store objstore.Getter) error {
		fetched, err := proof.Fetch(ctx, store, src.Key, place, connect.Identity(by.Secret), by.Signers)
		if err == nil {
			proven = provenOf(src, fetched)
			proven.Snapshot.SignedBy = signedBy(fetched, by.Signers)
		}
		return err
	})
	return proven, err
}

// ReadAgain does that for an object that was proven before, when it had this SHA-256. Of the Snapshot, it returns only path, sizes and
// SHA-256. The error is ErrChanged if the object has another SHA-256 now. It reserves no room in dir, because dir is the volume of the new
// member, which no other namespace uses.
func ReadAgain(ctx context.Context, src v1beta2.RestoreSource, by By, dir string, progress Progress, sha256 string) (Proven, error) {
	var proven Proven
	err := withStore(ctx, src, by, dir, progress, func(store objstore.Getter) error {
		fetched, err := proof.FetchAgain(ctx, store, src.Key, proof.Alone(dir), connect.Identity(by.Secret), sha256)
		if err == nil {
			proven = provenOf(src, fetched)
		}
		return err
	})
	return proven, err
}

// withStore opens the store for a reading of src into dir.
func withStore(ctx context.Context, src v1beta2.RestoreSource, by By, dir string, progress Progress, read func(objstore.Getter) error) error {
	store, err := open(ctx, src, by)
	if err != nil {
		return err
	}
	size := sizeOf(ctx, store, src.Key)
	if err := enough(dir, max(size, plainSizeOf(ctx, store, src.Key))); err != nil {
		return err
	}
	measured := pace.Bodies(store)
	if progress == nil {
		return read(measured)
	}
	return read(counted{measured, func(key string, bytes int64) {
		if key == src.Key {
			progress(bytes, size)
		}
	}})
}

func open(ctx context.Context, src v1beta2.RestoreSource, by By) (objstore.Store, error) {
	store, err := connect.Open(ctx, connect.Access{Location: storage.FromSource(src), Data: by.Secret, For: by.For})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return store, nil
}

// sizeOf the object as the store lists it; 0 where it does not, which reading it will explain.
func sizeOf(ctx context.Context, store objstore.Store, key string) int64 {
	for object, err := range store.List(ctx, key) {
		if err == nil && object.Key == key {
			return object.Size
		}
		break // the key itself is the first of all that begin with it
	}
	return 0
}

// plainSizeOf the snapshot inside of an object that is compressed or encrypted, as its manifest tells it; 0 where
// nothing does.
func plainSizeOf(ctx context.Context, store objstore.Store, key string) int64 {
	m, err := snapshot.ManifestOf(ctx, store, key, snapshot.Anyone)
	if err != nil || m == nil {
		return 0 // reading the object will explain
	}
	return m.PlainSize
}

func provenOf(src v1beta2.RestoreSource, fetched proof.Fetched) Proven {
	proven := Proven{File: fetched.Path, Format: fetched.Format(), Snapshot: v1beta2.Snapshot{
		Path:           src.Bucket + "/" + src.Key,
		Revision:       fetched.Info.Revision,
		Keys:           fetched.Info.Keys,
		Size:           fetched.Size,
		SHA256:         fetched.SHA256,
		StorageVersion: fetched.Info.StorageVersion,
		Alarms:         fetched.Info.Alarms,
	}}
	if fetched.Encoding != (codec.Encoding{}) {
		proven.Snapshot.PlainSize = fetched.Info.Size
	}
	if m := fetched.Manifest; m != nil {
		proven.Snapshot.EtcdVersion, proven.Snapshot.ClusterID = bounded.Word(m.EtcdVersion), bounded.Word(m.Cluster.ID)
		proven.Snapshot.NoQuorum = m.NoQuorum
		proven.Snapshot.CreatedAt = m.CreatedAt.UTC().Format(time.RFC3339)
	}
	return proven
}

// signedBy returns the ID of the key whose signature was required and is right.
func signedBy(fetched proof.Fetched, by snapshot.Signers) string {
	if !by.Required() || fetched.Manifest == nil {
		return ""
	}
	return fetched.Manifest.Signature.Key
}

// Corrupt says whether the object was read and is no whole snapshot.
func Corrupt(err error) bool {
	return errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, dbfile.ErrNoTrailer)
}

// Missing says whether there is no object of that key.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDisk)
}

// Unreturned says whether the store does not return an object, although it is listed: it refuses it, for example because of its storage class, or has
// lost it. The next question to the store shows whether that concerns this object only.
func Unreturned(err error) bool {
	return (objstore.Refused(err) || errors.Is(err, objstore.ErrUnavailable)) && !errors.Is(err, ErrDisk)
}

// Undecryptable says whether the object is encrypted and the Secret's age-identity does not decrypt it.
func Undecryptable(err error) bool { return errors.Is(err, codec.ErrIdentity) }

// Newer says whether only a newer version of this suite can read the object.
func Newer(err error) bool { return errors.Is(err, snapshot.ErrNewerFormat) }

// TooLarge says whether the object has more bytes than the spool can ever hold, though its listed size fits, or needs more
// memory than the operator may use.
func TooLarge(err error) bool {
	return errors.Is(err, proof.ErrTooLarge) || errors.Is(err, dbfile.ErrTooLarge)
}

// Final says whether the same object read again with the same Secret would fail the same way.
func Final(err error) bool {
	return Corrupt(err) || snapshot.OfSignature(err) || Missing(err) || Newer(err) || Undecryptable(err) || TooLarge(err) || errors.Is(err, ErrChanged)
}

// SizeOf returns how many bytes Read writes to the disk: the size of the object, or of the snapshot in it. It is 0 if the store
// does not tell, and Read will explain why.
func SizeOf(ctx context.Context, src v1beta2.RestoreSource, by By) (int64, error) {
	store, err := open(ctx, src, by)
	if err != nil {
		return 0, err
	}
	return max(sizeOf(ctx, store, src.Key), plainSizeOf(ctx, store, src.Key)), nil
}

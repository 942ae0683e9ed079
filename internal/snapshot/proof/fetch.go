package proof

import (
	"context"
	"fmt"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Fetched is a snapshot that was downloaded and verified.
type Fetched struct {
	// Path of the file. The caller must delete it.
	Path string
	// Info is the content of the file.
	Info dbfile.Info
	// SHA256 (64 hex digits) and Size (bytes) of the object. A plain object and the file have the same content.
	SHA256 string
	Size   int64
	// Encoding of the object.
	Encoding codec.Encoding
	// Manifest is nil if the object has none, because etcdctl or the archived operator wrote it. Such an object is only
	// verified by its trailer and structure.
	Manifest *snapshot.Manifest
}

// Format returns the etcd version of the snapshot's format, which decides which versions of etcd can read it.
func (f Fetched) Format() string {
	m := snapshot.Manifest{StorageVersion: f.Info.StorageVersion, EtcdVersion: f.Info.ClusterVersion}
	if f.Manifest != nil && f.Manifest.EtcdVersion != "" {
		m.EtcdVersion = f.Manifest.EtcdVersion
	}
	return m.Format()
}

// Fetch downloads a snapshot into a new file in the place and verifies its trailer and the structure of the database. If the
// object has a manifest, Fetch also compares size, SHA-256 and revision. It leaves no file if it fails. It recognises
// compressed (also by etcd-backup-restore) and encrypted objects by their first bytes. identities are those of age, one
// per line, and only needed for an encrypted object. If signers are given, one of them must have signed the manifest.
//
// The error is one of:
//   - fs.ErrNotExist: there is no object.
//   - ErrNotSigned, ErrSignature or ErrUnknownSigner: none of the signers has signed the manifest.
//   - codec.ErrIdentity: none of the identities decrypts the object.
//   - dbfile.ErrCorrupt or dbfile.ErrNoTrailer: the object is damaged or not a snapshot.
//   - ErrNewerFormat: only a newer version of the suite can read the object.
//   - ErrDisk: the local disk failed.
//   - dbfile.ErrTooLarge: the check needs too much memory; dbfile.ErrNotChecked: it could not run.
//   - ErrTooLarge, spool.ErrTooSmall or spool.ErrFull: the place has no room for the snapshot.
//   - any other error of the store.
func Fetch(ctx context.Context, store objstore.Getter, key string, place Place, identities []byte, by snapshot.Signers) (Fetched, error) {
	m, err := snapshot.ManifestOf(ctx, store, key, by)
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch snapshot %s: %w", key, err)
	}
	fetched, err := fetch(ctx, store, key, place, Reading{name: key, manifest: m, identities: identities})
	if err != nil && incremental(key) {
		err = fmt.Errorf("an incremental snapshot only holds changes: use the full snapshot before it (Full-...): %w", err)
	}
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch snapshot %s: %w", key, err)
	}
	return fetched, nil
}

// FetchAgain is Fetch for an object that was verified before and had this SHA-256. If the SHA-256 is unchanged, so is the
// content: FetchAgain does not read the structure of the database again, which saves time and memory for large
// databases. Info only has Size. The error is ErrChanged if the object has changed.
func FetchAgain(ctx context.Context, store objstore.Getter, key string, place Place, identities []byte, sha256 string) (Fetched, error) {
	fetched, err := fetch(ctx, store, key, place, Reading{name: key, sha256: sha256, identities: identities})
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch snapshot %s: %w", key, err)
	}
	return fetched, nil
}

func fetch(ctx context.Context, store objstore.Getter, key string, place Place, known Reading) (Fetched, error) {
	if place.Room == nil {
		return Fetched{}, errNoRoom
	}
	known.Namespace, known.Room = place.Namespace, place.Room
	body, err := store.Get(ctx, key)
	if err != nil {
		return Fetched{}, err
	}
	defer body.Close()
	file, err := os.CreateTemp(place.Dir, fetchPattern)
	if err != nil {
		return Fetched{}, diskError(err)
	}
	f, err := place.download(ctx, body, file, known)
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = diskError(closeErr)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return Fetched{}, err
	}
	return Fetched{
		Path: file.Name(), Info: f.Info, SHA256: f.Object.SHA256, Size: f.Object.Size, Encoding: f.Object.Encoding, Manifest: known.manifest,
	}, nil
}

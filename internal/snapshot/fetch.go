package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Fetched is a snapshot that was read whole and proven.
type Fetched struct {
	// Path of the file. The caller removes it.
	Path string
	// Info is what the file holds.
	Info dbfile.Info
	// SHA256 of the object, 64 hex digits, and Size of it in bytes. A plain object and
	// the file are the same.
	SHA256 string
	Size   int64
	// Encoding of the object.
	Encoding Encoding
	// Manifest is nil for an object that has none, because etcdctl or the archived
	// operator wrote it: its trailer and structure have to do.
	Manifest *Manifest
}

// Format is the version that decides which etcd can read the snapshot.
func (f Fetched) Format() string {
	m := Manifest{StorageVersion: f.Info.StorageVersion, EtcdVersion: f.Info.ClusterVersion}
	if f.Manifest != nil && f.Manifest.EtcdVersion != "" {
		m.EtcdVersion = f.Manifest.EtcdVersion
	}
	return m.Format()
}

// Fetch streams a snapshot into a new file in dir and proves it: size, SHA-256
// and revision by the manifest, where there is one, the trailer, and the
// structure of the database. Where it fails no file is left. An object that is
// compressed (also by etcd-backup-restore) or encrypted is recognised by its first bytes; identities are age's, one
// a line, and only needed for one that is encrypted.
//
// The error is ErrIdentity where they do not decrypt it, fs.ErrNotExist where there is no object, dbfile.ErrCorrupt or
// dbfile.ErrNoTrailer where it is not what it should be, ErrNewerFormat where a
// newer version of the suite must read it, and ErrDisk for the disk here.
func Fetch(ctx context.Context, store objstore.Store, key, dir string, identities []byte) (Fetched, error) {
	m, err := ManifestOf(ctx, store, key)
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch snapshot %s: %w", key, err)
	}
	fetched, err := fetch(ctx, store, key, dir, reading{name: key, manifest: m, identities: identities})
	if err != nil && incremental(key) {
		err = fmt.Errorf("an incremental snapshot holds changes only: name the full one before it (Full-...): %w", err)
	}
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch snapshot %s: %w", key, err)
	}
	return fetched, nil
}

// FetchAgain is Fetch for an object that was fetched and proven before, when it had this SHA-256. That it has it still
// proves all the rest, so that the database is not walked once more, which takes time and memory that grows with its
// keys: of Info only Size is known. The error is ErrChanged where it is another object now.
func FetchAgain(ctx context.Context, store objstore.Store, key, dir string, identities []byte, sha256 string) (Fetched, error) {
	fetched, err := fetch(ctx, store, key, dir, reading{name: key, sha256: sha256, identities: identities})
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch snapshot %s: %w", key, err)
	}
	return fetched, nil
}

// reading is what is known of an object before it is read.
type reading struct {
	name       string    // its key
	manifest   *Manifest // may be nil
	sha256     string    // of the object that was proven; empty for one that was not
	identities []byte
	unread     bool // what cannot be decrypted is read to its end all the same, for its SHA-256
}

func fetch(ctx context.Context, store objstore.Store, key, dir string, known reading) (Fetched, error) {
	body, err := store.Get(ctx, key)
	if err != nil {
		return Fetched{}, err
	}
	defer body.Close()
	file, err := os.CreateTemp(dir, fetchPattern)
	if err != nil {
		return Fetched{}, diskError(err)
	}
	f, err := download(body, file, known)
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = diskError(closeErr)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return Fetched{}, err
	}
	return Fetched{
		Path: file.Name(), Info: f.Info, SHA256: f.object.SHA256, Size: f.object.Size, Encoding: f.object.Encoding, Manifest: known.manifest,
	}, nil
}

// ManifestOf returns the manifest of an object, nil where it has none. The error is ErrNewerFormat where a newer version of
// the suite must read the object.
func ManifestOf(ctx context.Context, store objstore.Store, key string) (*Manifest, error) {
	m, err := readManifest(ctx, store, key)
	switch {
	case err == nil:
		return &m, m.readable()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrManifest):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		// S3's word for an absent key to those who may not list. If it is more than
		// that, reading the object fails alike.
		return nil, nil
	}
	return nil, err
}

// download reads an object into file and proves what is inside of it.
func download(body io.Reader, file *os.File, known reading) (facts, error) {
	m := known.manifest
	if m != nil {
		body = io.LimitReader(body, m.Size+1)
	}
	whole := newMeasured(storeBody{body})
	plain, encoding, err := decode(whole, known.name, known.identities)
	if err == nil && encoding.plain() {
		whole.sum = nil // the proof sums the same bytes
	}
	if err != nil {
		f := facts{}
		if known.unread && errors.Is(err, ErrIdentity) {
			if _, rest := io.Copy(io.Discard, whole); rest != nil {
				return f, storeError(rest)
			}
			f.object = object{Encoding: encoding, Size: whole.size, SHA256: whole.SHA256()}
		}
		return f, storeError(err)
	}
	if m != nil {
		size, _ := m.plain()
		plain = io.LimitReader(plain, size+1)
	}
	p := newProof(plain, file)
	p.again = known.sha256 != ""
	err = drain(p)
	corrupt := errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, dbfile.ErrNoTrailer)
	if err == nil || corrupt {
		if _, rest := io.Copy(io.Discard, whole); rest != nil {
			err = rest
		} else if m != nil && whole.size != m.Size {
			// Said in the place of err, since a wrong size also breaks the trailer.
			err = fmt.Errorf("object has not the %d bytes that its manifest says: %w", m.Size, dbfile.ErrCorrupt)
		}
	}
	if err != nil {
		return facts{}, storeError(err)
	}
	f := p.facts
	if !encoding.plain() {
		f.object = object{Encoding: encoding, Size: whole.size, SHA256: whole.SHA256()}
	}
	if p.again && f.object.SHA256 != known.sha256 {
		return facts{}, fmt.Errorf("object has SHA-256 %s and %s was proven: %w", f.object.SHA256, known.sha256, ErrChanged)
	}
	return f, agree(f, m)
}

// agree compares what was read with what was written down when it was saved.
func agree(f facts, m *Manifest) error {
	if m == nil {
		return nil
	}
	_, plain := m.plain()
	switch {
	case f.object.SHA256 != m.SHA256:
		return fmt.Errorf("object has SHA-256 %s and its manifest says %s: %w", f.object.SHA256, m.SHA256, dbfile.ErrCorrupt)
	case f.object.Encoding != m.Encoding():
		return fmt.Errorf("object is %+v and its manifest says %+v: %w", f.object.Encoding, m.Encoding(), dbfile.ErrCorrupt)
	case f.SHA256 != plain:
		return fmt.Errorf("snapshot has SHA-256 %s and its manifest says %s: %w", f.SHA256, plain, dbfile.ErrCorrupt)
	case f.Revision != m.Revision:
		return fmt.Errorf("object holds revision %d and its manifest says %d: %w", f.Revision, m.Revision, dbfile.ErrCorrupt)
	case f.Keys != m.Keys:
		return fmt.Errorf("object holds %d keys and its manifest says %d: %w", f.Keys, m.Keys, dbfile.ErrCorrupt)
	}
	return nil
}

// readManifest reads the manifest of the snapshot under key.
func readManifest(ctx context.Context, store objstore.Store, key string) (Manifest, error) {
	return readManifestAt(ctx, store, ManifestKey(key))
}

func readManifestAt(ctx context.Context, store objstore.Store, name string) (Manifest, error) {
	body, err := store.Get(ctx, name)
	if err != nil {
		return Manifest{}, err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, maxManifest+1))
	if err != nil {
		return Manifest{}, fmt.Errorf("read manifest %s: %w", name, err)
	}
	if len(content) > maxManifest {
		return Manifest{}, fmt.Errorf("%s: %w: it has more than %d bytes", name, ErrManifest, maxManifest)
	}
	m, err := DecodeManifest(content)
	if err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// storeBody marks the errors of a body that comes from a store, which a proof
// would else lay on etcd.
type storeBody struct{ io.Reader }

func (b storeBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = &bodyError{err}
	}
	return n, err
}

type bodyError struct{ err error }

func (e *bodyError) Error() string { return "read object: " + e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

// storeError takes such an error out of what the proof made of it.
func storeError(err error) error {
	var body *bodyError
	if errors.As(err, &body) {
		return body
	}
	return err
}

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
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
	Manifest *Manifest
}

// Format returns the etcd version of the snapshot's format, which decides which versions of etcd can read it.
func (f Fetched) Format() string {
	m := Manifest{StorageVersion: f.Info.StorageVersion, EtcdVersion: f.Info.ClusterVersion}
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
func Fetch(ctx context.Context, store objstore.Getter, key string, place Place, identities []byte, by Signers) (Fetched, error) {
	m, err := ManifestOf(ctx, store, key, by)
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch snapshot %s: %w", key, err)
	}
	fetched, err := fetch(ctx, store, key, place, reading{name: key, manifest: m, identities: identities})
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
	fetched, err := fetch(ctx, store, key, place, reading{name: key, sha256: sha256, identities: identities})
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch snapshot %s: %w", key, err)
	}
	return fetched, nil
}

// reading is what the caller knows about an object before the download.
type reading struct {
	name       string    // its key
	manifest   *Manifest // may be nil
	sha256     string    // of the object that was verified before; may be empty
	identities []byte
	unread     bool // compute the SHA-256 even of an object that cannot be decrypted, of which the store lists that many bytes
	listed     int64
	room       Room // of the file that the object is written to
	namespace  string
	cpu        *cpu // the turn of the reader, which it gives back during the check; may be nil
}

func fetch(ctx context.Context, store objstore.Getter, key string, place Place, known reading) (Fetched, error) {
	if place.Room == nil {
		return Fetched{}, errNoRoom
	}
	known.namespace, known.room = place.Namespace, place.Room
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
		Path: file.Name(), Info: f.Info, SHA256: f.object.SHA256, Size: f.object.Size, Encoding: f.object.Encoding, Manifest: known.manifest,
	}, nil
}

// ManifestOf returns the manifest of an object, or nil if it has none. The error is ErrNewerFormat if only a newer version
// of the suite can read the object. If signers are given, an object without a manifest is ErrNotSigned.
func ManifestOf(ctx context.Context, store objstore.Getter, key string, by Signers) (*Manifest, error) {
	m, err := readManifest(ctx, store, key, by)
	switch {
	case err == nil:
		return &m, m.readable()
	case by.Required() && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrManifest)):
		if body, missing := store.Get(ctx, key); errors.Is(missing, fs.ErrNotExist) {
			return nil, missing
		} else if missing == nil {
			_ = body.Close()
		}
		return nil, fmt.Errorf("%w: a manifest with a signature by key %s is required: %s", ErrNotSigned, by, err.Error())
	case by.Required():
		return nil, err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrManifest):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		// Without the permission to list, S3 answers 403 for a missing key. If the permission to read is missing too,
		// reading the object fails later.
		return nil, nil
	}
	return nil, err
}

// download is download in turns of the processors.
func (p Place) download(ctx context.Context, body io.Reader, file *os.File, known reading) (facts, error) {
	turn, err := p.turn(ctx)
	if err != nil {
		return facts{}, err
	}
	defer turn.end() // also after a panic
	known.cpu = turn
	return download(ctx, waiting{body, turn}, file, known)
}

// download reads an object into file and verifies the snapshot in it.
func download(ctx context.Context, body io.Reader, file *os.File, known reading) (facts, error) {
	m := known.manifest
	if m != nil {
		body = io.LimitReader(body, m.Size+1)
	}
	whole := newMeasured(storeBody{body})
	plain, encoding, err := decode(ctx, whole, known.name, known.identities)
	if err == nil && encoding.Plain() {
		whole.sum = nil // the proof computes the SHA-256 of the same bytes
	}
	if err != nil {
		f := facts{}
		if known.unread && errors.Is(err, codec.ErrIdentity) {
			whole.most = func() int64 { return known.listed } // nothing else ends the body
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
	p := newProof(ctx, known.namespace, plain, file)
	p.check = known.cpu.without(p.check)
	p.again, p.room = known.sha256 != "", known.room
	if !encoding.Plain() {
		whole.most = func() int64 { return maxEncoded(p.trailer.Size()) }
	}
	err = drain(p)
	corrupt := errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, dbfile.ErrNoTrailer)
	if err == nil || corrupt {
		if _, rest := io.Copy(io.Discard, whole); rest != nil {
			err = rest
		} else if m != nil && whole.size != m.Size {
			// This replaces err, because a wrong size also makes the trailer wrong.
			err = fmt.Errorf("object does not have the %d bytes that its manifest states: %w", m.Size, dbfile.ErrCorrupt)
		}
	}
	if err != nil {
		return facts{}, outgrown(storeError(err))
	}
	f := p.facts
	if !encoding.Plain() {
		f.object = object{Encoding: encoding, Size: whole.size, SHA256: whole.SHA256()}
	}
	if p.again && f.object.SHA256 != known.sha256 {
		return facts{}, fmt.Errorf("object has SHA-256 %s, but the verified one had %s: %w", f.object.SHA256, known.sha256, ErrChanged)
	}
	return f, agree(f, m)
}

// agree compares the downloaded snapshot with its manifest.
func agree(f facts, m *Manifest) error {
	if m == nil {
		return nil
	}
	_, plain := m.plain()
	switch {
	case f.object.SHA256 != m.SHA256:
		return fmt.Errorf("object has SHA-256 %s, but its manifest states %s: %w", f.object.SHA256, m.SHA256, dbfile.ErrCorrupt)
	case f.object.Encoding != m.Encoding():
		return fmt.Errorf("object has the encoding %+v, but its manifest states %+v: %w", f.object.Encoding, m.Encoding(), dbfile.ErrCorrupt)
	case f.SHA256 != plain:
		return fmt.Errorf("snapshot has SHA-256 %s, but its manifest states %s: %w", f.SHA256, plain, dbfile.ErrCorrupt)
	case f.Revision != m.Revision:
		return fmt.Errorf("object has revision %d, but its manifest states %d: %w", f.Revision, m.Revision, dbfile.ErrCorrupt)
	case f.Keys != m.Keys:
		return fmt.Errorf("object has %d keys, but its manifest states %d: %w", f.Keys, m.Keys, dbfile.ErrCorrupt)
	}
	return nil
}

// readManifest reads the manifest of the snapshot under key, and checks its signature.
func readManifest(ctx context.Context, store objstore.Getter, key string, by Signers) (Manifest, error) {
	return readManifestAt(ctx, store, key, ManifestKey(key), by)
}

// readManifestAt reads a manifest of the snapshot under key, which may be a draft with another name.
func readManifestAt(ctx context.Context, store objstore.Getter, key, name string, by Signers) (Manifest, error) {
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
		return Manifest{}, fmt.Errorf("read manifest %s: %w: it is larger than %d bytes", name, ErrManifest, maxManifest)
	}
	m, err := DecodeManifest(content)
	if err == nil {
		err = by.Check(key, m)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("read manifest %s: %w", name, err)
	}
	return m, nil
}

// storeBody marks read errors as errors of the store. Without the mark, a proof would report them as ErrSource.
type storeBody struct{ io.Reader }

func (b storeBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = &bodyError{err}
	}
	return n, err
}

func (e *bodyError) Error() string { return "read object: " + e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

// storeError returns the marked error in the chain if there is one.
func storeError(err error) error {
	var body *bodyError
	if errors.As(err, &body) {
		return body
	}
	return err
}

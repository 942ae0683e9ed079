package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Reading is what the caller knows about an object before the download.
type Reading struct {
	name       string             // its key
	manifest   *snapshot.Manifest // may be nil
	sha256     string             // of the object that was verified before; may be empty
	identities []byte
	Unread     bool // compute the SHA-256 even of an object that cannot be decrypted, of which the store lists that many bytes
	Listed     int64
	Room       Room // of the file that the object is written to
	Namespace  string
	cpu        *cpu // the turn of the reader, which it gives back during the check; may be nil
}

// download is download in turns of the processors.
func (p Place) download(ctx context.Context, body io.Reader, file *os.File, known Reading) (Facts, error) {
	turn, err := p.turn(ctx)
	if err != nil {
		return Facts{}, err
	}
	defer turn.end() // also after a panic
	known.cpu = turn
	return Download(ctx, waiting{body, turn}, file, known)
}

// Download reads an object into file and verifies the snapshot in it.
func Download(ctx context.Context, body io.Reader, file *os.File, known Reading) (Facts, error) {
	m := known.manifest
	if m != nil {
		body = io.LimitReader(body, m.Size+1)
	}
	whole := NewHashed(storeBody{body})
	held := objstore.BesideOf(ctx)
	defer held.Release()
	plain, encoding, err := decode(ctx, whole, known.name, known.identities, held)
	if err == nil && encoding.Plain() {
		whole.sum = nil // the proof computes the SHA-256 of the same bytes
	}
	if err != nil {
		f := Facts{}
		if known.Unread && errors.Is(err, codec.ErrIdentity) {
			whole.most = func() int64 { return known.Listed } // nothing else ends the body
			if _, rest := io.Copy(io.Discard, whole); rest != nil {
				return f, storeError(rest)
			}
			f.Object = Object{Encoding: encoding, Size: whole.Size, SHA256: whole.SHA256()}
		}
		return f, storeError(err)
	}
	if m != nil {
		size, _ := m.Plain()
		plain = io.LimitReader(plain, size+1)
	}
	p := New(ctx, known.Namespace, plain, file)
	p.check = known.cpu.without(p.check)
	p.again, p.Room = known.sha256 != "", known.Room
	if !encoding.Plain() {
		whole.most = func() int64 { return maxEncoded(p.trailer.Size()) }
	}
	err = Drain(p)
	corrupt := errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, dbfile.ErrNoTrailer)
	if err == nil || corrupt {
		if _, rest := io.Copy(io.Discard, whole); rest != nil {
			err = rest
		} else if m != nil && whole.Size != m.Size {
			// This replaces err, because a wrong size also makes the trailer wrong.
			err = fmt.Errorf("object does not have the %d bytes that its manifest states: %w", m.Size, dbfile.ErrCorrupt)
		}
	}
	if err != nil {
		return Facts{}, outgrown(storeError(err))
	}
	f := p.Facts
	if !encoding.Plain() {
		f.Object = Object{Encoding: encoding, Size: whole.Size, SHA256: whole.SHA256()}
	}
	if p.again && f.Object.SHA256 != known.sha256 {
		return Facts{}, fmt.Errorf("object has SHA-256 %s, but the verified one had %s: %w", f.Object.SHA256, known.sha256, snapshot.ErrChanged)
	}
	return f, agree(f, m)
}

// agree compares the downloaded snapshot with its manifest.
func agree(f Facts, m *snapshot.Manifest) error {
	if m == nil {
		return nil
	}
	_, plain := m.Plain()
	switch {
	case f.Object.SHA256 != m.SHA256:
		return fmt.Errorf("object has SHA-256 %s, but its manifest states %s: %w", f.Object.SHA256, m.SHA256, dbfile.ErrCorrupt)
	case f.Object.Encoding != m.Encoding():
		return fmt.Errorf("object has the encoding %+v, but its manifest states %+v: %w", f.Object.Encoding, m.Encoding(), dbfile.ErrCorrupt)
	case f.SHA256 != plain:
		return fmt.Errorf("snapshot has SHA-256 %s, but its manifest states %s: %w", f.SHA256, plain, dbfile.ErrCorrupt)
	case f.Revision != m.Revision:
		return fmt.Errorf("object has revision %d, but its manifest states %d: %w", f.Revision, m.Revision, dbfile.ErrCorrupt)
	case f.Keys != m.Keys:
		return fmt.Errorf("object has %d keys, but its manifest states %d: %w", f.Keys, m.Keys, dbfile.ErrCorrupt)
	}
	return nil
}

package dbfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// sector divides the size of every database. etcd also uses this to detect whether a file has a trailer.
const sector = 512

// Trailer verifies the SHA-256 at the end of a snapshot. Write all bytes to it, then call Check.
type Trailer struct {
	size int64
	tail []byte // the last 32 bytes, which may be the trailer
	sum  hash.Hash
}

// NewTrailer returns an empty Trailer.
func NewTrailer() *Trailer {
	return &Trailer{sum: sha256.New(), tail: make([]byte, 0, 2*sha256.Size)}
}

// Write never fails.
func (t *Trailer) Write(p []byte) (int, error) {
	t.size += int64(len(p))
	if len(p) >= sha256.Size {
		t.sum.Write(t.tail)
		t.sum.Write(p[:len(p)-sha256.Size])
		t.tail = append(t.tail[:0], p[len(p)-sha256.Size:]...)
		return len(p), nil
	}
	t.tail = append(t.tail, p...)
	if extra := len(t.tail) - sha256.Size; extra > 0 {
		t.sum.Write(t.tail[:extra])
		t.tail = append(t.tail[:0], t.tail[extra:]...)
	}
	return len(p), nil
}

// Size returns the number of bytes written.
func (t *Trailer) Size() int64 { return t.size }

// Check returns nil if the bytes are a complete snapshot, and otherwise ErrNoTrailer or ErrCorrupt.
func (t *Trailer) Check() error {
	if !hasTrailer(t.size) {
		return fmt.Errorf("%d bytes: %w", t.size, ErrNoTrailer)
	}
	if got := t.sum.Sum(nil); !bytes.Equal(got, t.tail) {
		return fmt.Errorf("the SHA-256 trailer is %x, but the %d bytes before it have %x: %w", t.tail, t.size-sha256.Size, got, ErrCorrupt)
	}
	return nil
}

// SHA256 returns the SHA-256 of all bytes, including the trailer. Do not write after it.
func (t *Trailer) SHA256() [sha256.Size]byte {
	t.sum.Write(t.tail)
	t.tail = t.tail[:0]
	return [sha256.Size]byte(t.sum.Sum(nil))
}

func hasTrailer(size int64) bool {
	return size%sector == sha256.Size && size > sha256.Size
}

// AppendTrailer appends the SHA-256 of a database to its file, as etcd does to a snapshot, and syncs the file.
func AppendTrailer(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("finish the snapshot: %w", err)
	}
	sum := sha256.New()
	if _, err = io.Copy(sum, f); err == nil {
		_, err = f.Write(sum.Sum(nil))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("finish the snapshot %s: %w", path, err)
	}
	return nil
}

package dbfile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
)

// sector is what the size of a database is a multiple of, by which etcd itself
// tells a file with a trailer from one without.
const sector = 512

// Trailer checks the end of a snapshot while its bytes go by: write all of them,
// then ask.
type Trailer struct {
	size int64
	tail []byte // the last 32 bytes, which are not yet known to be content
	sum  hash.Hash
}

// NewTrailer returns a Trailer that has seen nothing.
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

// Size is the number of bytes seen.
func (t *Trailer) Size() int64 { return t.size }

// Check says whether what was seen is a whole snapshot: nil, ErrNoTrailer or
// ErrCorrupt.
func (t *Trailer) Check() error {
	if !hasTrailer(t.size) {
		return fmt.Errorf("%d bytes: %w", t.size, ErrNoTrailer)
	}
	if got := t.sum.Sum(nil); !bytes.Equal(got, t.tail) {
		return fmt.Errorf("SHA-256 trailer says %x, the %d bytes before it have %x: %w", t.tail, t.size-sha256.Size, got, ErrCorrupt)
	}
	return nil
}

// SHA256 is that of everything seen, the trailer included. Nothing may be
// written after it.
func (t *Trailer) SHA256() [sha256.Size]byte {
	t.sum.Write(t.tail)
	t.tail = t.tail[:0]
	return [sha256.Size]byte(t.sum.Sum(nil))
}

func hasTrailer(size int64) bool {
	return size%sector == sha256.Size && size > sha256.Size
}

package snapshot

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// measured is a reader that computes the size and SHA-256 of what was read.
type measured struct {
	io.Reader
	size int64
	sum  hash.Hash // nil if the caller computes the SHA-256 elsewhere
	// most returns how many bytes may be read; may be nil
	most func() int64
}

func newMeasured(r io.Reader) *measured { return &measured{Reader: r, sum: sha256.New()} }

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.sum != nil {
		m.sum.Write(p[:n])
	}
	m.size += int64(n)
	if m.most != nil && m.size > m.most() {
		return n, &bodyError{fmt.Errorf("the object has more than %d bytes, for too little content or more than its store lists: %w", m.most(), dbfile.ErrCorrupt)}
	}
	return n, err
}

// SHA256 returns the SHA-256 in hex digits.
func (m *measured) SHA256() string { return hex.EncodeToString(m.sum.Sum(nil)) }

// The first bytes of encrypted and compressed objects.
const (
	ageMagic = "age-encryption.org/v1\n"
)

// decode returns the snapshot in an object of any encoding. It recognises the encoding by the first bytes, except LZW,
// which it recognises by the name. The error is codec.ErrIdentity if none of the identities decrypts the object.
func decode(ctx context.Context, body io.Reader, name string, identities []byte) (io.Reader, codec.Encoding, error) {
	var found codec.Encoding
	ahead := bufio.NewReaderSize(body, 64<<10)
	if is, err := begins(ahead, ageMagic); err != nil {
		return nil, found, err
	} else if is {
		found.Encryption = codec.Age
		decrypted, err := codec.Decrypt(ctx, ahead, identities)
		switch {
		case errors.Is(err, codec.ErrIdentity), err != nil && ctx.Err() != nil:
			return nil, found, err
		case err != nil:
			return nil, found, undecodable(err)
		}
		ahead = bufio.NewReaderSize(&decoded{"decrypt", decrypted}, 64<<10)
	}
	decompressed, compression, err := decompress(ahead, name)
	if err != nil || compression == "" {
		return ahead, found, err
	}
	found.Compression = compression
	return &decoded{"decompress", decompressed}, found, nil
}

func begins(r *bufio.Reader, magic string) (bool, error) {
	head, err := r.Peek(len(magic))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return string(head) == magic, nil
}

// decoded separates decoding errors, which mean that the object is corrupt, from read errors of the store.
type decoded struct {
	step string
	io.Reader
}

func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = undecodable(fmt.Errorf("%s: %w", d.step, err))
	}
	return n, err
}

type bodyError struct{ err error }

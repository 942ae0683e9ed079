package proof

import (
	"bufio"
	"compress/gzip"
	"compress/lzw"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Compressions of etcd-backup-restore. They are only supported for reading.
const (
	Gzip = "gzip" // RFC 1952
	Zlib = "zlib" // RFC 1950
	LZW  = "lzw"
)

// etcd-backup-restore uses names such as Full-00000000-00000042-1700000000.gz: first and last revision, time and
// compression. The content is a plain snapshot of etcd. Objects named Incr-... only hold changes.
const (
	fullPrefix        = "Full-"
	incrementalPrefix = "Incr-"
	lzwSuffix         = ".Z"
)

// decompress returns the decompressed body and its compression, which is empty for a body that is not compressed. name
// is the object's key. A window that is larger than usual counts to held.
func decompress(body *bufio.Reader, name string, held *objstore.Holding) (plain io.Reader, compression string, err error) {
	head, err := body.Peek(codec.HeaderSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	switch name = path.Base(name); {
	case strings.HasPrefix(string(head), zstdMagic):
		compression = codec.Zstd
		most := codec.WindowOf(head)
		if err := held.Add(most - codec.UsualWindow); err != nil {
			return nil, compression, fmt.Errorf("decompress with a window of %d MiB: %w", most>>20, err)
		}
		plain, err = codec.DecompressAny(body, most)
	case strings.HasPrefix(string(head), gzipMagic):
		compression = Gzip
		plain, err = gzip.NewReader(body)
	case isZlib(head):
		compression = Zlib
		plain, err = zlib.NewReader(body)
	case strings.HasPrefix(name, fullPrefix) && strings.Contains(name, lzwSuffix): // LZW has no magic number
		compression = LZW
		plain, err = lzw.NewReader(body, lzw.LSB, 8), nil
	default:
		return nil, "", nil
	}
	if err != nil {
		return nil, compression, undecodable(fmt.Errorf("begin to decompress %s: %w", compression, err))
	}
	return plain, compression, nil
}

// isZlib reports whether head is a zlib header: deflate with a window of 32 KiB and no dictionary. It cannot be a plain
// database, which begins with zeros.
func isZlib(head []byte) bool {
	return len(head) > 1 && head[0] == 0x78 && head[1]&0x20 == 0 && (int(head[0])<<8|int(head[1]))%31 == 0
}

// incremental reports whether the key names an object that only holds changes.
func incremental(key string) bool { return strings.HasPrefix(path.Base(key), incrementalPrefix) }

const zstdMagic = "\x28\xb5\x2f\xfd"

const gzipMagic = "\x1f\x8b\x08"

func undecodable(err error) error {
	var body *bodyError
	if errors.As(err, &body) || errors.Is(err, dbfile.ErrCorrupt) {
		return err
	}
	return &bodyError{fmt.Errorf("%w: %w", err, dbfile.ErrCorrupt)}
}

// The first bytes of encrypted and compressed objects.
const (
	ageMagic = "age-encryption.org/v1\n"
)

// decode returns the snapshot in an object of any encoding. It recognises the encoding by the first bytes, except LZW,
// which it recognises by the name. The error is codec.ErrIdentity if none of the identities decrypts the object.
// What its decoder takes in memory beyond the usual counts to held until it has ended.
func decode(ctx context.Context, body io.Reader, name string, identities []byte, held *objstore.Holding) (io.Reader, codec.Encoding, error) {
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
		ahead = bufio.NewReaderSize(&decoded{step: "decrypt", Reader: decrypted}, 64<<10)
	}
	decompressed, compression, err := decompress(ahead, name, held)
	if err != nil || compression == "" {
		return ahead, found, err
	}
	found.Compression = compression
	return &decoded{"decompress", decompressed, held}, found, nil
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
	held *objstore.Holding // is released when the decoder has ended; nil if it has none
}

func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil {
		d.held.Release()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = undecodable(fmt.Errorf("%s: %w", d.step, err))
	}
	return n, err
}

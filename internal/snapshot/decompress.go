package snapshot

import (
	"bufio"
	"compress/gzip"
	"compress/lzw"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
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
// is the object's key.
func decompress(body *bufio.Reader, name string) (plain io.Reader, compression string, err error) {
	head, err := body.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	switch name = path.Base(name); {
	case strings.HasPrefix(string(head), zstdMagic):
		compression = codec.Zstd
		plain, err = codec.DecompressAny(body)
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

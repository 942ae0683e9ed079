package snapshot

import (
	"bufio"
	"compress/gzip"
	"compress/lzw"
	"compress/zlib"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Compressions of etcd-backup-restore, which are read here and never written.
const (
	Gzip = "gzip" // RFC 1952
	Zlib = "zlib" // RFC 1950
	LZW  = "lzw"
)

// etcd-backup-restore gives names like Full-00000000-00000042-1700000000.gz, with first and last revision, time and
// compression. What is inside is a plain snapshot of etcd; an Incr-... holds changes only.
const (
	fullPrefix        = "Full-"
	incrementalPrefix = "Incr-"
	lzwSuffix         = ".Z"
)

// decompress yields what is in a body that is compressed, and no compression for one that is not. name is its key's.
func decompress(body *bufio.Reader, name string) (plain io.Reader, compression string, err error) {
	head, err := body.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	switch name = path.Base(name); {
	case strings.HasPrefix(string(head), zstdMagic):
		compression = Zstd
		// It runs in the caller's goroutine, and so needs no Close.
		plain, err = zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	case strings.HasPrefix(string(head), gzipMagic):
		compression = Gzip
		plain, err = gzip.NewReader(body)
	case isZlib(head):
		compression = Zlib
		plain, err = zlib.NewReader(body)
	case strings.HasPrefix(name, fullPrefix) && strings.Contains(name, lzwSuffix): // it has no mark of its own
		compression = LZW
		plain, err = lzw.NewReader(body, lzw.LSB, 8), nil
	default:
		return nil, "", nil
	}
	if err != nil {
		return nil, compression, undecodable("decompress", err)
	}
	return plain, compression, nil
}

// isZlib: a header of deflate with a window of 32 KiB and no dictionary. A database begins with zeros.
func isZlib(head []byte) bool {
	return len(head) > 1 && head[0] == 0x78 && head[1]&0x20 == 0 && (int(head[0])<<8|int(head[1]))%31 == 0
}

// incremental says whether a key is one of changes only.
func incremental(key string) bool { return strings.HasPrefix(path.Base(key), incrementalPrefix) }

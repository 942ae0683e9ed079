package snapshot

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// The values of compression and encryption in a manifest.
const (
	Zstd = "zstd" // RFC 8878
	Age  = "age"  // age-encryption.org/v1
)

// Encoding is how an object encodes a snapshot: compressed first, then encrypted. Both may be empty.
type Encoding struct{ Compression, Encryption string }

// plain reports whether the object is the snapshot itself.
func (e Encoding) plain() bool { return e == Encoding{} }

// Suffix returns what follows ".db" in the key of such an object.
func (e Encoding) Suffix() string {
	suffix := ""
	if e.Compression == Zstd {
		suffix += ".zst"
	}
	if e.Encryption == Age {
		suffix += ".age"
	}
	return suffix
}

// encodings are all supported encodings. The first one is plain.
var encodings = []Encoding{{}, {Compression: Zstd}, {Encryption: Age}, {Compression: Zstd, Encryption: Age}}

// Encoder encodes snapshots as objects. The zero value writes plain objects.
type Encoder struct {
	// Compression is Zstd or empty.
	Compression string
	// Recipients are X25519 public keys of age, "age1...". The identity of any of them decrypts the object. If empty, the
	// object is not encrypted.
	Recipients []string
}

// Encoding returns the encoding of the objects.
func (e Encoder) Encoding() Encoding {
	encoding := Encoding{Compression: e.Compression}
	if len(e.Recipients) > 0 {
		encoding.Encryption = Age
	}
	return encoding
}

// Check returns what is wrong with the encoder's fields.
func (e Encoder) Check() error {
	if e.Compression != "" && e.Compression != Zstd {
		return fmt.Errorf("unknown compression %q: write %s", e.Compression, Zstd)
	}
	_, err := e.recipients()
	return err
}

func (e Encoder) recipients() ([]age.Recipient, error) {
	recipients := make([]age.Recipient, 0, len(e.Recipients))
	for i, text := range e.Recipients {
		recipient, err := age.ParseX25519Recipient(text)
		if err != nil {
			// The error must not contain the text: it may be a secret identity, put there by mistake.
			return nil, fmt.Errorf("recipient %d is not an X25519 public key of age (age1...)", i+1)
		}
		recipients = append(recipients, recipient)
	}
	return recipients, nil
}

// window is how far back zstd refers, in bytes. It limits the memory of compression and decompression.
const window = 1 << 20

// RecipientsOf returns the public keys of age identities, one for each line.
func RecipientsOf(identities []byte) ([]string, error) {
	parsed, err := age.ParseIdentities(bytes.NewReader(identities))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIdentity, err)
	}
	var recipients []string
	for _, identity := range parsed {
		if known, ok := identity.(*age.X25519Identity); ok {
			recipients = append(recipients, known.Recipient().String())
		}
	}
	if len(recipients) == 0 {
		return nil, fmt.Errorf("%w: there is no X25519 identity", ErrIdentity)
	}
	return recipients, nil
}

// encode returns the object's bytes for a snapshot.
func (e Encoder) encode(body io.Reader) (io.Reader, error) {
	if e.Compression == Zstd {
		compressed := &compressor{source: body, chunk: make([]byte, 64<<10)}
		writer, err := zstd.NewWriter(&compressed.out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		compressed.writer = writer
		body = compressed
	}
	if len(e.Recipients) == 0 {
		return body, nil
	}
	recipients, err := e.recipients()
	if err != nil {
		return nil, err
	}
	encrypted, err := age.EncryptReader(body, recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return encrypted, nil
}

// compressor is a reader that compresses its source with zstd.
type compressor struct {
	source io.Reader
	chunk  []byte
	writer *zstd.Encoder
	out    bytes.Buffer
	err    error
}

func (c *compressor) Read(p []byte) (int, error) {
	for c.out.Len() == 0 && c.err == nil {
		n, err := c.source.Read(c.chunk)
		if _, failed := c.writer.Write(c.chunk[:n]); failed != nil {
			err = fmt.Errorf("compress: %w", failed)
		}
		if errors.Is(err, io.EOF) {
			if failed := c.writer.Close(); failed != nil {
				err = fmt.Errorf("compress: %w", failed)
			}
		}
		c.err = err
	}
	if c.err != nil && !errors.Is(c.err, io.EOF) {
		return 0, c.err
	}
	if c.out.Len() > 0 {
		return c.out.Read(p)
	}
	return 0, c.err
}

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
	ageMagic  = "age-encryption.org/v1\n"
	zstdMagic = "\x28\xb5\x2f\xfd"
	gzipMagic = "\x1f\x8b\x08"
)

// decode returns the snapshot in an object of any encoding. It recognises the encoding by the first bytes, except LZW,
// which it recognises by the name. The error is ErrIdentity if none of the identities decrypts the object.
func decode(body io.Reader, name string, identities []byte) (io.Reader, Encoding, error) {
	var found Encoding
	ahead := bufio.NewReaderSize(body, 64<<10)
	if is, err := begins(ahead, ageMagic); err != nil {
		return nil, found, err
	} else if is {
		found.Encryption = Age
		decrypted, err := decrypt(ahead, identities)
		if err != nil {
			return nil, found, err
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

// maxWindow limits the memory for decompression. It is half of what the zstd tool accepts by default, and no tool writes
// larger windows by default.
const maxWindow = 64 << 20

func begins(r *bufio.Reader, magic string) (bool, error) {
	head, err := r.Peek(len(magic))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return string(head) == magic, nil
}

func decrypt(body io.Reader, identities []byte) (io.Reader, error) {
	if len(bytes.TrimSpace(identities)) == 0 {
		return nil, fmt.Errorf("%w: no identity is given", ErrIdentity)
	}
	parsed, err := age.ParseIdentities(bytes.NewReader(identities))
	if err != nil {
		return nil, fmt.Errorf("%w: the given text has no age identities (lines of AGE-SECRET-KEY-1...)", ErrIdentity)
	}
	decrypted, err := age.Decrypt(body, parsed...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, fmt.Errorf("%w: it is encrypted for other recipients", ErrIdentity)
	}
	if err != nil {
		return nil, undecodable("decrypt", err)
	}
	return decrypted, nil
}

// decoded separates decoding errors, which mean that the object is corrupt, from read errors of the store.
type decoded struct {
	step string
	io.Reader
}

func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = undecodable(d.step, err)
	}
	return n, err
}

func undecodable(step string, err error) error {
	var body *bodyError
	if errors.As(err, &body) || errors.Is(err, dbfile.ErrCorrupt) {
		return err
	}
	return &bodyError{fmt.Errorf("%s: %w: %w", step, err, dbfile.ErrCorrupt)}
}

// Package codec compresses and encrypts objects, and reads them back: snapshots, and the records of segments. An object is first
// compressed with zstd and then encrypted with age. It knows neither stores nor formats of objects.
package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// The compression and the encryption that the operators write.
const (
	Zstd = "zstd" // RFC 8878
	Age  = "age"  // age-encryption.org/v1
)

// window is how far back zstd refers, in bytes. It limits the memory of compression and decompression.
const window = 1 << 20

// ErrIdentity means that an object is encrypted and none of the given identities decrypts it.
var ErrIdentity error = objstore.ContentError("no age identity decrypts the object")

// Encoding is how an object is encoded: compressed first, then encrypted. Both may be empty.
type Encoding struct{ Compression, Encryption string }

// encodings are all that the operators write.
var encodings = []Encoding{{}, {Compression: Zstd}, {Encryption: Age}, {Compression: Zstd, Encryption: Age}}

// Known reports whether this version writes objects of the encoding, and so can read them.
func (e Encoding) Known() bool { return slices.Contains(encodings, e) }

// Plain reports whether the object is the content itself.
func (e Encoding) Plain() bool { return e == Encoding{} }

// Suffix returns what follows ".db" in the key of a snapshot of this encoding.
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

// ParseSuffix returns the encoding that a suffix names. It returns false for any other text.
func ParseSuffix(suffix string) (Encoding, bool) {
	for _, e := range encodings {
		if e.Suffix() == suffix {
			return e, true
		}
	}
	return Encoding{}, false
}

// Encoder encodes objects. The zero value writes plain objects.
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

// Encode returns the object's bytes for a content.
func (e Encoder) Encode(content io.Reader) (io.Reader, error) {
	if e.Compression == Zstd {
		compressed := &compressor{source: content, chunk: make([]byte, 64<<10)}
		writer, err := zstd.NewWriter(&compressed.out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		compressed.writer = writer
		content = compressed
	}
	if len(e.Recipients) == 0 {
		return content, nil
	}
	recipients, err := e.recipients()
	if err != nil {
		return nil, err
	}
	encrypted, err := age.EncryptReader(content, recipients...)
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

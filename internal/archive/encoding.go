package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// The values of compression and encryption in a header.
const (
	Zstd = "zstd" // RFC 8878
	Age  = "age"  // age-encryption.org/v1
)

// window is how far back zstd refers, in bytes. It limits the memory of compression and decompression.
const window = 1 << 20

// Encoder encodes the records of segments: compressed first, then encrypted. The zero value writes them plainly.
type Encoder struct {
	// Compression is Zstd or empty.
	Compression string
	// Recipients are X25519 public keys of age. The identity of any of them decrypts the records. If empty, they are not
	// encrypted.
	Recipients []string
}

func (e Encoder) encryption() string {
	if len(e.Recipients) > 0 {
		return Age
	}
	return ""
}

// encode writes the encoded records of body to w.
func (e Encoder) encode(w io.Writer, body io.Reader) error {
	var closers []io.Closer
	if len(e.Recipients) > 0 {
		recipients := make([]age.Recipient, 0, len(e.Recipients))
		for i, text := range e.Recipients {
			recipient, err := age.ParseX25519Recipient(text)
			if err != nil {
				// The error must not contain the text: it may be a secret identity, put there by mistake.
				return fmt.Errorf("recipient %d is not an X25519 public key of age (age1...)", i+1)
			}
			recipients = append(recipients, recipient)
		}
		encrypted, err := age.Encrypt(w, recipients...)
		if err != nil {
			return fmt.Errorf("encrypt: %w", err)
		}
		w, closers = encrypted, append(closers, encrypted)
	}
	if e.Compression == Zstd {
		compressed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return fmt.Errorf("compress: %w", err)
		}
		w, closers = compressed, append(closers, compressed)
	}
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	for i := len(closers) - 1; i >= 0; i-- { // the outer one first
		if err := closers[i].Close(); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	}
	return nil
}

// decode returns the records of a segment.
func decode(body io.Reader, h Header, identities []byte) (io.Reader, error) {
	switch h.Encryption {
	case "":
	case Age:
		decrypted, err := decrypt(body, identities)
		if err != nil {
			return nil, err
		}
		body = decrypted
	default:
		return nil, fmt.Errorf("%w: the encryption %q is not known", ErrNewerFormat, h.Encryption)
	}
	switch h.Compression {
	case "":
		return body, nil
	case Zstd:
		// With a concurrency of 1 the decoder starts no goroutine, so it needs no Close.
		plain, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, fmt.Errorf("%w: decompress: %w", ErrCorrupt, err)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w: the compression %q is not known", ErrNewerFormat, h.Compression)
}

func decrypt(body io.Reader, identities []byte) (io.Reader, error) {
	if len(bytes.TrimSpace(identities)) == 0 {
		return nil, fmt.Errorf("%w: no identity is given", ErrIdentity)
	}
	parsed, err := age.ParseIdentities(bytes.NewReader(identities))
	if err != nil {
		return nil, fmt.Errorf("%w: the given text has no age identities (lines of AGE-SECRET-KEY-1...)", ErrIdentity)
	}
	plain, err := age.Decrypt(body, parsed...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, fmt.Errorf("%w: it is encrypted for other recipients", ErrIdentity)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: decrypt: %w", ErrCorrupt, err)
	}
	return plain, nil
}

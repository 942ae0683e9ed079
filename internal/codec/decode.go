package codec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// maxIdentities is how many secret keys are tried. Each is tried with each of the 1024 recipients that an object may have, which takes 100 ms.
const maxIdentities = 64

// Decrypt returns the content of an object that is encrypted with age. identities has one secret key in each line. The error is
// ErrIdentity if none of them decrypts the object. If the context ends first, it is the cause of that. Any other error is about the object.
func Decrypt(ctx context.Context, object io.Reader, identities []byte) (io.Reader, error) {
	if len(bytes.TrimSpace(identities)) == 0 {
		return nil, fmt.Errorf("%w: no identity is given", ErrIdentity)
	}
	parsed, err := parse(identities)
	if err != nil {
		return nil, err
	}
	for i, identity := range parsed {
		parsed[i] = ending{ctx, identity}
	}
	content, err := age.Decrypt(object, parsed...)
	var none *age.NoIdentityMatchError
	switch {
	case err == nil:
		return content, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("decrypt: %w", context.Cause(ctx))
	case errors.As(err, &none):
		return nil, fmt.Errorf("%w: it is encrypted for other recipients", ErrIdentity)
	}
	return nil, fmt.Errorf("decrypt: %w", short{legible.Short(err.Error(), maxError), err})
}

// parse returns age identities, of which there is one in each line.
func parse(identities []byte) ([]age.Identity, error) {
	if lines := bytes.Count(identities, []byte("AGE-SECRET-KEY-")); lines > maxIdentities {
		return nil, fmt.Errorf("%w: the given text has %d age identities, and at most %d are tried. Remove those that no snapshot needs", ErrIdentity, lines, maxIdentities)
	}
	parsed, err := age.ParseIdentities(bytes.NewReader(identities))
	if err != nil {
		return nil, fmt.Errorf("%w: the given text has no age identities (lines of AGE-SECRET-KEY-1...)", ErrIdentity)
	}
	return parsed, nil
}

// ending is an identity that is not tried after the context has ended.
type ending struct {
	ctx context.Context //nolint:containedctx // age has no parameter for it
	age.Identity
}

func (e ending) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if e.ctx.Err() != nil {
		return nil, context.Cause(e.ctx)
	}
	return e.Identity.Unwrap(stanzas)
}

// maxError is how many bytes of an error of age are shown. age repeats a line of the header, which may have 4 MiB.
const maxError = 500

// short is an error with a short text.
type short struct {
	text string
	error
}

func (s short) Error() string { return s.text }
func (s short) Unwrap() error { return s.error }

// Decompress returns the content of an object that an operator has compressed with zstd. What refers back further than the operators
// write is refused, because it needs more memory.
func Decompress(object io.Reader) (io.Reader, error) { return decompress(object, window) }

const (
	// maxWindow limits the memory for decompression. It is half of what the zstd tool accepts by default, and no tool writes
	// larger windows by default.
	maxWindow = 64 << 20
	// UsualWindow is the largest one of the levels of the zstd tool up to 19.
	UsualWindow = 8 << 20
)

// WindowOf returns how far back the first frame of a zstd object refers, in bytes, but at least UsualWindow. head is its beginning.
func WindowOf(head []byte) int64 {
	var first zstd.Header
	if err := first.Decode(head); err != nil {
		return UsualWindow // the decoder returns what is wrong
	}
	return int64(min(max(first.WindowSize, UsualWindow), maxWindow))
}

// HeaderSize is how many bytes WindowOf needs.
const HeaderSize = zstd.HeaderMaxSize

// DecompressAny returns the content of an object that any program may have compressed with zstd, and that refers back so many bytes at most. It needs
// as much memory until it returns an error, for example io.EOF.
func DecompressAny(object io.Reader, most int64) (io.Reader, error) {
	return decompress(object, uint64(min(most, maxWindow)))
}

// decompress starts no goroutine, because the decoder has a concurrency of 1. So it needs no Close.
func decompress(object io.Reader, most uint64) (io.Reader, error) {
	content, err := zstd.NewReader(object, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(most))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return &decompressed{decoder: content}, nil
}

// decompressed drops its decoder after an error. The caller may keep the reader for long after the end of the content.
type decompressed struct {
	decoder *zstd.Decoder
	err     error
}

func (d *decompressed) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.decoder.Read(p)
	if d.err = err; err != nil {
		d.decoder.Close()
		d.decoder = nil
	}
	return n, err
}

// RecipientsOf returns the public keys of age identities, one for each line.
func RecipientsOf(identities []byte) ([]string, error) {
	parsed, err := parse(identities)
	if err != nil {
		return nil, err
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

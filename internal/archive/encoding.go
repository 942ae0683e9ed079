package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/codec"
)

// decode returns the records of a segment.
func decode(ctx context.Context, body io.Reader, h Header, identities []byte) (io.Reader, error) {
	switch h.Encryption {
	case "":
	case codec.Age:
		decrypted, err := codec.Decrypt(ctx, body, identities)
		switch {
		case errors.Is(err, codec.ErrIdentity), err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		body = decrypted
	default:
		return nil, fmt.Errorf("%w: the encryption %q is not known", ErrNewerFormat, h.Encryption)
	}
	switch h.Compression {
	case "":
		return body, nil
	case codec.Zstd:
		plain, err := codec.Decompress(body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w: the compression %q is not known", ErrNewerFormat, h.Compression)
}

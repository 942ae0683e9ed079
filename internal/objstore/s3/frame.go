package s3

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// trailing says that the body is a frame around size bytes.
func trailing(size int64) []func(*middleware.Stack) error {
	const hash = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
	unsigned := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(v4.SetPayloadHash(ctx, hash), in)
	}
	return []func(*middleware.Stack) error{
		smithyhttp.SetHeaderValue("X-Amz-Decoded-Content-Length", strconv.FormatInt(size, 10)),
		smithyhttp.SetHeaderValue("X-Amz-Trailer", trailer),
		func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("TrailingChecksum", unsigned), middleware.After)
		},
	}
}

const trailer = "x-amz-checksum-crc32"

// chunkSize of what is framed: stores want 8 KiB at least, and MinIO takes 16 MiB at most.
const chunkSize = 1 << 20

// frame is a body in chunks, and what S3 wants after them.
type frame struct {
	content *live
	offset  int64
	piece   io.Reader // of the frame, that is being sent
	ended   bool
}

// newFrame returns a body's, and how long it will be.
func newFrame(ctx context.Context, t *tape) (f *frame, length int64) {
	f = &frame{content: &live{ctx: ctx, tape: t}, piece: strings.NewReader("")}
	full, rest := t.size/chunkSize, t.size%chunkSize
	length = full*int64(len(chunkHead(chunkSize))+chunkSize+len(crlf)) + int64(len(f.end()))
	if rest > 0 {
		length += int64(len(chunkHead(rest))) + rest + int64(len(crlf))
	}
	return f, length
}

func chunkHead(chunk int64) string { return strconv.FormatInt(chunk, 16) + crlf }

const crlf = "\r\n"

// end is good when all of the content has been read; its length always is.
func (f *frame) end() string {
	sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, f.content.sum))
	return chunkHead(0) + trailer + ":" + sum + crlf + crlf
}

func (f *frame) Read(p []byte) (int, error) {
	for {
		n, err := f.piece.Read(p)
		if n > 0 || err == nil || !errors.Is(err, io.EOF) || f.ended {
			return n, err
		}
		f.next()
	}
}

func (f *frame) next() {
	n := min(chunkSize, f.content.tape.size-f.offset)
	if f.ended = n == 0; f.ended {
		f.piece = strings.NewReader(f.end())
		return
	}
	f.offset += n
	f.piece = io.MultiReader(strings.NewReader(chunkHead(n)), io.LimitReader(f.content, n), strings.NewReader(crlf))
}

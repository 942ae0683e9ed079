package s3

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// trailing adds the headers of a body in aws-chunked encoding with size bytes of content and a trailing checksum.
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

// chunkSize is the size of a chunk's content. Stores require at least 8 KiB, and MinIO accepts at most 16 MiB.
const chunkSize = 1 << 20

// chunkedBody is a body in S3's aws-chunked encoding: chunks of the content, and a trailer with its checksum.
type chunkedBody struct {
	content *sequentialReader
	offset  int64
	piece   io.Reader // the encoded bytes that are being sent
	ended   bool
}

// newChunkedBody returns the encoded body and its length.
func newChunkedBody(ctx context.Context, t *replayableBody, patience time.Duration) (f *chunkedBody, length int64) {
	f = &chunkedBody{content: &sequentialReader{ctx: ctx, replayable: t, patience: patience}, piece: strings.NewReader("")}
	full, rest := t.size/chunkSize, t.size%chunkSize
	length = full*int64(len(chunkHead(chunkSize))+chunkSize+len(crlf)) + int64(len(f.end()))
	if rest > 0 {
		length += int64(len(chunkHead(rest))) + rest + int64(len(crlf))
	}
	return f, length
}

func chunkHead(chunk int64) string { return strconv.FormatInt(chunk, 16) + crlf }

const crlf = "\r\n"

// end returns the last chunk and the trailer. Its length is constant; its checksum is right once all content was read.
func (f *chunkedBody) end() string {
	sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, f.content.sum))
	return chunkHead(0) + trailer + ":" + sum + crlf + crlf
}

func (f *chunkedBody) Read(p []byte) (int, error) {
	for {
		n, err := f.piece.Read(p)
		if n > 0 || err == nil || !errors.Is(err, io.EOF) || f.ended {
			return n, err
		}
		f.next()
	}
}

func (f *chunkedBody) next() {
	n := min(chunkSize, f.content.replayable.size-f.offset)
	if f.ended = n == 0; f.ended {
		f.piece = strings.NewReader(f.end())
		return
	}
	f.offset += n
	f.piece = io.MultiReader(strings.NewReader(chunkHead(n)), io.LimitReader(f.content, n), strings.NewReader(crlf))
}

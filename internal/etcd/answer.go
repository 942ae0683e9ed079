package etcd

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// maxAnswer limits each answer that is no stream: the status, the membership, a revision, a token. They have some KiB: 26 KiB for eight
// members with the longest names and ten long URLs each. Decoded, empty entries take about 100 times as much.
const maxAnswer = 64 << 10

// errTooLong replaces the error of gRPC, which has another number each time.
var errTooLong = status.Error(codes.ResourceExhausted, fmt.Sprintf("the answer is longer than %d KiB, which is not an answer of etcd", maxAnswer>>10))

// maxHeaders limits the headers of each answer, in bytes. Those of etcd have some hundred. gRPC allows 16 MiB by default.
const maxHeaders = 64 << 10

// ShortAnswers are the options of a connection that limit the headers of answers, and answers that are no stream. A call with a longer answer
// fails, and is not repeated.
func ShortAnswers() []grpc.DialOption {
	short := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		limit := answerLimit(ctx)
		err := call(ctx, method, req, reply, conn, append(opts[:len(opts):len(opts)], grpc.MaxCallRecvMsgSize(limit))...)
		if tooLong(err, limit) {
			return errTooLong
		}
		return err
	})
	return []grpc.DialOption{short, grpc.WithMaxHeaderListSize(maxHeaders)}
}

// tooLong reports whether gRPC has refused an answer because it is longer than this limit of its call, in bytes. A server refuses a request with the same
// words, but by another limit.
func tooLong(err error, limit int) bool {
	text := status.Convert(err).Message()
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(text, "larger than max") && strings.HasSuffix(strings.TrimSuffix(text, ")"), fmt.Sprintf(" %d", limit))
}

// chunk holds the two fields of an etcdserverpb.SnapshotResponse that are used here. Its blob is not copied: it is valid
// until the next message.
type chunk struct {
	buffer    mem.Buffer
	remaining uint64 // bytes of the database after this message
	blob      []byte
}

// The field numbers of etcd's rpc.proto.
const (
	fieldRemaining protowire.Number = 2
	fieldBlob      protowire.Number = 3
)

// unmarshal reads a message and releases the previous one.
func (c *chunk) unmarshal(message mem.Buffer) error {
	if c.buffer != nil {
		c.buffer.Free()
	}
	*c = chunk{buffer: message}
	for rest := message.ReadOnlyData(); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return fmt.Errorf("unmarshal snapshot chunk: %w", protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(number, kind, rest[n:])
		if size < 0 {
			return fmt.Errorf("unmarshal snapshot chunk: %w", protowire.ParseError(size))
		}
		switch field := rest[n : n+size]; {
		case number == fieldRemaining && kind == protowire.VarintType:
			c.remaining, _ = protowire.ConsumeVarint(field)
		case number == fieldBlob && kind == protowire.BytesType:
			c.blob, _ = protowire.ConsumeBytes(field)
		}
		rest = rest[n+size:]
	}
	return nil
}

// codec is gRPC's protobuf codec with buffers that fit a chunk of a snapshot. etcd sends a little more than 32 KiB, for
// which gRPC's default pool allocates and clears 1 MiB. That took a fifth of the time of a save.
type codec struct {
	encoding.CodecV2
	pool mem.BufferPool
}

// chunkSize is enough for 32 KiB and the fields of the message around them.
const chunkSize = 33 << 10

func newCodec() codec {
	return codec{encoding.GetCodecV2(encodingproto.Name), mem.NewTieredBufferPool(256, 4<<10, chunkSize, 1<<20)}
}

// Unmarshal copies what the message keeps, as generated code does. Only a chunk keeps the buffer itself.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if chunk, ok := v.(*chunk); ok {
		return chunk.unmarshal(data.MaterializeToBuffer(c.pool))
	}
	if answer, ok := v.(interface{ unmarshal([]byte) error }); ok {
		buffer := data.MaterializeToBuffer(c.pool)
		defer buffer.Free()
		return answer.unmarshal(buffer.ReadOnlyData())
	}
	message, ok := v.(proto.Message)
	if old, isOld := v.(protoadapt.MessageV1); !ok && isOld {
		message, ok = protoadapt.MessageV2Of(old), true
	}
	if !ok {
		return fmt.Errorf("unmarshal: %T is not a protobuf message", v)
	}
	buffer := data.MaterializeToBuffer(c.pool)
	defer buffer.Free()
	return proto.Unmarshal(buffer.ReadOnlyData(), message)
}

// MaxPage is how many bytes a page of keys may have, and SmallPage how many it may have without a turn. Each value of etcd has 1.5 MiB at most by default.
const MaxPage, SmallPage = 16 << 20, 2 << 20

// longAnswers marks a call whose answer has keys and values.
type longAnswers struct{}

// answerLimit returns how many bytes the answer of a call may have.
func answerLimit(ctx context.Context) int {
	if limit, is := ctx.Value(longAnswers{}).(int); is {
		return limit
	}
	return maxAnswer
}

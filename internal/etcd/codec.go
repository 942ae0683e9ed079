package etcd

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// codec is gRPC's for protobuf with a buffer that fits a chunk of a snapshot. etcd sends 32 KiB and a few bytes, for
// which gRPC's own pool takes, and clears, 1 MiB: that was a fifth of what a save costs.
type codec struct {
	encoding.CodecV2
	pool mem.BufferPool
}

// chunkSize holds 32 KiB and what the message adds to it.
const chunkSize = 33 << 10

func newCodec() codec {
	return codec{encoding.GetCodecV2(encodingproto.Name), mem.NewTieredBufferPool(256, 4<<10, chunkSize, 1<<20)}
}

// Unmarshal copies what it keeps, as the generated code does with bytes; only a chunk keeps the buffer itself.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if chunk, ok := v.(*chunk); ok {
		return chunk.take(data.MaterializeToBuffer(c.pool))
	}
	message, ok := v.(proto.Message)
	if old, isOld := v.(protoadapt.MessageV1); !ok && isOld {
		message, ok = protoadapt.MessageV2Of(old), true
	}
	if !ok {
		return fmt.Errorf("unmarshal: %T is no message", v)
	}
	buffer := data.MaterializeToBuffer(c.pool)
	defer buffer.Free()
	return proto.Unmarshal(buffer.ReadOnlyData(), message)
}

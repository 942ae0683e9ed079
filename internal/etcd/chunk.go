package etcd

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

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

package watch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// An event of 11 bytes takes 20 times as much when it is decoded. So at most maxEvents of a message are decoded at a time, and no further
	// one after maxEventBytes. The rest of the message is held as it was received.
	maxEvents     = 1000
	maxEventBytes = 1 << 20
	// maxOuter limits what a message has beside its events: a header, IDs and a reason.
	maxOuter = 64 << 10
	// fieldEvents is the field of the events in etcd's WatchResponse.
	fieldEvents protowire.Number = 11
)

var (
	errNotUnderstood = errors.New("a message cannot be understood, so it is not from etcd or was damaged on the way")
	errNoEvent       = errors.New("an event has no key or no revision, so it is not from etcd")
)

// codec leaves a message as it was received.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(encodingproto.Name)} }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(*message); ok {
		*m = message{all: data.Reader(), left: data.Reader(), buffer: m.buffer}
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// message is a message of a watch. Its bytes are freed as its events are read.
type message struct {
	all    *mem.Reader
	left   *mem.Reader
	events int // that are left
	buffer []byte
}

// outer counts the events, and returns the message without them.
func (m *message) outer() (*pb.WatchResponse, error) {
	var rest []byte
	for m.all.Remaining() > 0 {
		f, err := readField(m.all)
		switch {
		case err != nil:
			return nil, err
		case f.isEvent():
			m.events++
			_, err = m.all.Discard(f.size)
		case len(rest)+f.size > maxOuter:
			err = fmt.Errorf("%w: it has more than %d KiB beside its events", errNotUnderstood, maxOuter>>10)
		default:
			rest, err = f.appendTo(rest, m.all)
		}
		if err != nil {
			return nil, err
		}
	}
	response := &pb.WatchResponse{}
	if err := proto.Unmarshal(rest, response); err != nil {
		return nil, errNotUnderstood
	}
	return response, nil
}

// next decodes some of the events that are left.
func (m *message) next() (events []*mvccpb.Event, err error) {
	for read := 0; m.events > 0 && len(events) < maxEvents && read < maxEventBytes; {
		f, err := readField(m.left)
		if err != nil {
			return nil, err
		}
		if !f.isEvent() {
			if _, err := m.left.Discard(f.size); err != nil {
				return nil, errNotUnderstood
			}
			continue
		}
		event, err := m.event(f.size)
		if err != nil {
			return nil, err
		}
		events, read = append(events, event), read+f.size
		m.events--
	}
	return events, nil
}

// event decodes the next event, which has size bytes.
func (m *message) event(size int) (*mvccpb.Event, error) {
	const kept = 64 << 10
	b := m.buffer
	if size > cap(b) {
		b = make([]byte, size)
	}
	b = b[:size]
	if cap(b) <= kept {
		m.buffer = b
	}
	if _, err := io.ReadFull(m.left, b); err != nil {
		return nil, errNotUnderstood
	}
	event := &mvccpb.Event{}
	if err := proto.Unmarshal(b, event); err != nil {
		return nil, errNotUnderstood
	}
	if len(event.GetKv().GetKey()) == 0 || event.GetKv().GetModRevision() <= 0 {
		return nil, errNoEvent
	}
	return event, nil
}

// field is the beginning of a field: a varint, or size bytes that follow.
type field struct {
	number protowire.Number
	kind   protowire.Type
	varint uint64
	size   int
}

func readField(r *mem.Reader) (f field, err error) {
	tag, err := binary.ReadUvarint(r)
	if err != nil {
		return f, errNotUnderstood
	}
	switch f.number, f.kind = protowire.DecodeTag(tag); f.kind {
	case protowire.VarintType:
		f.varint, err = binary.ReadUvarint(r)
	case protowire.Fixed32Type:
		f.size = 4
	case protowire.Fixed64Type:
		f.size = 8
	case protowire.BytesType:
		var size uint64
		if size, err = binary.ReadUvarint(r); size > uint64(r.Remaining()) {
			err = errNotUnderstood
		}
		f.size = int(min(size, maxMessage))
	default:
		err = errNotUnderstood
	}
	if err != nil || f.number < 1 || f.size > r.Remaining() {
		return f, errNotUnderstood
	}
	return f, nil
}

func (f field) isEvent() bool { return f.number == fieldEvents && f.kind == protowire.BytesType }

// appendTo copies the field from r to the end of b.
func (f field) appendTo(b []byte, r *mem.Reader) ([]byte, error) {
	b = protowire.AppendTag(b, f.number, f.kind)
	switch f.kind {
	case protowire.VarintType:
		return protowire.AppendVarint(b, f.varint), nil
	case protowire.BytesType:
		b = protowire.AppendVarint(b, uint64(f.size))
	}
	at := len(b)
	b = append(b, make([]byte, f.size)...)
	if _, err := io.ReadFull(r, b[at:]); err != nil {
		return nil, errNotUnderstood
	}
	return b, nil
}

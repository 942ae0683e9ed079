package watch

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
)

const (
	// An event of 11 bytes takes 20 times as much when it is decoded. So at most maxEvents of a message are decoded at a time, and no further
	// one after maxEventBytes. The rest of the message is not read yet, so that its sender waits.
	maxEvents     = 500
	maxEventBytes = 128 << 10
	// maxOuter limits what a message has beside its events: a header, IDs and a reason.
	maxOuter = 64 << 10
	// fieldEvents is the field of the events in etcd's WatchResponse. etcd sends all fields with smaller numbers before them.
	fieldEvents protowire.Number = 11
	// prefixSize is that of a message in gRPC: whether it is compressed, and its length.
	prefixSize = 5
)

var (
	errNotUnderstood = errors.New("a message cannot be understood, so it is not from etcd or was damaged on the way")
	errNoEvent       = errors.New("an event has no key or no revision, so it is not from etcd")
	errTooLarge      = fmt.Errorf("a change is larger than %d MiB, which the operator does not hold in memory: lower --max-request-bytes of etcd", maxEvent>>20)
)

// messages reads messages of a watch as they arrive. It holds some events, and never a whole message.
type messages struct {
	body *bufio.Reader
	left int64 // bytes of the present message
	// event is the size of the next event, whose beginning was read. It is 0 if that is not known.
	event  int
	buffer []byte
}

func newMessages(body io.Reader) *messages { return &messages{body: bufio.NewReaderSize(body, 32<<10)} }

// begin reads the next message up to its first event, and returns it without its events.
func (m *messages) begin() (*pb.WatchResponse, error) {
	var prefix [prefixSize]byte
	if _, err := io.ReadFull(m.body, prefix[:]); err != nil {
		return nil, err
	}
	if m.left = int64(binary.BigEndian.Uint32(prefix[1:])); prefix[0] != 0 {
		return nil, errNotUnderstood // the operator accepts no compression
	}
	var rest []byte
	for m.left > 0 && m.event == 0 {
		f, err := m.field()
		switch {
		case err != nil:
			return nil, err
		case f.isEvent():
			m.event = f.size
		case len(rest)+f.size > maxOuter:
			return nil, fmt.Errorf("%w: it has more than %d KiB beside its events", errNotUnderstood, maxOuter>>10)
		default:
			if rest, err = m.appendTo(rest, f); err != nil {
				return nil, err
			}
		}
	}
	response := &pb.WatchResponse{}
	if err := proto.Unmarshal(rest, response); err != nil {
		return nil, errNotUnderstood
	}
	return response, nil
}

// more reports whether the present message has events that were not read, or other fields.
func (m *messages) more() bool { return m.left > 0 || m.event > 0 }

// next decodes some of the events that are left. An event of more than maxEventBytes is alone, and its memory is admitted first.
func (m *messages) next(admit func(bytes int64) error) (events []*mvccpb.Event, err error) {
	for read := 0; m.more() && len(events) < maxEvents && read < maxEventBytes; {
		if m.event == 0 {
			f, err := m.field()
			if err != nil {
				return nil, err
			}
			if m.event = f.size; !f.isEvent() {
				m.event = 0
				if err := m.skip(f); err != nil {
					return nil, err
				}
				continue
			}
		}
		if m.event > maxEventBytes {
			if len(events) > 0 {
				break
			}
			if err := admit(int64(m.event)); err != nil {
				return nil, err
			}
		}
		read += m.event
		event, err := m.decode()
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// skip passes over a field after the events. It must not be one that the operator reads.
func (m *messages) skip(f field) error {
	if f.number < fieldEvents || f.size > maxOuter {
		return errNotUnderstood
	}
	_, err := m.body.Discard(f.size)
	m.left -= int64(f.size)
	return err
}

// decode reads and decodes the next event.
func (m *messages) decode() (*mvccpb.Event, error) {
	const kept = 64 << 10
	size, b := m.event, m.buffer
	if size > cap(b) {
		b = make([]byte, size)
	}
	b = b[:size]
	if cap(b) <= kept {
		m.buffer = b
	}
	if _, err := io.ReadFull(m.body, b); err != nil {
		return nil, err
	}
	m.left, m.event = m.left-int64(size), 0
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

func (f field) isEvent() bool { return f.number == fieldEvents && f.kind == protowire.BytesType }

// field reads the beginning of a field of the present message.
func (m *messages) field() (f field, err error) {
	tag, err := m.varint()
	if err != nil {
		return f, err
	}
	switch f.number, f.kind = protowire.DecodeTag(tag); f.kind {
	case protowire.VarintType:
		f.varint, err = m.varint()
	case protowire.Fixed32Type:
		f.size = 4
	case protowire.Fixed64Type:
		f.size = 8
	case protowire.BytesType:
		var size uint64
		if size, err = m.varint(); err == nil && size > uint64(max(m.left, 0)) {
			err = errNotUnderstood
		}
		f.size = int(min(size, maxEvent+1)) // no int is that small
	default:
		err = errNotUnderstood
	}
	switch {
	case err != nil:
		return f, err
	case f.number < 1, int64(f.size) > m.left:
		return f, errNotUnderstood
	case f.isEvent() && f.size == 0:
		return f, errNoEvent
	case f.isEvent() && f.size > maxEvent:
		return f, errTooLarge
	}
	return f, nil
}

// varint reads a number of the present message.
func (m *messages) varint() (n uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		if m.left <= 0 {
			return 0, errNotUnderstood
		}
		b, err := m.body.ReadByte()
		m.left--
		if n |= uint64(b&0x7f) << shift; err != nil || b < 0x80 {
			return n, err
		}
	}
	return 0, errNotUnderstood
}

// appendTo copies a field to the end of b.
func (m *messages) appendTo(b []byte, f field) ([]byte, error) {
	b = protowire.AppendTag(b, f.number, f.kind)
	switch f.kind {
	case protowire.VarintType:
		return protowire.AppendVarint(b, f.varint), nil
	case protowire.BytesType:
		b = protowire.AppendVarint(b, uint64(f.size))
	}
	at := len(b)
	b = append(b, make([]byte, f.size)...)
	_, err := io.ReadFull(m.body, b[at:])
	m.left -= int64(f.size)
	return b, err
}

// maxEvent is the largest change. It is as large as the largest request that etcd accepts (--max-request-bytes), of which etcd advises no
// more than 10 MiB.
const maxEvent = 64 << 20

// copies are how often a change is in memory: as it was received, as it was decoded, and as it is written.
const copies = 3

// headOf returns what a header says. A server that is not etcd may send none.
func headOf(header *pb.ResponseHeader) archiver.Head {
	return archiver.Head{ClusterID: header.GetClusterId(), Revision: header.GetRevision()}
}

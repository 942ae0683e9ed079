package archive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// A record is: length of the body (uvarint), CRC-32 (Castagnoli) of the body (4 bytes, little endian), body. The first byte
// of the body is the kind. An event follows as an mvccpb.KeyValue; a lease as two varints, its ID and its TTL.
const (
	recordPut    byte = 'P'
	recordDelete byte = 'D'
	recordLease  byte = 'L'
)

// maxRecord limits a record. etcd limits a request to 1.5 MiB by default.
const maxRecord = 512 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Lease is the TTL in seconds that a lease was granted with.
type Lease struct{ ID, TTL int64 }

func appendEvent(to []byte, event *mvccpb.Event) ([]byte, error) {
	body := []byte{recordPut}
	if event.Type == mvccpb.Event_DELETE {
		body[0] = recordDelete
	}
	body, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(body, event.Kv)
	if err != nil {
		return nil, fmt.Errorf("marshal an event of revision %d: %w", event.Kv.ModRevision, err)
	}
	return appendRecord(to, body), nil
}

func appendLease(to []byte, l Lease) []byte {
	body := binary.AppendVarint([]byte{recordLease}, l.ID)
	return appendRecord(to, binary.AppendVarint(body, l.TTL))
}

func appendRecord(to, body []byte) []byte {
	to = binary.AppendUvarint(to, uint64(len(body)))
	to = binary.LittleEndian.AppendUint32(to, crc32.Checksum(body, castagnoli))
	return append(to, body...)
}

// record is either an event or a lease.
type record struct {
	event *mvccpb.Event
	lease Lease
}

// readRecord returns io.EOF only before a record.
func readRecord(r *bufio.Reader) (record, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return record{}, err // io.EOF before the first byte, and otherwise io.ErrUnexpectedEOF
	}
	if size == 0 || size > maxRecord {
		return record{}, fmt.Errorf("%w: a record has %d bytes", ErrCorrupt, size)
	}
	var sum [4]byte
	if _, err := io.ReadFull(r, sum[:]); err != nil {
		return record{}, unexpected(err)
	}
	body, err := readBody(r, int64(size)) // at most maxRecord
	if err != nil {
		return record{}, err
	}
	if want, got := binary.LittleEndian.Uint32(sum[:]), crc32.Checksum(body, castagnoli); got != want {
		return record{}, fmt.Errorf("%w: a record has the checksum %08x, want %08x", ErrCorrupt, got, want)
	}
	return parseRecord(body)
}

// readBody allocates at most 1 MiB more than there is, so that a wrong length cannot fill the memory.
func readBody(r io.Reader, size int64) ([]byte, error) {
	const step = 1 << 20
	var body []byte
	for left := size; left > 0; {
		n := min(left, step)
		at := len(body)
		body = append(body, make([]byte, n)...)
		if _, err := io.ReadFull(r, body[at:]); err != nil {
			return nil, unexpected(err)
		}
		left -= n
	}
	return body, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func parseRecord(body []byte) (record, error) {
	kind, body := body[0], body[1:]
	switch kind {
	case recordPut, recordDelete:
		event := &mvccpb.Event{Kv: &mvccpb.KeyValue{}}
		if kind == recordDelete {
			event.Type = mvccpb.Event_DELETE
		}
		if err := proto.Unmarshal(body, event.Kv); err != nil {
			return record{}, fmt.Errorf("%w: an event: %w", ErrCorrupt, err)
		}
		return record{event: event}, nil
	case recordLease:
		id, n := binary.Varint(body)
		ttl, m := binary.Varint(body[max(n, 0):])
		if n <= 0 || m <= 0 || n+m != len(body) {
			return record{}, fmt.Errorf("%w: a lease has %d bytes", ErrCorrupt, len(body))
		}
		return record{lease: Lease{ID: id, TTL: ttl}}, nil
	}
	return record{}, fmt.Errorf("%w: a record has the unknown kind %q", ErrCorrupt, kind)
}

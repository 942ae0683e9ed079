package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// ReadHeader reads only the header of a link.
func ReadHeader(ctx context.Context, store objstore.Getter, root, key string) (Header, error) {
	r, err := OpenSegment(ctx, store, root, key)
	if err != nil {
		return Header{}, err
	}
	return r.Header, r.Close()
}

// Reader reads the events of one segment. It needs memory for one event.
type Reader struct {
	Header Header
	// Key of the object.
	Key string
	// Leases are those of the segment. They are complete when Next has returned io.EOF.
	Leases []Lease

	object  io.Closer
	body    *bufio.Reader
	records *bufio.Reader
	sum     hash.Hash
	size    int64
	events  int64
	last    int64
}

// OpenSegment opens a link and reads its header. The caller closes the Reader.
func OpenSegment(ctx context.Context, store objstore.Getter, root, key string) (*Reader, error) {
	n, ok := ParseKey(root, key)
	if !ok || n.first == 0 {
		return nil, fmt.Errorf("%w: %s is not the key of a segment", ErrCorrupt, key)
	}
	object, err := store.Get(ctx, key)
	if err != nil {
		return nil, &RevisionError{Revision: n.first, Key: key, Err: err}
	}
	header := objstore.Count(ctx, object)
	defer header.Done()
	r, err := NewReader(readCloser{header, object}, key, n)
	if err != nil {
		return nil, errors.Join(err, object.Close())
	}
	return r, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// NewReader reads the header of a link's object.
func NewReader(object io.ReadCloser, key string, n Name) (*Reader, error) {
	r := &Reader{Key: key, object: object, body: bufio.NewReaderSize(object, 32<<10), sum: sha256.New()}
	var err error
	if r.Header, err = decodeHeader(r.body, key, n); err != nil {
		return nil, err
	}
	r.last = r.Header.First - 1
	return r, nil
}

// Close ends the reading at any point.
func (r *Reader) Close() error { return r.object.Close() }

// Decode prepares the reading of the events. identities are those of age, one for each line.
func (r *Reader) Decode(ctx context.Context, identities []byte) error {
	if r.Header.Gap() {
		return corruptAt(r.Header.First, r.Key, "the events of the revisions %d to %d are lost: %s", r.Header.First, r.Header.Last, r.Header.Reason)
	}
	plain, err := decode(ctx, r.body, r.Header, identities)
	if err != nil {
		return &RevisionError{Revision: r.Header.First, Key: r.Key, Err: err}
	}
	r.records = bufio.NewReaderSize(&counted{plain, r}, 32<<10)
	return nil
}

// counted computes size and SHA-256 of the records.
type counted struct {
	io.Reader
	r *Reader
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.r.sum.Write(p[:n])
	if c.r.size += int64(n); c.r.size > c.r.Header.Size {
		return n, errMoreRecords
	}
	return n, err
}

// errMoreRecords ends the reading of records that have more bytes than their header says. Compressed, a few KiB in the store can be gigabytes of them.
var errMoreRecords = errors.New("its records have more bytes than its header says")

// Next returns the next event. io.EOF means that all of the segment was read and is as it was written.
func (r *Reader) Next() (*mvccpb.Event, error) {
	for {
		next, err := readRecord(r.records)
		switch {
		case errors.Is(err, io.EOF):
			return nil, r.complete()
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, corruptAt(r.last+1, r.Key, "the object ends after revision %d, want %d", r.last, r.Header.Last)
		case err != nil:
			return nil, corruptAt(max(r.last, r.Header.First), r.Key, "at this revision or the next: %w", err)
		case next.event == nil:
			r.Leases = append(r.Leases, next.lease)
			continue
		}
		revision := next.event.Kv.ModRevision
		if revision != r.last+1 && (revision != r.last || r.events == 0) || revision > r.Header.Last {
			return nil, corruptAt(r.last+1, r.Key, "revision %d follows revision %d", revision, r.last)
		}
		r.last = revision
		r.events++
		return next.event, nil
	}
}

// complete compares what was read with the header.
func (r *Reader) complete() error {
	switch h := r.Header; {
	case r.last != h.Last:
		return corruptAt(r.last+1, r.Key, "the segment ends with revision %d, want %d", r.last, h.Last)
	case r.events != h.Events:
		return corruptAt(h.First, r.Key, "the revisions %d to %d have %d events, want %d", h.First, h.Last, r.events, h.Events)
	}
	if err := r.whole(); err != nil {
		return err
	}
	return io.EOF
}

// whole compares the size and the SHA-256 of all records with the header.
func (r *Reader) whole() error {
	h, got := r.Header, hex.EncodeToString(r.sum.Sum(nil))
	if got != h.SHA256 || r.size != h.Size {
		return corruptAt(h.First, r.Key, "the revisions %d to %d have SHA-256 %s, want %s", h.First, h.Last, got, h.SHA256)
	}
	return nil
}

// Verify reads the segment to its end, and returns an error unless its records are those that the header describes. It decodes none of them: who can write to the
// bucket decides how large a record is, and how many leases a segment has.
func (r *Reader) Verify() error {
	if _, err := io.Copy(io.Discard, r.records); err != nil {
		return corruptAt(r.Header.First, r.Key, "the records of the revisions %d to %d cannot be read: %w", r.Header.First, r.Header.Last, err)
	}
	return r.whole()
}

// linkError is the error of one link.
type linkError struct {
	key string
	err error
}

// ReadStart reads the start object of a timeline.
func ReadStart(ctx context.Context, store objstore.Getter, root string, t Timeline) (Start, error) {
	key := StartKey(root, t)
	body, err := store.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return Start{}, fmt.Errorf("%w: timeline %d has no start object %s: %w", ErrCorrupt, t, key, err)
	}
	if err != nil {
		return Start{}, fmt.Errorf("read the start of timeline %d: %w", t, err)
	}
	defer body.Close()
	start := objstore.Count(ctx, body)
	defer start.Done()
	return DecodeStart(start, key, t)
}

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

func (e *linkError) Error() string { return e.err.Error() }

func (e *linkError) Unwrap() error { return e.err }

// SegmentOf returns the key of the segment that an error is about. It is empty if the error is of none.
func SegmentOf(err error) string {
	if of := (*linkError)(nil); errors.As(err, &of) {
		return of.key
	}
	return ""
}

package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
)

// Writer writes the records of one segment to a file on disk. It keeps no event in memory.
type Writer struct {
	chain   Chain
	out     *bufio.Writer
	sum     hash.Hash
	tail    hash.Hash
	buffer  []byte
	header  Header
	touched time.Time
}

// NewWriter returns the writer of the segment that follows chain. now is the state of authentication.
func NewWriter(w io.Writer, chain Chain, now auth.State) *Writer {
	return &Writer{
		chain: chain, out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New(), tail: sha256.New(),
		header: Header{
			FormatVersion: FormatVersion, Kind: kindSegment, Timeline: chain.Timeline, First: chain.Last + 1, Last: chain.Last,
			Number: chain.Number + 1, Previous: chain.Hash, AuthFrom: now.Revision, AuthEnabledFrom: now.Enabled,
		},
	}
}

// Empty reports whether there is no event.
func (w *Writer) Empty() bool { return w.header.Events == 0 }

// Size is the number of bytes of all records.
func (w *Writer) Size() int64 { return w.header.Size }

// Last is the revision of the last event. It may not be complete.
func (w *Writer) Last() int64 { return w.header.Last }

// Add appends an event that was received at a time. Revisions must have no gaps. The error is ErrOrder otherwise.
func (w *Writer) Add(event *mvccpb.Event, at time.Time) error {
	revision := event.GetKv().GetModRevision()
	switch {
	case revision == w.header.Last && !w.Empty():
	case revision == w.header.Last+1:
		w.point()
		w.tail.Reset()
		w.header.Last = revision
	default:
		return fmt.Errorf("%w: etcd sent revision %d after %d", ErrOrder, revision, w.header.Last)
	}
	at = at.Round(0)           // points have no monotonic clock, so that a clock that is set back shows
	if at.Before(w.chain.At) { // the clock of this node is behind that of the archiver before
		at = w.chain.At
	}
	if at.After(w.touched) {
		w.touched = at
	}
	var err error
	if w.buffer, err = appendEvent(w.buffer[:0], event); err != nil {
		return err
	}
	w.tail.Write(w.buffer)
	w.header.Events++
	err = w.write()
	if cap(w.buffer) > 64<<10 {
		w.buffer = nil // one large value must not cost memory for ever
	}
	return err
}

// ErrOrder means that the events of etcd have a gap or are in the wrong order.
var ErrOrder = errors.New("the watch of etcd has skipped or repeated a revision")

// spacing is the time between two points.
const spacing = 500 * time.Millisecond

// point records when the last complete revision had been received, unless the point before is recent.
func (w *Writer) point() {
	if w.Empty() {
		return
	}
	if n := len(w.header.Points); n > 0 && w.touched.Sub(w.header.Points[n-1].At) < spacing {
		return
	}
	w.header.Points = append(w.header.Points, Point{Revision: w.header.Last, At: w.touched.UTC()})
}

func (w *Writer) write() error {
	w.sum.Write(w.buffer)
	w.header.Size += int64(len(w.buffer))
	_, err := w.out.Write(w.buffer)
	return err
}

// Seal appends the leases and returns the header. All revisions must be complete. now is the state of authentication after the last one.
func (w *Writer) Seal(leases []Lease, now auth.State, compactRevision int64) (Header, error) {
	for _, l := range leases {
		w.buffer = appendLease(w.buffer[:0], l)
		if err := w.write(); err != nil {
			return Header{}, err
		}
	}
	if err := w.out.Flush(); err != nil {
		return Header{}, err
	}
	h := w.header
	last := Point{Revision: h.Last, At: w.touched.UTC()}
	if n := len(h.Points); n > 0 && h.Points[n-1].Revision == last.Revision {
		h.Points[n-1] = last
	} else {
		h.Points = append(h.Points, last)
	}
	from, _ := h.Auth()
	h.setAuth(from, now)
	h.CompactRevision = compactRevision
	h.Unbroken = w.chain.unbroken(h)
	h.SHA256, h.Tail = hex.EncodeToString(w.sum.Sum(nil)), hex.EncodeToString(w.tail.Sum(nil))
	return h, h.validate()
}

// WriteObject writes the object of a segment: its header, which it completes, and the encoded records.
func WriteObject(w io.Writer, e codec.Encoder, h Header, records io.Reader) (Header, error) {
	encoding := e.Encoding()
	h.Compression, h.Encryption = encoding.Compression, encoding.Encryption
	if _, err := w.Write(line(h)); err != nil {
		return h, err
	}
	encoded, err := e.Encode(records)
	if err != nil {
		return h, err
	}
	if _, err := io.Copy(w, encoded); err != nil {
		return h, fmt.Errorf("encode: %w", err)
	}
	return h, nil
}

// TailOf is the SHA-256 of the events of one revision, as in Header.Tail.
type TailOf struct {
	sum    hash.Hash
	buffer []byte
}

// Add adds an event of the revision.
func (t *TailOf) Add(event *mvccpb.Event) (err error) {
	if t.sum == nil {
		t.sum = sha256.New()
	}
	if t.buffer, err = appendEvent(t.buffer[:0], event); err == nil {
		t.sum.Write(t.buffer)
	}
	return err
}

// Sum returns the SHA-256 in hex digits; empty if there was no event.
func (t *TailOf) Sum() string {
	if t.sum == nil {
		return ""
	}
	return hex.EncodeToString(t.sum.Sum(nil))
}

package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
)

// FormatVersion is increased if an older reader would misread a newer object, and not if a field is added.
const FormatVersion = 1

// MaxHeader limits a header in bytes, so that a wrong object cannot fill the memory.
const MaxHeader = 1 << 20

// The kinds of objects.
const (
	kindStart   = "start"
	kindSegment = "segment"
	kindGap     = "gap"
)

// Points of a header.
type Points []Point

// maxPoints is more than fit into a header: each of them has 42 bytes or more.
const maxPoints = MaxHeader / 42

// UnmarshalJSON decodes at most maxPoints. Empty ones would take ten times the memory of their text.
func (p *Points) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if t, err := decoder.Token(); err != nil || t != json.Delim('[') {
		return err // null
	}
	for decoder.More() {
		if len(*p) == maxPoints {
			return fmt.Errorf("there are more than %d points", maxPoints)
		}
		var next Point
		if err := decoder.Decode(&next); err != nil {
			return err
		}
		if !bounded.Time(next.At) {
			return errors.New("the time of a point is outside of the years 1 to 9999")
		}
		*p = append(*p, next)
	}
	return nil
}

// Start is the object that begins a timeline.
type Start struct {
	FormatVersion int      `json:"formatVersion"`
	Kind          string   `json:"kind"`
	Timeline      Timeline `json:"timeline"`
	// ClusterID of etcd, 16 hex digits.
	ClusterID string `json:"clusterID"`
	// Base is the revision of the snapshot that the timeline begins with, and a time before which that was taken.
	Base Point `json:"base"`
	// BaseKey is the key of that snapshot.
	BaseKey string `json:"baseKey,omitempty"`
	// AuthRevision and AuthEnabled are the state of authentication in that snapshot. See State.
	AuthRevision uint64      `json:"auth"`
	AuthEnabled  auth.Switch `json:"authEnabled,omitzero"`
	// Reason is why the timeline begins.
	Reason string `json:"reason"`
	// Lost means that the archive does not have the revisions between the end of the timeline before and the base, although the cluster may
	// have the same history: etcd was compacted to that end.
	Lost bool `json:"lost,omitempty"`
	// Writer identifies who began the timeline, for example by the UID of an EtcdBackup.
	Writer string `json:"writer,omitempty"`
	// Recovery is the last recovery from a lost quorum that the cluster had then. A later one begins another timeline.
	Recovery string `json:"recovery,omitempty"`

	hash string // of the line that was read; empty in a new one
	size int    // of that line, in bytes
}

// Header describes a link of a chain. It is a line of JSON at the beginning of the object, and never encrypted: archivers
// and listings need no identity. It holds no keys and no values of the cluster.
type Header struct {
	FormatVersion int      `json:"formatVersion"`
	Kind          string   `json:"kind"`
	Timeline      Timeline `json:"timeline"`
	// First and Last revision. A gap has lost all of them.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Number is that of the link before it and 1. It shows whether links between two others are missing. The first link after one of an earlier
	// version, which has 0, has 1.
	Number int64 `json:"number,omitempty"`
	// Previous is the SHA-256 of the header before, or of the start object.
	Previous string `json:"previous"`
	// Points are in ascending order, at least one a second while there are events. The last one is that of Last.
	Points Points `json:"points"`
	// Events in the segment.
	Events int64 `json:"events,omitempty"`
	// AuthFrom and AuthTo are the auth revision before the first and after the last event, and the other two are whether authentication was
	// on then. Compare them only as States.
	AuthFrom        uint64      `json:"authFrom"`
	AuthTo          uint64      `json:"authTo"`
	AuthEnabledFrom auth.Switch `json:"authEnabledFrom,omitzero"`
	AuthEnabledTo   auth.Switch `json:"authEnabledTo,omitzero"`
	// Unbroken is the first revision of a base from which a replay reaches the end of the link: after it no events are lost,
	// and users, roles and authentication did not change.
	Unbroken int64 `json:"unbroken,omitempty"`
	// CompactRevision is the newest one that the archiver knows; 0 for none.
	CompactRevision int64 `json:"compactRevision,omitempty"`
	// Size and SHA256 of the records before their encoding.
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Tail is the SHA-256 of the records of the last revision. An archiver that resumes compares it with etcd.
	Tail string `json:"tail,omitempty"`
	// Compression and Encryption of the records, as in a manifest of a snapshot.
	Compression string `json:"compression,omitempty"`
	Encryption  string `json:"encryption,omitempty"`
	// Reason is why events are lost.
	Reason string `json:"reason,omitempty"`

	hash string // of the line that was read; empty in a new one
	size int    // of that line, in bytes
}

// Auth is the state of authentication in the snapshot with which the timeline begins.
func (s Start) Auth() auth.State { return auth.State{Revision: s.AuthRevision, Enabled: s.AuthEnabled} }

// Auth returns the state of authentication before the first and after the last event.
func (h Header) Auth() (from, to auth.State) {
	return auth.State{Revision: h.AuthFrom, Enabled: h.AuthEnabledFrom}, auth.State{Revision: h.AuthTo, Enabled: h.AuthEnabledTo}
}

func (h *Header) setAuth(from, to auth.State) {
	h.AuthFrom, h.AuthEnabledFrom, h.AuthTo, h.AuthEnabledTo = from.Revision, from.Enabled, to.Revision, to.Enabled
}

// authChanged reports whether users, roles or authentication changed within the link.
func (h Header) authChanged() bool {
	from, to := h.Auth()
	return !from.Keeps(to)
}

// authKept reports whether they did not change since an earlier state, and up to the end of the link.
func (h Header) authKept(since auth.State) bool {
	from, to := h.Auth()
	return since.Keeps(from) && since.Keeps(to)
}

// Gap reports whether the events are lost.
func (h Header) Gap() bool { return h.Kind == kindGap }

// From and To are the first and the last point.
func (h Header) From() Point { return h.Points[0] }

// To is the last point.
func (h Header) To() Point { return h.Points[len(h.Points)-1] }

// Chain is the end of a chain: what the next link must agree with.
type Chain struct {
	Timeline Timeline
	Last     int64     // the last revision of the chain
	Hash     string    // of the last link, or of the start object
	At       time.Time // of the last point
	Tail     string    // of the last revision; empty if it is not known
	// Unbroken and Number are as in Header. Number is 0 without links.
	Unbroken, Number int64
	// Auth is the state of authentication at the end, and AuthChanged says that it changed within the last link.
	Auth        auth.State
	AuthChanged bool
}

// Chain returns the end of a timeline without links.
func (s Start) Chain() Chain {
	return Chain{Timeline: s.Timeline, Last: s.Base.Revision, At: s.Base.At, Hash: s.Hash(), Auth: s.Auth(), Unbroken: s.Base.Revision}
}

// unbroken returns Header.Unbroken of a segment that follows the chain. If authentication was turned on within it, each base that has this
// reaches the end. Earlier versions do not see such a change, and would look for the break before h.Last in the same link for ever.
func (c Chain) unbroken(h Header) int64 {
	from, to := h.Auth()
	switch {
	case from.Revision != to.Revision:
		return h.Last
	case !c.Auth.Keeps(from), !from.Keeps(to):
		return c.Last
	}
	return c.Unbroken
}

// Follow checks that a link extends the chain, and returns the new end.
func (c Chain) Follow(key string, h Header) (Chain, error) {
	switch {
	case h.Timeline != c.Timeline:
		return c, corruptAt(c.Last+1, key, "the link is of timeline %d, but the chain is timeline %d", h.Timeline, c.Timeline)
	case h.First != c.Last+1:
		return c, corruptAt(c.Last+1, key, "the link begins with revision %d, but the one before it ends with %d: links are missing or in the wrong order", h.First, c.Last)
	case h.Previous != c.Hash:
		return c, corruptAt(h.First, key, "the link follows another one than the chain has: it has SHA-256 %s, want %s", h.Previous, c.Hash)
	}
	return h.Chain(), nil
}

// Chain returns the end of a chain whose last link this is.
func (h Header) Chain() Chain {
	_, at := h.Auth()
	return Chain{Timeline: h.Timeline, Last: h.Last, Hash: h.Hash(), At: h.To().At, Tail: h.Tail, Auth: at, AuthChanged: h.authChanged(), Unbroken: h.Unbroken, Number: h.Number}
}

// line returns the JSON of a header or a start, a space, its CRC-32 (Castagnoli) in 8 hex digits, and a line break.
func line(v any) []byte {
	content, err := json.Marshal(v)
	if err != nil {
		return nil // not possible: the types have no maps, functions or cycles
	}
	return fmt.Appendf(content, " %08x\n", crc32.Checksum(content, castagnoli))
}

func hashOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// Hash is the SHA-256 of the first line of the object. It covers all fields, also those of later versions.
func (h Header) Hash() string {
	if h.hash != "" {
		return h.hash
	}
	return hashOf(line(h))
}

// Hash is the SHA-256 of the object.
func (s Start) Hash() string {
	if s.hash != "" {
		return s.hash
	}
	return hashOf(line(s))
}

// Encode returns the whole object of a start.
func (s Start) Encode() []byte { return line(s) }

// Encode returns the first line of a link's object, which is the whole object of a gap.
func (h Header) Encode() []byte { return line(h) }

// DecodeStart decodes the start object of a timeline.
func DecodeStart(body io.Reader, key string, t Timeline) (Start, error) {
	var s Start
	var err error
	if s.hash, s.size, err = decodeLine(bufio.NewReader(body), key, &s); err != nil {
		return Start{}, err
	}
	if s.Kind != kindStart || s.Timeline != t || s.Base.Revision < 0 || s.Base.At.IsZero() {
		return Start{}, fmt.Errorf("%w: %s does not begin timeline %d", ErrCorrupt, key, t)
	}
	return s, nil
}

// decodeHeader decodes the first line of a link's object.
func decodeHeader(body *bufio.Reader, key string, n Name) (Header, error) {
	var h Header
	var err error
	if h.hash, h.size, err = decodeLine(body, key, &h); err != nil {
		return Header{}, &RevisionError{Revision: n.first, Key: key, Err: err}
	}
	if err := h.validate(); err != nil {
		return Header{}, &RevisionError{Revision: n.first, Key: key, Err: err}
	}
	if h.First != n.first || h.Timeline != n.timeline {
		return Header{}, corruptAt(n.first, key, "the header says revision %d of timeline %d", h.First, h.Timeline)
	}
	return h, nil
}

// decodeLine decodes the first line of an object to v and returns its hash and its size.
func decodeLine(body *bufio.Reader, key string, v any) (string, int, error) {
	content, err := readLine(body)
	if err != nil {
		return "", 0, fmt.Errorf("read the header of %s: %w", key, err)
	}
	at := max(0, bytes.LastIndexByte(content, ' ')) // JSON ends with a brace, so the last space is before the checksum
	text, sum := content[:at], bytes.TrimSpace(content[at:])
	if want := fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)); string(sum) != want {
		return "", 0, fmt.Errorf("%w: the header of %s has another checksum than %s", ErrCorrupt, key, want)
	}
	var head struct {
		FormatVersion int `json:"formatVersion"`
	}
	if err := bounded.JSON(text, &head); err != nil {
		return "", 0, fmt.Errorf("%w: the header of %s: %w", ErrCorrupt, key, err)
	}
	if head.FormatVersion > FormatVersion {
		return "", 0, fmt.Errorf("%w (%d; this version reads up to %d): use a newer version of the operators", ErrNewerFormat, head.FormatVersion, FormatVersion)
	}
	if err := bounded.JSON(text, v); err != nil {
		return "", 0, fmt.Errorf("%w: the header of %s: %w", ErrCorrupt, key, err)
	}
	return hashOf(content), len(content), nil
}

func readLine(body *bufio.Reader) ([]byte, error) {
	var content []byte
	for {
		part, err := body.ReadSlice('\n')
		content = append(content, part...)
		switch {
		case err == nil:
			return content, nil
		case len(content) > MaxHeader:
			return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrCorrupt, MaxHeader)
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: the object ends within it", ErrCorrupt)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// mostBytes is more than the records of any segment have. The sum of as many sizes as an archive has names does not overflow.
const mostBytes = 1 << 38

func (h Header) validate() error {
	wrong := func(field string) error {
		return fmt.Errorf("%w: field %s of the header is missing or invalid", ErrCorrupt, field)
	}
	switch {
	case h.FormatVersion < 1:
		return wrong("formatVersion")
	case h.Kind != kindSegment && h.Kind != kindGap:
		return wrong("kind")
	case h.First < 1 || h.Last < h.First:
		return wrong("last")
	case len(h.Points) == 0 || h.To().Revision != h.Last || h.To().At.IsZero():
		return wrong("points")
	case h.Kind == kindSegment && (h.Events < h.Last-h.First+1 || h.Size < h.Events):
		return wrong("events")
	case h.Size > mostBytes:
		return wrong("size")
	case h.Kind == kindSegment && len(h.SHA256) != 2*sha256.Size:
		return wrong("sha256")
	}
	for i, p := range h.Points[1:] {
		if h.Points[i].At.IsZero() || p.At.Before(h.Points[i].At) || p.Revision < h.Points[i].Revision {
			return wrong("points")
		}
	}
	return nil
}

package dbfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// Entry is a key that exists in a snapshot.
type Entry struct {
	Key []byte
	// Leased is true if the key ends with a lease.
	Leased         bool
	offset, length int64
}

// MaxValue is how many bytes a value may have that is extracted. etcd accepts 1.5 MiB for a key and its value by default.
const MaxValue = 8 << 20

// MaxKey is how many bytes a key may have that is extracted. The caller holds a key several times.
const MaxKey = 1 << 20

// bytesPerEntry is what the extraction needs for each key, besides its text, and while its maps grow.
const bytesPerEntry = 200

// Extract finds the keys of a snapshot that begin with one of the prefixes and exist at its revision. It writes their values one after the other, and
// an index in the order of the keys, which Entries reads. The error is ErrTooLarge if the index does not fit into the memory limit of the process.
func Extract(r io.ReaderAt, size int64, prefixes []string, values, index io.Writer) error {
	f, err := openFile(r, size-sha256.Size)
	if err != nil {
		return err
	}
	memory := debug.SetMemoryLimit(-1)
	e := extraction{prefixes: prefixes, latest: map[string]position{}, left: memory / shareOfPages, values: values}
	for _, visit := range []func(rev, value []byte) error{e.find, e.write} {
		w := &walker{file: f, most: min(maxHeld, memory/shareOfPages), enter: func([]byte) error { return nil }, visit: func(bucket, key, value []byte) error {
			if string(bucket) != "key" {
				return nil
			}
			return visit(key, value)
		}}
		if err := w.walk(); err != nil {
			return err
		}
	}
	return e.writeIndex(index)
}

// position is where the value of a key is: first the revision that wrote it, and then its place in the file of the values.
type position struct {
	main, sub      int64
	offset, length int64
	leased         bool
}

type extraction struct {
	prefixes []string
	latest   map[string]position
	left     int64 // bytes of memory
	values   io.Writer
	offset   int64
}

// asked returns the key of a pair of the bucket "key", if it begins with one of the prefixes.
func (e *extraction) asked(value []byte) (string, bool, error) {
	key, err := keyOf(value)
	if err != nil {
		return "", false, err
	}
	for _, prefix := range e.prefixes {
		if strings.HasPrefix(string(key), prefix) {
			return string(key), true, nil
		}
	}
	return "", false, nil
}

// find remembers the revision that wrote each key last. The pairs are in ascending order of revisions.
func (e *extraction) find(rev, value []byte) error {
	main, tombstone, err := parseRevision(rev)
	if err != nil || len(value) == 0 { // a revision bump writes an empty value
		return err
	}
	key, asked, err := e.asked(value)
	if err != nil {
		return corrupt("revision %d: %w", main, err)
	}
	if !asked {
		return nil
	}
	_, known := e.latest[key]
	switch memory := int64(len(key)) + bytesPerEntry; {
	case tombstone && known:
		e.left += memory
		delete(e.latest, key)
		return nil
	case tombstone:
		return nil
	case !known:
		e.left -= memory
	}
	if e.left < 0 {
		return fmt.Errorf("%w: it has more than %d keys below the prefixes, and there is no memory for more", ErrTooLarge, len(e.latest))
	}
	e.latest[key] = position{main: main, sub: subOf(rev)}
	return nil
}

// subOf returns the second part of a revision that parseRevision accepts.
func subOf(rev []byte) int64 { return int64(binary.BigEndian.Uint64(rev[9:])) }

// write writes the value of each key that find has found.
func (e *extraction) write(rev, value []byte) error {
	main, tombstone, err := parseRevision(rev)
	if err != nil || tombstone || len(value) == 0 {
		return err
	}
	key, asked, err := e.asked(value)
	if err != nil || !asked {
		return err
	}
	at, exists := e.latest[key]
	if !exists || at.main != main || at.sub != subOf(rev) {
		return nil
	}
	var pair mvccpb.KeyValue
	if err := proto.Unmarshal(value, &pair); err != nil {
		return corrupt("revision %d: %w", main, err)
	}
	if len(key) > MaxKey {
		return fmt.Errorf("%w: key %q has %d bytes, and at most %d can be written", ErrTooLarge, Short([]byte(key)), len(key), MaxKey)
	}
	if len(pair.Value) > MaxValue {
		return fmt.Errorf("%w: key %q has a value of %d bytes, and at most %d can be written", ErrTooLarge, Short([]byte(key)), len(pair.Value), MaxValue)
	}
	at.offset, at.length, at.leased = e.offset, int64(len(pair.Value)), pair.Lease != 0
	e.latest[key] = at
	e.offset += at.length
	if _, err := e.values.Write(pair.Value); err != nil {
		return fmt.Errorf("%w: write a value: %w", ErrDisk, err)
	}
	return nil
}

// writeIndex writes each key as its length, its text, whether it has a lease, and the place of its value. All numbers are varints.
func (e *extraction) writeIndex(index io.Writer) error {
	out := bufio.NewWriter(index)
	for _, key := range slices.Sorted(maps.Keys(e.latest)) {
		at := e.latest[key]
		line := binary.AppendUvarint(nil, uint64(len(key)))
		line = append(line, key...)
		leased := byte(0)
		if at.leased {
			leased = 1
		}
		line = binary.AppendUvarint(append(line, leased), uint64(at.offset))
		if _, err := out.Write(binary.AppendUvarint(line, uint64(at.length))); err != nil {
			return fmt.Errorf("%w: write the index of the keys: %w", ErrDisk, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("%w: write the index of the keys: %w", ErrDisk, err)
	}
	return nil
}

// Entries reads what Extract has written.
type Entries struct {
	index  *bufio.Reader
	values io.ReaderAt
	size   int64 // bytes of values
}

// NewEntries reads from the beginning of an index, and values of that many bytes.
func NewEntries(index io.Reader, values io.ReaderAt, size int64) *Entries {
	return &Entries{bufio.NewReader(index), values, size}
}

// errIndex is the error if the index is not one that Extract has written.
var errIndex = errors.New("the index of the keys is damaged")

// Next returns the next key in ascending order, and io.EOF after the last one.
func (e *Entries) Next() (Entry, error) {
	length, err := binary.ReadUvarint(e.index)
	switch {
	case errors.Is(err, io.EOF):
		return Entry{}, io.EOF
	case err != nil || length > MaxKey:
		return Entry{}, errIndex
	}
	entry := Entry{Key: make([]byte, length)}
	if _, err := io.ReadFull(e.index, entry.Key); err != nil {
		return Entry{}, errIndex
	}
	leased, err := e.index.ReadByte()
	offset, err2 := binary.ReadUvarint(e.index)
	bytes, err3 := binary.ReadUvarint(e.index)
	if errors.Join(err, err2, err3) != nil || bytes > MaxValue || offset > uint64(e.size) || bytes > uint64(e.size)-offset {
		return Entry{}, errIndex
	}
	entry.Leased, entry.offset, entry.length = leased == 1, int64(offset), int64(bytes)
	return entry, nil
}

// Length returns how many bytes the value of a key has.
func (e *Entries) Length(of Entry) int64 { return of.length }

// Value reads the value of a key.
func (e *Entries) Value(of Entry) ([]byte, error) {
	value := make([]byte, of.length)
	if _, err := io.ReadFull(io.NewSectionReader(e.values, of.offset, of.length), value); err != nil {
		return nil, fmt.Errorf("%w: read a value: %w", ErrDisk, err)
	}
	return value, nil
}

package dbfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The layout of a bbolt file, version 2. Numbers are in the byte order of the machine that wrote the file.
const (
	magic      = 0xED0CDAED
	version    = 2
	headerSize = 16 // id 8, flags 2, count 2, overflow 4
	metaSize   = 64 // magic 4, version 4, page size 4, flags 4, root 16, freelist 8, high water 8, txid 8, checksum 8
	noFreelist = ^uint64(0)

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10

	// elementSize is the size of both kinds of elements. A branch element has pos 4, key size 4, page 8. A leaf element has
	// flags 4, pos 4, key size 4, value size 4.
	elementSize = 16
	// bucketFlag marks a leaf element whose value is a bucket: root page 8, sequence 8, and the page itself if root is 0.
	bucketFlag   = 0x01
	bucketHeader = 16
)

// maxSpan limits the size of a page of a tree with its overflow. A page has at most four large values, because bbolt splits it
// otherwise, and etcd accepts values of a few megabytes. So a larger number is damaged. A freelist has its own limit.
const maxSpan = 256 << 20

// maxHeld limits the pages that are in memory at the same time, one for each level of a tree. In a database of etcd, only the lowest
// level has large pages.
const maxHeld = 384 << 20

var order = binary.NativeEndian

// page is a page with its overflow, or the inline page in a bucket's value.
type page struct {
	id       uint64
	flags    uint16
	count    int
	overflow uint64
	data     []byte // header included
}

// checkSizes returns an error if the keys and values of a page have more bytes than the page. In an honest page they do not overlap. In a crafted one,
// each of 65,535 values can be the whole page, and to read them takes hours.
func (p page) checkSizes() error {
	if p.flags != flagBranch && p.flags != flagLeaf {
		return nil
	}
	left := uint64(len(p.data))
	for at := headerSize; at+elementSize <= min(len(p.data), headerSize+p.count*elementSize); at += elementSize {
		size := uint64(order.Uint32(p.data[at+4:])) // of a branch: only a key
		if p.flags != flagBranch {
			size = uint64(order.Uint32(p.data[at+8:])) + uint64(order.Uint32(p.data[at+12:]))
		}
		if size > left {
			return corrupt("the elements of page %d overlap", p.id)
		}
		left -= size
	}
	return nil
}

func grow(buf []byte, size int64) []byte {
	if int64(cap(buf)) >= size {
		return buf[:size]
	}
	return append(make([]byte, 0, size), buf...)[:size]
}

func parseHeader(data []byte) page {
	return page{
		id:       order.Uint64(data),
		flags:    order.Uint16(data[8:]),
		count:    int(order.Uint16(data[10:])),
		overflow: uint64(order.Uint32(data[12:])),
		data:     data,
	}
}

// inlinePage returns the page in the value of a small bucket.
func inlinePage(value []byte) (page, error) {
	if len(value) < bucketHeader+headerSize {
		return page{}, corrupt("a bucket of %d bytes is too small for its page", len(value))
	}
	p := parseHeader(value[bucketHeader:])
	if p.flags != flagLeaf {
		return page{}, corrupt("an inline page has flags %#x", p.flags)
	}
	return p, p.checkSizes()
}

// element is an element of a page. Those of a branch have child, and those of a leaf have flags and value.
type element struct {
	flags uint32
	key   []byte
	value []byte
	child uint64
}

// element returns element i and checks that it is inside the page.
func (p page) element(i int) (element, error) {
	at := headerSize + i*elementSize
	if at+elementSize > len(p.data) {
		return element{}, corrupt("page %d should have %d elements, but has %d bytes", p.id, p.count, len(p.data))
	}
	raw := p.data[at : at+elementSize]
	var e element
	var pos, keySize, valueSize uint64
	if p.flags == flagBranch {
		pos, keySize = uint64(order.Uint32(raw)), uint64(order.Uint32(raw[4:]))
		e.child = order.Uint64(raw[8:])
	} else {
		e.flags, pos = order.Uint32(raw), uint64(order.Uint32(raw[4:]))
		keySize, valueSize = uint64(order.Uint32(raw[8:])), uint64(order.Uint32(raw[12:]))
	}
	start := uint64(at) + pos
	if keySize == 0 || start+keySize+valueSize > uint64(len(p.data)) {
		return element{}, corrupt("element %d of page %d is outside of the page", i, p.id)
	}
	e.key = p.data[start : start+keySize]
	e.value = p.data[start+keySize : start+keySize+valueSize]
	return e, nil
}

// within reports whether low <= key < high. A nil bound is ignored.
func within(key, low, high []byte) bool {
	return (low == nil || bytes.Compare(low, key) <= 0) && (high == nil || bytes.Compare(key, high) < 0)
}

// maxShown is how many bytes of a key an error shows. A key may have as many bytes as its page.
const maxShown = 100

// Short returns as much of a key as an error shows.
func Short(key []byte) []byte { return key[:min(len(key), maxShown)] }

func corrupt(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrCorrupt)...)
}

package dbfile

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// file is a database that is not trusted.
type file struct {
	r        io.ReaderAt
	size     int64 // without the trailer
	pageSize int64
	meta     meta
}

// meta is the newer valid one of the two meta pages.
type meta struct {
	root      uint64
	freelist  uint64
	highWater uint64 // number of pages
	txid      uint64
}

func openFile(r io.ReaderAt, size int64) (*file, error) {
	f := &file{r: r, size: size}
	first, firstErr := f.readMeta(0)
	if firstErr != nil {
		return nil, firstErr
	}
	// The first meta page is valid, so its page size gives the offset of the second.
	second, err := f.readMeta(f.pageSize)
	if err != nil {
		return nil, err
	}
	f.meta = first
	if second.txid > first.txid {
		f.meta = second
	}
	if f.meta.highWater < 3 || f.meta.highWater > uint64(size/f.pageSize) {
		return nil, corrupt("the database should have %d pages of %d bytes, but has %d bytes", f.meta.highWater, f.pageSize, size)
	}
	return f, nil
}

func (f *file) readMeta(offset int64) (meta, error) {
	buf := make([]byte, headerSize+metaSize)
	if _, err := f.r.ReadAt(buf, offset); err != nil {
		return meta{}, f.readError("meta page", err)
	}
	if flags := order.Uint16(buf[8:]); flags != flagMeta {
		return meta{}, corrupt("the page at byte %d is not a meta page (flags %#x)", offset, flags)
	}
	if id := order.Uint64(buf); id != min(1, uint64(offset)) {
		return meta{}, corrupt("the page at byte %d has the ID %d", offset, id)
	}
	buf = buf[headerSize:]
	if got := order.Uint32(buf); got != magic {
		return meta{}, corrupt("not a bbolt database (magic %#x)", got)
	}
	if got := order.Uint32(buf[4:]); got != version {
		return meta{}, corrupt("bbolt version %d, want %d", got, version)
	}
	sum := fnv.New64a()
	sum.Write(buf[:metaSize-8])
	if got := order.Uint64(buf[metaSize-8:]); got != sum.Sum64() {
		return meta{}, corrupt("the checksum of the meta page at byte %d is wrong", offset)
	}
	size := int64(order.Uint32(buf[8:]))
	if size < 512 || size > 1<<20 || size&(size-1) != 0 || f.pageSize != 0 && size != f.pageSize {
		return meta{}, corrupt("invalid page size %d", size)
	}
	f.pageSize = size
	return meta{
		root:      order.Uint64(buf[16:]),
		freelist:  order.Uint64(buf[32:]),
		highWater: order.Uint64(buf[40:]),
		txid:      order.Uint64(buf[48:]),
	}, nil
}

// readError separates a truncated file from a failing disk.
func (f *file) readError(what string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corrupt("%s is beyond the end of the file", what)
	}
	return fmt.Errorf("read %s: %w", what, err)
}

// read reads the page with this ID into buf, which grows as needed.
func (f *file) read(id uint64, buf *[]byte, fits room) (page, error) {
	if id < 2 || id >= f.meta.highWater {
		return page{}, corrupt("page %d is referenced, but there are %d pages", id, f.meta.highWater)
	}
	offset := int64(id) * f.pageSize
	*buf = grow(*buf, f.pageSize)
	if _, err := f.r.ReadAt(*buf, offset); err != nil {
		return page{}, f.readError(fmt.Sprintf("page %d", id), err)
	}
	p := parseHeader(*buf)
	if p.id != id {
		return page{}, corrupt("page %d has the ID %d", id, p.id)
	}
	span := int64(p.overflow+1) * f.pageSize
	if p.overflow >= f.meta.highWater-id {
		return page{}, corrupt("page %d should have %d overflow pages, but there are %d pages", id, p.overflow, f.meta.highWater)
	}
	if p.overflow > 0 {
		if err := fits(span); err != nil {
			return page{}, err
		}
		*buf = grow(*buf, span)
		if _, err := f.r.ReadAt((*buf)[f.pageSize:], offset+f.pageSize); err != nil {
			return page{}, f.readError(fmt.Sprintf("page %d", id), err)
		}
	}
	p.data = *buf
	return p, p.checkSizes()
}

// room returns an error if a page with that many bytes may not be read.
type room func(span int64) error

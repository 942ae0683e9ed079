package dbfiletest

import (
	"encoding/binary"
	"hash/fnv"
	"os"
	"testing"
)

const (
	pageSize   = 4096
	metaSize   = 64
	headerSize = 16
)

// Chain writes a sparse file to path that no etcd wrote: branch pages with an overflow of span bytes, one below the other. Its trailer
// is wrong.
func Chain(t testing.TB, path string, levels int, span int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pages := uint64(span / pageSize)
	high := 2 + pages*uint64(levels)
	write := func(b []byte, at int64) {
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(2) {
		write(metaPage(i, high), int64(i)*pageSize)
	}
	order := binary.NativeEndian
	for l := range uint64(levels) {
		id := 2 + l*pages
		b := make([]byte, 48)
		order.PutUint64(b, id)
		order.PutUint16(b[8:], 1) // a branch
		order.PutUint16(b[10:], 1)
		order.PutUint32(b[12:], uint32(pages-1))
		order.PutUint32(b[16:], 16)
		order.PutUint32(b[20:], 1)
		order.PutUint64(b[24:], id+pages) // the last one leads nowhere
		b[32] = 'k'
		write(b, int64(id)*pageSize)
	}
	if err := f.Truncate(int64(high)*pageSize + 32); err != nil {
		t.Fatal(err)
	}
}

func metaPage(id, high uint64) []byte {
	order := binary.NativeEndian
	b := make([]byte, headerSize+metaSize)
	order.PutUint64(b, id)
	order.PutUint16(b[8:], 4) // a meta page
	m := b[headerSize:]
	order.PutUint32(m, 0xED0CDAED)
	order.PutUint32(m[4:], 2)
	order.PutUint32(m[8:], pageSize)
	order.PutUint64(m[16:], 2) // root
	order.PutUint64(m[32:], ^uint64(0))
	order.PutUint64(m[40:], high)
	order.PutUint64(m[48:], id)
	sum := fnv.New64a()
	sum.Write(m[:metaSize-8])
	order.PutUint64(m[metaSize-8:], sum.Sum64())
	return b
}

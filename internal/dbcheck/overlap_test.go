package dbcheck

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

// overlapping is a database with one leaf page of that many bytes. The value of each of its 65,535 elements is nearly the whole page.
func overlapping(size int) []byte {
	const page = 4096
	o := binary.NativeEndian
	pages := size / page
	db := make([]byte, (pages+3)*page)
	meta := func(id uint64) {
		b := db[id*page:]
		o.PutUint64(b, id)
		o.PutUint16(b[8:], 4)
		m := b[16:]
		o.PutUint32(m, 0xED0CDAED)
		o.PutUint32(m[4:], 2)
		o.PutUint32(m[8:], page)
		o.PutUint64(m[16:], 2)
		o.PutUint64(m[32:], ^uint64(0))
		o.PutUint64(m[40:], uint64(pages+3))
		o.PutUint64(m[48:], id)
		sum := fnv.New64a()
		sum.Write(m[:56])
		o.PutUint64(m[56:], sum.Sum64())
	}
	meta(0)
	meta(1)
	root := db[2*page:]
	o.PutUint64(root, 2)
	o.PutUint16(root[8:], 2)
	o.PutUint16(root[10:], 1)
	o.PutUint32(root[16:], 1)    // a bucket
	o.PutUint32(root[16+4:], 16) // pos
	o.PutUint32(root[16+8:], 5)  // key
	o.PutUint32(root[16+12:], 16)
	copy(root[32:], "lease")
	o.PutUint64(root[37:], 3)
	leaf := db[3*page:]
	const count, header, element, key = 0xffff, 16, 16, 3
	o.PutUint64(leaf, 3)
	o.PutUint16(leaf[8:], 2)
	o.PutUint16(leaf[10:], count)
	o.PutUint32(leaf[12:], uint32(pages-1))
	keys := header + count*element
	for i := range count {
		at, of := header+i*element, keys+i*key
		o.PutUint32(leaf[at+4:], uint32(of-at))
		o.PutUint32(leaf[at+8:], key)
		o.PutUint32(leaf[at+12:], uint32(pages*page-of-key))
		leaf[of], leaf[of+1], leaf[of+2] = byte(i>>16), byte(i>>8), byte(i)
	}
	return dbfiletest.Seal(db)
}

// The check of one database held the slot of all namespaces for hours, because each value in it was the whole page: 4 MiB took 35 s.
func TestADatabaseWhoseValuesOverlapIsRefused(t *testing.T) {
	if _, err := dbfile.Inspect(write(t, overlapping(4<<20))); !errors.Is(err, dbfile.ErrCorrupt) {
		t.Errorf("the check says %v", err)
	}
}

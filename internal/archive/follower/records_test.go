package follower

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// Who can write to the bucket wrote a segment of some KiB whose records are millions of leases, or one record of hundreds of megabytes. Each copy of the archive held them in the
// memory of backup-operator, whatever the header said. So the operator was killed again and again, and no namespace had backups.
func TestTheRecordsOfACopiedLinkTakeNoMemoryOfTheOperator(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	lease := []byte{'L', 2, 2}
	leases := bytes.Repeat(append(binary.LittleEndian.AppendUint32([]byte{byte(len(lease))}, crc32.Checksum(lease, table)), lease...), 8<<20)
	record := append(binary.AppendUvarint(nil, 256<<20), make([]byte, 256<<20+4)...)
	for name, records := range map[string][]byte{"leases": leases, "one record": record} {
		for _, truthful := range []bool{true, false} {
			b := newBench(t)
			b.begin(1, 10)
			size := int64(1)
			if truthful {
				size = int64(len(records))
			}
			b.hostile(records, size)
			heaptest.Bound(t, 32, func() { b.sync() })
			if n, _ := b.Lacking(); n != 1 {
				t.Errorf("%s, and the header says %d bytes: %d links are lacking, want 1", name, size, n)
			}
		}
	}
}

// hostile stores a link whose records are not those of its header, which says that they have that many bytes.
func (b *bench) hostile(records []byte, size int64) {
	b.Helper()
	w := archive.NewWriter(io.Discard, b.chain, auth.State{})
	err := w.Add(&mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: b.chain.Last + 1, ModRevision: b.chain.Last + 1, Version: 1}}, b.chain.At)
	if err != nil {
		b.Fatal(err)
	}
	h, err := w.Seal(nil, auth.State{}, 0)
	if err != nil {
		b.Fatal(err)
	}
	h.Size = size
	var object bytes.Buffer
	if h, err = archive.WriteObject(&object, codec.Encoder{Compression: codec.Zstd}, h, bytes.NewReader(records)); err != nil {
		b.Fatal(err)
	}
	if err := b.from.Put(b.Context(), archive.LinkKey(first, b.chain.Timeline, b.chain.At, h.First), &object); err != nil {
		b.Fatal(err)
	}
}

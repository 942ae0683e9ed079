package standby

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// entry is what the index has of a key that exists.
type entry struct {
	modified mvcc.Revision
	created  int64
	version  int64
	lease    int64
}

const entryBytes = 5 * 8

func (e entry) encode() []byte {
	value := make([]byte, 0, entryBytes)
	for _, n := range []int64{e.modified.Main, e.modified.Sub, e.created, e.version, e.lease} {
		value = binary.BigEndian.AppendUint64(value, uint64(n))
	}
	return value
}

func decodeEntry(value []byte) (e entry, err error) {
	if len(value) != entryBytes {
		return e, fmt.Errorf("an entry of the index has %d bytes", len(value))
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(value[8*i:])) }
	return entry{modified: mvcc.Revision{Main: number(0), Sub: number(1)}, created: number(2), version: number(3), lease: number(4)}, nil
}

// longKey is the length from which the index has the SHA-256 of a key. bbolt allows at most 32 KiB, and etcd allows more.
const longKey = 512

// indexKey returns the name of a key in the index.
func indexKey(key []byte) []byte {
	if len(key) < longKey {
		return append([]byte{0}, key...)
	}
	sum := sha256.Sum256(key)
	return append([]byte{1}, sum[:]...)
}

// changeKey returns the name of a change in etcd's bucket of keys.
func changeKey(r mvcc.Revision, deletion bool) []byte {
	key := mvcc.RevToBytes(r, mvcc.NewRevBytes())
	if deletion {
		key = append(key, 't')
	}
	return key
}

func leaseKey(id int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

package etcd

import (
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// A byte that is misread here would be missing in a snapshot.
func TestChunkHoldsTheBytesThatEtcdSent(t *testing.T) {
	whole, err := proto.Marshal(&etcdserverpb.SnapshotResponse{
		Header: &etcdserverpb.ResponseHeader{ClusterId: 1, Revision: 7}, RemainingBytes: 1 << 40, Blob: []byte("bytes"), Version: "3.7.0",
	})
	if err != nil {
		t.Fatal(err)
	}
	other := protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), []byte("of a newer etcd"))
	for name, test := range map[string]struct {
		message   []byte
		remaining uint64
		blob      string
	}{
		"a current message":             {whole, 1 << 40, "bytes"},
		"a message with unknown fields": {append(other, whole...), 1 << 40, "bytes"},
		"an empty message":              {nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := chunk{remaining: 5, blob: []byte("of the message before")}
			err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(test.message)}, &c)
			if err != nil || c.remaining != test.remaining || string(c.blob) != test.blob {
				t.Errorf("%d remain after %q, error %v; want %d after %q", c.remaining, c.blob, err, test.remaining, test.blob)
			}
		})
	}
	for cut := 1; cut < len(whole); cut++ {
		var c chunk
		err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(whole[:cut])}, &c)
		if err == nil && string(c.blob) != "bytes" && string(c.blob) != "" {
			t.Errorf("cut after %d bytes it holds %q", cut, c.blob)
		}
	}
}

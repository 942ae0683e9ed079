package follower

import (
	"bytes"
	"context"
	"io"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
)

// Who can write to the bucket wrote segments whose headers state some bytes, and after them as many as were read. The records of an encrypted one cannot be compared, so
// each copy had the buffers of a large upload in memory, and counted as a small one.
func TestACopyReadsNoMoreThanTheHeaderOfItsLinkStates(t *testing.T) {
	for name, encryption := range map[string]string{"encrypted": codec.Age, "with bytes behind its records": ""} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.begin(1, 10)
			var records, object bytes.Buffer
			w := archive.NewWriter(&records, b.chain, auth.State{})
			err := w.Add(&mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 11, ModRevision: 11, Version: 1}}, b.chain.At)
			if err != nil {
				t.Fatal(err)
			}
			h, err := w.Seal(nil, auth.State{}, 0)
			if err == nil {
				encoder := codec.Encoder{Compression: codec.Zstd}
				if encryption != "" {
					encoder.Recipients = []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}
				}
				_, err = archive.WriteObject(&object, encoder, h, &records)
			}
			if err != nil {
				t.Fatal(err)
			}
			object.Write(make([]byte, 64<<20))
			if err := b.from.Put(t.Context(), archive.LinkKey(first, 1, b.chain.At, h.First), &object); err != nil {
				t.Fatal(err)
			}
			took := &taking{location: b.to}
			b.To = took
			b.sync()
			if n, _ := b.Lacking(); n != 1 || took.most > 4<<20 {
				t.Errorf("%d links are lacking, want 1; %d KiB of one object were sent", n, took.most>>10)
			}
		})
	}
}

// taking is a location that notes how many bytes the largest object has.
type taking struct {
	*location
	most int64
}

func (s *taking) Put(_ context.Context, _ string, body io.Reader) error {
	n, err := io.Copy(io.Discard, body)
	s.most = max(s.most, n)
	return err
}

package codec

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// widest returns an object whose frame asks for the largest window that is accepted.
func widest(t *testing.T, content []byte) []byte {
	t.Helper()
	var object bytes.Buffer
	w, err := zstd.NewWriter(&object, zstd.WithWindowSize(maxWindow), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(false))
	if err == nil {
		_, err = io.Copy(w, struct{ io.Reader }{bytes.NewReader(content)})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return object.Bytes()
}

// A snapshot of some KiB asked for a window of 64 MiB. Its reading held that until its database was checked, and readings of many namespaces wait for that check at the
// same time. So the tenants of ten namespaces could fill the memory of restore-operator.
func TestADecoderThatHasEndedHoldsNoWindow(t *testing.T) {
	object := widest(t, make([]byte, 1<<20))
	heaptest.Holds(t, 8<<10, func() any {
		var all []io.Reader
		for range 8 {
			content, err := DecompressAny(bytes.NewReader(object), WindowOf(object[:HeaderSize]))
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, struct{ io.Reader }{content}); err != nil || n != 1<<20 {
				t.Fatalf("%d bytes, error %v", n, err)
			}
			if n, err := content.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Fatalf("after the end: %d bytes, error %v", n, err)
			}
			all = append(all, content)
		}
		return all
	})
}

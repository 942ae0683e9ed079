package proof

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// zeros returns a MiB that is compressed with a window of that size.
func zeros(t *testing.T, window int) []byte {
	t.Helper()
	var object bytes.Buffer
	w, err := zstd.NewWriter(&object, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err == nil {
		_, err = io.Copy(w, io.LimitReader(bytes.NewReader(make([]byte, 1<<20)), 1<<20))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return object.Bytes()
}

// Each of the readings of restore-operator could take 64 MiB to decompress a snapshot of some KiB, and no budget counted that.
func TestAWideWindowCountsToTheMemoryOfTheNamespace(t *testing.T) {
	used, restore := objstore.ReplaceMemory(100 << 20)
	defer restore()
	begin := func(window int) (io.Reader, *objstore.Holding, error) {
		ctx, _ := objstore.Hold(t.Context(), "ns")
		held := objstore.BesideOf(ctx)
		plain, _, err := decode(ctx, bytes.NewReader(zeros(t, window)), "key.db", nil, held)
		return plain, held, err
	}
	usual, _, err := begin(codec.UsualWindow)
	if err != nil || used() != 0 {
		t.Errorf("the usual window: %d KiB are counted, error %v", used()>>10, err)
	}
	wide, _, err := begin(64 << 20)
	if err != nil || used() < 50<<20 {
		t.Errorf("a window of 64 MiB: %d MiB are counted, error %v", used()>>20, err)
	}
	if _, _, err := begin(64 << 20); !errors.Is(err, objstore.ErrMemory) {
		t.Errorf("a second one beside it: %v", err)
	}
	for _, plain := range []io.Reader{usual, wide} {
		if n, err := io.Copy(io.Discard, plain); err != nil || n != 1<<20 {
			t.Errorf("%d bytes, error %v", n, err)
		}
	}
	if n := used(); n != 0 {
		t.Errorf("%d KiB are counted after the end", n>>10)
	}
	_, held, err := begin(64 << 20)
	if err != nil {
		t.Errorf("after the end of the first one: %v", err)
	}
	held.Release() // as if the reading was ended
	if n := used(); n != 0 {
		t.Errorf("%d KiB are counted after a reading was ended", n>>10)
	}
}

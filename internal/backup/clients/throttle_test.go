package clients

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// memory is a source that sends at once.
type memory []byte

func (m memory) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(m)), int64(len(m)), nil
}

func TestASnapshotIsReadAtTheLimitOfTheSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content := bytes.Repeat([]byte("x"), 10<<20)
		stream, size, err := Throttled(memory(content), 1<<20).Snapshot(t.Context())
		if err != nil || size != int64(len(content)) {
			t.Fatalf("%d bytes, error %v", size, err)
		}
		start := time.Now()
		got, err := io.ReadAll(stream)
		if took := time.Since(start); err != nil || !bytes.Equal(got, content) || took < 9*time.Second || took > 11*time.Second {
			t.Errorf("%d bytes in %s, error %v, want 10 MiB in 10 s", len(got), took, err)
		}
	})
	if _, limited := Throttled(memory(nil), 0).(throttledSource); limited {
		t.Error("there is a limit without one in the spec")
	}
}

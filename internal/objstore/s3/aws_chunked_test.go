package s3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// With a wrong length, each request would hang or fail.
func TestChunkedBodyHasTheAnnouncedLength(t *testing.T) {
	for _, size := range []int{partSize + 1, partSize + chunkSize - 1, partSize + chunkSize, partSize + chunkSize + 1} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			content := bytes.Repeat([]byte{'x'}, size)
			body := spooled{bytes.NewReader(content), bytes.NewReader(content), size}
			f, length := newChunkedBody(t.Context(), newReplayableBody(body, body), time.Minute)
			got, err := io.ReadAll(f)
			if err != nil || int64(len(got)) != length || strings.Count(string(got), "x") != size+len("x") { // of the trailer's name
				t.Errorf("%d bytes with %d bytes of content, announced %d, error %v", len(got), strings.Count(string(got), "x")-1, length, err)
			}
			if n, err := f.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("%d bytes after the end, error %v", n, err)
			}
		})
	}
}

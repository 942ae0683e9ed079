package s3

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
)

// spooled is an objstore.Rereader that announces size.
type spooled struct {
	io.Reader
	io.ReaderAt
	size int
}

func (s spooled) Reread() io.ReaderAt { return s.ReaderAt }
func (s spooled) Size() int64         { return int64(s.size) }

// TestPartsContainTheWholeBody splits plain and replayable bodies whose sizes are at and next to the end of a part.
func TestPartsContainTheWholeBody(t *testing.T) {
	for _, size := range []int{0, 1, bufferedPart - 1, bufferedPart, bufferedPart + 1, partSize - 1, partSize, partSize + 1, 3 * partSize, 5*partSize + 7} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, again: %v", size, again), func(t *testing.T) {
				content := make([]byte, size)
				for i := range content {
					content[i] = byte(i * 7)
				}
				body := io.MultiReader(bytes.NewReader(content[:size/3]), bytes.NewReader(content[size/3:]))
				var cut *replayableBody
				if again {
					cut = newReplayableBody(body, spooled{body, bytes.NewReader(content), 0})
				}
				var got []byte
				p := newParts(body, cut)
				for number := int32(1); ; number++ {
					next, err := p.next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if next.beyond(number) {
						break
					}
					piece, err := io.ReadAll(next.content())
					if err != nil {
						t.Fatal(err)
					}
					if !next.last && int64(len(piece)) != p.size {
						t.Errorf("part %d has %d bytes and is not the last", number, len(piece))
					}
					got = append(got, piece...)
					p.release(next)
					if next.last {
						break
					}
				}
				if !slices.Equal(got, content) {
					t.Errorf("%d bytes differ, want the %d of the body", len(got), size)
				}
			})
		}
	}
}

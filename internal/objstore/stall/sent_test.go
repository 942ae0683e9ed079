package stall

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"
)

// A client of HTTP read the body of an attempt that had failed, while the SDK of Azure sought in it for the next attempt, or filled the buffer
// with the next block. The next attempt then sent other bytes than those of the block.
func TestAnAttemptThatWasLeftReadsNothingMore(t *testing.T) {
	for name, fails := range map[string]error{"after an answer": nil, "after an error": io.ErrUnexpectedEOF} {
		for _, again := range []bool{false, true} {
			var first io.Reader
			transport := Transport{Limit: func(*http.Request) time.Duration { return time.Minute }, Send: func(r *http.Request) (*http.Response, error) {
				first = r.Body
				if again {
					body, err := r.GetBody() // a new connection, within the same attempt
					if err != nil {
						t.Fatal(err)
					}
					if n, _ := first.Read(make([]byte, 1)); n != 0 {
						t.Errorf("%s: the body of the first connection still reads", name)
					}
					first = body
				}
				if n, err := first.Read(make([]byte, 2)); n != 2 || err != nil {
					t.Fatalf("%s: %d, %v", name, n, err)
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, fails
			}}
			content := bytes.NewReader([]byte("content"))
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://store/", content)
			if err != nil {
				t.Fatal(err)
			}
			request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(content), nil }
			response, err := transport.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if n, err := first.Read(make([]byte, 2)); n != 0 || err != io.EOF || content.Len() != len("content")-2 {
				t.Errorf("%s: a late read takes %d bytes (%v), %d are there for the next attempt", name, n, err, content.Len())
			}
		}
	}
}

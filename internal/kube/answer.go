package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrAnswerTooLarge is in the error chain if an answer of the API server has more bytes than AtMost allows.
var ErrAnswerTooLarge = errors.New("the answer of the API server is too large")

type mostKey struct{}

// AtMost returns the context of a request whose answer may have that many bytes. It has an effect only behind BoundAnswers. A page of a list has
// a number of objects, but a tenant decides how large each of them is.
func AtMost(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, mostKey{}, bytes)
}

// BoundAnswers returns a transport that ends an answer above the bound of its request, before anything of it is decoded.
func BoundAnswers(next http.RoundTripper) http.RoundTripper { return &bounding{next} }

type bounding struct{ next http.RoundTripper }

func (b *bounding) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(request)
	most, is := request.Context().Value(mostKey{}).(int64)
	if !is || err != nil {
		return answer, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer of the API server: %w", err)
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("%w: it has more than %d KiB", ErrAnswerTooLarge, most>>10)
	}
	answer.Body = io.NopCloser(bytes.NewReader(content))
	return answer, nil
}

// WrappedRoundTripper lets client-go close idle connections.
func (b *bounding) WrappedRoundTripper() http.RoundTripper { return b.next }

package stall

import (
	"context"
	"fmt"
	"net/http"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

const (
	// MaxRefusal bounds an answer with an error or a redirect. Those of stores have less than a kibibyte.
	MaxRefusal = 1 << 20
	// MaxAnswer bounds all other answers, except for objects. The longest one is a page of a listing: 1000 names with 1024 characters each, and
	// 500 to 2000 bytes of properties for each of them.
	MaxAnswer = 4 << 20
	// maxRedirects on the same server are followed.
	maxRedirects = 5
)

// LimitError is the error of an answer that is longer than any answer of a store.
type LimitError struct {
	// Limit in bytes; 0 if the answer has too many elements.
	Limit int64
	// Text means that one text has more bytes than that.
	Text bool
}

func (e *LimitError) Error() string {
	if e.Text {
		return fmt.Sprintf("a text in the answer is longer than %d KiB, so it is not from a store", e.Limit>>10)
	}
	if e.Limit == 0 {
		return "the answer has more elements than a page of a store, so it is not from a store"
	}
	return fmt.Sprintf("the answer is longer than %d MiB, so it is not from a store", e.Limit>>20)
}

// OwnWords marks the text as one that repeats no answer.
func (e *LimitError) OwnWords() {}

// Unwrap returns the kind.
func (e *LimitError) Unwrap() error { return objstore.ErrNoStore }

type objectKey struct{}

// Object marks the context of requests whose answer is an object. The caller reads it in pieces, so it has no bound.
func Object(ctx context.Context) context.Context { return context.WithValue(ctx, objectKey{}, true) }

// bound is how many bytes and elements of an answer may still be read; nil for an object.
type bound struct {
	limit, left int64
	entries     entries
}

// count returns the result of reading a part of the answer.
func (b *bound) count(part []byte, err error) (int, error) {
	if b == nil {
		return len(part), err
	}
	if b.left -= int64(len(part)); b.left < 0 {
		return 0, &LimitError{Limit: b.limit}
	}
	if b.entries.exceed(part) {
		return 0, &LimitError{}
	}
	if b.entries.long {
		return 0, &LimitError{Limit: objstore.MaxToken, Text: true}
	}
	return len(part), err
}

// SameServer is a policy for redirects: only those to the server that was asked are followed. All others return the answer itself, because a
// client would send credentials in headers, and whatever the other server answers would count as the store's.
func SameServer(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Scheme != first.Scheme || r.URL.Host != first.Host || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

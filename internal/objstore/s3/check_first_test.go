package s3

import (
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// unconditional is a server without conditional writes: it refuses a request with a condition, and without one it replaces an object.
func unconditional() *streamingServer {
	return &streamingServer{put: func(w http.ResponseWriter, r *http.Request, body []byte) []byte {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotImplemented)
			return nil
		}
		return body
	}}
}

func TestPutAsksBeforeItWritesWithoutACondition(t *testing.T) {
	server := unconditional()
	store := server.open(t, Options{CheckFirst: true})
	if err := store.Put(t.Context(), "key", strings.NewReader("body")); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "key", strings.NewReader("another")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second writer got the error %v", err)
	}
	asked, object := server.seen()
	if want := []string{http.MethodHead, http.MethodPut, http.MethodHead}; !slices.Equal(asked, want) || string(object) != "body" {
		t.Errorf("the requests were %s, expected %s. The object is %q", asked, want, object)
	}
}

// This server shows an object as soon as it has a part, as if another writer had created it during the upload.
func TestAnUploadInPartsIsNotCompletedIfAnObjectAppeared(t *testing.T) {
	server := unconditional()
	_, body := streamedBody()
	if err := server.open(t, Options{CheckFirst: true}).Put(t.Context(), "key", body); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got the error %v, want fs.ErrExist", err)
	}
	if asked, _ := server.seen(); slices.Contains(asked, "complete") || slices.Contains(asked, http.MethodPut) {
		t.Errorf("the object of another writer was replaced: %s", asked)
	}
}

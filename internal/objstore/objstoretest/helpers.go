package objstoretest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Large is larger than two parts of any store, and not a multiple of a part size.
const Large = 20<<20 + 12345

// deadline of one test case, so that the failure of a hanging store names the case.
const deadline = 2 * time.Minute

func wantMention(t *testing.T, err error, text string) {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("error %q does not name %q", err, text)
	}
}

// keys lists the keys under prefix.
func keys(ctx context.Context, store objstore.Store, prefix string) ([]string, error) {
	var found []string
	for object, err := range store.List(ctx, prefix) {
		if err != nil {
			return found, err
		}
		found = append(found, object.Key)
	}
	return found, nil
}

func mustPut(ctx context.Context, t *testing.T, store objstore.Store, key, body string) {
	t.Helper()
	if err := store.Put(ctx, key, strings.NewReader(body)); err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
}

func mustGet(ctx context.Context, t *testing.T, store objstore.Store, key string) string {
	t.Helper()
	body, err := store.Get(ctx, key)
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	defer body.Close()
	got, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("read %q: %v", key, err)
	}
	return string(got)
}

// wantAbsent checks that neither Get nor List finds the key.
func wantAbsent(t *testing.T, store objstore.Store, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	body, err := store.Get(ctx, key)
	if err == nil {
		_ = body.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get %q: error %v, want fs.ErrNotExist", key, err)
	}
	found, err := keys(ctx, store, key)
	if err != nil {
		t.Errorf("list %q: %v", key, err)
	}
	if len(found) != 0 {
		t.Errorf("list finds %q, want nothing", found)
	}
}

package objstoretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func listOrder(ctx context.Context, t *testing.T, store objstore.Store) {
	// '-' and '.' sort before '/', '0' and '_' after it. A store that lists one directory after the other fails here.
	want := []string{"p/a-b", "p/a.b", "p/a/b", "p/a/c/d", "p/a0b", "p/a_b", "p/b"}
	for _, i := range []int{3, 0, 6, 2, 5, 1, 4} {
		mustPut(ctx, t, store, want[i], "x")
	}
	mustPut(ctx, t, store, "other", "x")
	for prefix, want := range map[string][]string{
		"p/":     want,
		"p":      want,
		"p/a":    want[:6],
		"p/a/":   want[2:4],
		"p/a/c":  want[3:4],
		"p/a/b":  want[2:3],
		"p/a/bb": nil,
		"p/c":    nil,
		"":       append([]string{"other"}, want...),
	} {
		got, err := keys(ctx, store, prefix)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("prefix %q lists %q, want %q", prefix, got, want)
		}
	}
}

func listPages(ctx context.Context, t *testing.T, store objstore.Store) {
	const count, writers = objstore.PageSize + 50, 16 // more than one page
	var want []string
	for i := range count {
		want = append(want, fmt.Sprintf("series/%04d", i))
	}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := w; i < count; i += writers {
				if err := store.Put(ctx, want[i], strings.NewReader("x")); err != nil {
					t.Errorf("put %s: %v", want[i], err)
				}
			}
		})
	}
	group.Wait()
	got, err := keys(ctx, store, "series/")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("lists %d keys, want %d in order", len(got), len(want))
	}
}

func listBreak(ctx context.Context, t *testing.T, store objstore.Store) {
	for _, key := range []string{"a", "b", "c"} {
		mustPut(ctx, t, store, key, "x")
	}
	var got []string
	for object, err := range store.List(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, object.Key)
		if len(got) == 2 {
			break
		}
	}
	if want := []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func listNothing(ctx context.Context, t *testing.T, store objstore.Store) {
	for _, prefix := range []string{"", "absent", "absent/folder/"} {
		got, err := keys(ctx, store, prefix)
		if err != nil || len(got) != 0 {
			t.Errorf("prefix %q lists %q, error %v, want nothing", prefix, got, err)
		}
	}
}

// listWhileWriting uses one folder that is never empty. S3 servers that store objects as files may reject a key while they
// delete the empty folder above it.
func listWhileWriting(ctx context.Context, t *testing.T, store objstore.Store) {
	mustPut(ctx, t, store, "kept/0", "x")
	mustPut(ctx, t, store, "kept/9", "x")
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := range 10 {
				key := fmt.Sprintf("kept/5-%d-%d", w, i)
				if err := store.Put(ctx, key, strings.NewReader("x")); err != nil {
					t.Errorf("put %s: %v", key, err)
				}
				if err := store.Delete(ctx, key); err != nil {
					t.Errorf("delete %s: %v", key, err)
				}
			}
		})
	}
	for range 10 {
		got, err := keys(ctx, store, "kept/")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < 2 || got[0] != "kept/0" || got[len(got)-1] != "kept/9" || !slices.IsSorted(got) {
			t.Errorf("lists %q, want kept/0 first, kept/9 last, in order", got)
		}
	}
	group.Wait()
}

func listCancelled(ctx context.Context, t *testing.T, store objstore.Store) {
	mustPut(ctx, t, store, "key", "x")
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := keys(ctx, store, ""); err == nil {
		t.Error("no error although the context has ended")
	}
}

func deleteTwice(ctx context.Context, t *testing.T, store objstore.Store) {
	mustPut(ctx, t, store, "folder/key", "x")
	mustPut(ctx, t, store, "folder/key2", "y")
	for range 2 {
		if err := store.Delete(ctx, "folder/key"); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Delete(ctx, "never/was"); err != nil {
		t.Errorf("delete of a key that never was: %v", err)
	}
	got, err := keys(ctx, store, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"folder/key2"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

func putAfterDelete(ctx context.Context, t *testing.T, store objstore.Store) {
	mustPut(ctx, t, store, "folder/key", "old")
	if err := store.Delete(ctx, "folder/key"); err != nil {
		t.Fatal(err)
	}
	mustPut(ctx, t, store, "folder/key", "new")
	if got := mustGet(ctx, t, store, "folder/key"); got != "new" {
		t.Errorf("holds %q, want the new bytes", got)
	}
}

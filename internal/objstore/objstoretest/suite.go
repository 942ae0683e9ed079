// Package objstoretest tests the contract of objstore.Store. Every store must pass Run against a real server. Faulty
// setups (no bucket, no permission, no server) have their own functions.
package objstoretest

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

type testCase struct {
	name string
	run  func(ctx context.Context, t *testing.T, store objstore.Store)
}

// Run runs each test case on a new store from open, which must be empty.
func Run(t *testing.T, open func(t *testing.T) objstore.Store) { run(t, open, true) }

// RunCheckedFirst does the same on a store that asks whether a key exists before it writes, because its server has no conditional
// writes. It leaves out what such a store cannot promise: that one of several concurrent writers succeeds, and no other.
func RunCheckedFirst(t *testing.T, open func(t *testing.T) objstore.Store) { run(t, open, false) }

func run(t *testing.T, open func(t *testing.T) objstore.Store, conditional bool) {
	cases := []testCase{
		{"returns the bytes that were put", roundTrip},
		{"keeps an empty object", emptyObject},
		{"distinguishes and lists unusual keys", oddKeys},
		{"returns ErrNotExist for a missing key", getAbsent},
		{"keeps the old bytes when the key exists", putExisting},
		{"stores nothing when a small body fails", failingBody(once, 1000, 0)},
		{"stores nothing when a body fails at the end of a part", failingBody(once, 16<<20, 0)},
		{"stores nothing when a body fails at once", failingBody(once, 0, 0)},
		{"stores nothing when a body of known size fails at once", failingBody(kept, 0, Large)},
		{"stores nothing when a body fails after the last byte that it announced", failingBody(kept, Large, 0)},
		{"keeps the whole body if it announced one byte less", wrongSize(Large - 1)},
		{"keeps the whole body if it announced a part less", wrongSize(Large - 9<<20)},
		{"keeps the whole body if it announced one byte more", wrongSize(Large + 1)},
		{"keeps the whole body if it announced a part more", wrongSize(Large + 9<<20)},
		{"stores nothing when the context has ended before the call", endedContext},
		{"lists in byte order and treats a prefix as a string", listOrder},
		{"lists more than one page", listPages},
		{"stops a list when the caller breaks", listBreak},
		{"lists nothing in an empty store", listNothing},
		{"lists during concurrent writes and deletes", listWhileWriting},
		{"returns an error from a list whose context has ended", listCancelled},
		{"deletes a key twice without an error", deleteTwice},
		{"accepts a key again after its deletion", putAfterDelete},
	}
	for of, body := range map[string]kind{"": once, " of known size": kept} {
		cases = append(cases,
			testCase{"keeps a large body" + of, largeObject(body)},
			testCase{"keeps the old bytes when the key exists and there is a large body" + of, putExistingLarge(body)},
			testCase{"stores nothing when a large body fails" + of, failingBody(body, Large, 1000)},
			testCase{"stores nothing when the context ends in the middle of a body" + of, cancelledPut(body)},
			testCase{"hides an object until it has the whole body" + of, halfWritten(body)},
			testCase{"keeps the object of a writer that was faster with a body" + of, overtaken(body)},
		)
		if conditional {
			cases = append(cases, testCase{"lets exactly one of several concurrent writers succeed with a body" + of, racingPuts(body)})
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			c.run(ctx, t, open(t))
		})
	}
}

// RunNoBucket checks the errors of a store whose bucket does not exist.
func RunNoBucket(t *testing.T, store objstore.Store, bucket string) {
	forEachMethod(t, store, func(t *testing.T, err error) {
		if !errors.Is(err, objstore.ErrNoBucket) {
			t.Errorf("error %v, want ErrNoBucket", err)
		}
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v says that the key does not exist, want only that the bucket does not", err)
		}
		wantMention(t, err, bucket)
	})
}

// RunDenied checks the errors of a store whose server rejects its credentials. No error may contain secret, which is a
// part of them.
func RunDenied(t *testing.T, store objstore.Store, bucket, secret string) {
	forEachMethod(t, store, func(t *testing.T, err error) {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("error %v, want fs.ErrPermission", err)
		}
		wantMention(t, err, bucket)
		if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("error shows the secret: %v", err)
		}
	})
}

// RunUnreachable checks the errors of a store without a server at endpoint.
func RunUnreachable(t *testing.T, store objstore.Store, endpoint string) {
	forEachMethod(t, store, func(t *testing.T, err error) {
		if err == nil {
			t.Fatal("no error without a server")
		}
		for _, kind := range []error{fs.ErrExist, fs.ErrNotExist, fs.ErrPermission, objstore.ErrNoBucket} {
			if errors.Is(err, kind) {
				t.Errorf("error %v is %v, want a temporary error", err, kind)
			}
		}
		wantMention(t, err, endpoint)
	})
}

func forEachMethod(t *testing.T, store objstore.Store, check func(*testing.T, error)) {
	const key = "folder/key"
	methods := map[string]func(context.Context) error{
		"put":       func(ctx context.Context) error { return store.Put(ctx, key, strings.NewReader("x")) },
		"put large": func(ctx context.Context) error { return store.Put(ctx, key, pattern(1, Large)) },
		"get": func(ctx context.Context) error {
			body, err := store.Get(ctx, key)
			if err == nil {
				_ = body.Close()
			}
			return err
		},
		"list": func(ctx context.Context) error {
			_, err := keys(ctx, store, "")
			return err
		},
		"delete": func(ctx context.Context) error { return store.Delete(ctx, key) },
	}
	for name, call := range methods {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a store may retry for several seconds
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			check(t, call(ctx))
		})
	}
}

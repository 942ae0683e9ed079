package connect_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// requests are all functions of a store that take a key, by the name of the method.
var requests = map[string]func(ctx context.Context, store objstore.Store, key string) error{
	"Put": func(ctx context.Context, store objstore.Store, key string) error {
		return store.Put(ctx, key, strings.NewReader("x"))
	},
	"Get": func(ctx context.Context, store objstore.Store, key string) error {
		_, err := store.Get(ctx, key)
		return err
	},
	"List": func(ctx context.Context, store objstore.Store, key string) error {
		for _, err := range store.List(ctx, key) {
			return err
		}
		return nil
	},
	"Delete": func(ctx context.Context, store objstore.Store, key string) error { return store.Delete(ctx, key) },
	"Uploads": func(ctx context.Context, store objstore.Store, key string) error {
		unfinished, ok := store.(objstore.Unfinished)
		if !ok {
			return errors.ErrUnsupported
		}
		for _, err := range unfinished.Uploads(ctx, key) {
			return err
		}
		return nil
	},
	"Abort": func(ctx context.Context, store objstore.Store, key string) error {
		unfinished, ok := store.(objstore.Unfinished)
		if !ok {
			return errors.ErrUnsupported
		}
		return unfinished.Abort(ctx, objstore.Upload{Key: key, ID: "1"})
	},
	"SignGet": func(ctx context.Context, store objstore.Store, key string) error {
		_, err := store.(objstore.Signer).SignGet(ctx, key, time.Minute)
		return err
	},
}

// A new function of a store would pass without a question.
func TestTheGateHasEachFunctionOfAStore(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[objstore.Store](), reflect.TypeFor[objstore.Unfinished](), reflect.TypeFor[objstore.Signer]()} {
		for method := range of.Methods() {
			if requests[method.Name] == nil {
				t.Errorf("%s.%s is not tried", of, method.Name)
			}
		}
	}
}

// An opener that computes a key from a status or a listing reached what the namespace may not use.
func TestNoRequestIsSentForAPathThatIsNotAllowed(t *testing.T) {
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	for _, provider := range storage.Providers() {
		access := accessTo(provider, server.URL)
		access.Bucket, access.Key = "platform", "team-a/"
		access.For = grant.List{{Namespaces: []string{"team-a"}, PathPrefix: "platform/{namespace}/"}}.Of("team-a")
		store, err := connect.Open(t.Context(), access)
		if err != nil {
			t.Fatal(err)
		}
		for method, try := range requests {
			for _, key := range []string{"", "team-a", "team-ab/x", "team-b/x", "team-a/../team-b/x", "/team-a/x", "continuous-archive/", "continuous-archive/team-b/x"} {
				sent.Store(0)
				err := try(t.Context(), store, key)
				if errors.Is(err, errors.ErrUnsupported) {
					continue
				}
				if !errors.Is(err, grant.ErrOwnIdentity) && !errors.Is(err, grant.ErrPath) || !errors.Is(err, fs.ErrPermission) || sent.Load() > 0 {
					t.Errorf("%s: %s of %q sent %d requests: %v", provider, method, key, sent.Load(), err)
				}
			}
			for _, key := range []string{"team-a/x", "continuous-archive/team-a/x"} {
				if err := try(t.Context(), store, key); errors.Is(err, grant.ErrOwnIdentity) || errors.Is(err, grant.ErrPath) {
					t.Errorf("%s: %s of %q: %v", provider, method, key, err)
				}
			}
		}
	}
}

// The status must say it before anything is tried, also for the folder of a series, which has no slash at its end.
func TestAStoreIsNotOpenedForALocationThatIsNotAllowed(t *testing.T) {
	for _, provider := range storage.Providers() {
		for key, want := range map[string]bool{"team-a": true, "team-a/": true, "team-a/x.db": true, "team-ab": false, "team-b/x.db": false, "": false, "team-a/..": false} {
			access := accessTo(provider, "http://127.0.0.1:1")
			access.Bucket, access.Key = "platform", key
			access.For = grant.List{{Namespaces: []string{grant.All}, PathPrefix: "platform/{namespace}"}}.Of("team-a")
			if _, err := connect.Open(t.Context(), access); (err == nil) != want {
				t.Errorf("%s %q: %v", provider, key, err)
			}
		}
	}
}

// The gate must not hide what a store can do: the parts of interrupted uploads are billed for ever.
func TestTheGateKeepsTheAbilitiesOfAStore(t *testing.T) {
	uploads := func(ctx context.Context, store objstore.Store) bool {
		return !errors.Is(requests["Uploads"](ctx, store, "x"), errors.ErrUnsupported)
	}
	var with []string
	for _, provider := range storage.Providers() {
		access := accessTo(provider, "http://127.0.0.1:1")
		store, err := connect.Open(t.Context(), access)
		if err != nil {
			t.Fatal(err)
		}
		if _, signs := store.(objstore.Signer); !signs {
			t.Errorf("%s signs no URLs", provider)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if uploads(ctx, store) {
			with = append(with, string(provider))
		}
	}
	if !slices.Equal(with, []string{"S3"}) {
		t.Errorf("these list unfinished uploads: %v", with)
	}
}

package clients

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// credentialed is a store that accepts one key.
type credentialed struct {
	objstore.Store
	key   string
	valid *string
}

func (c credentialed) check() error {
	if c.key != *c.valid {
		return fmt.Errorf("key %s: %w", c.key, fs.ErrPermission)
	}
	return nil
}

func (c credentialed) Put(context.Context, string, io.Reader) error { return c.check() }
func (c credentialed) Delete(context.Context, string) error         { return c.check() }
func (c credentialed) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), c.check()
}

func (c credentialed) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) { yield(objstore.Object{}, c.check()) }
}

func TestAnArchiverUsesCredentialsThatWereReplaced(t *testing.T) {
	for name, request := range map[string]func(objstore.Store) error{
		"Put":    func(s objstore.Store) error { return s.Put(t.Context(), "x", nil) },
		"Get":    func(s objstore.Store) error { _, err := s.Get(t.Context(), "x"); return err },
		"Delete": func(s objstore.Store) error { return s.Delete(t.Context(), "x") },
		"List": func(s objstore.Store) (err error) {
			for _, err = range s.List(t.Context(), "x") {
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			secret, valid, now, reads := "old", "old", time.Now(), 0
			s := newReopened(credentialed{key: secret, valid: &valid}, func() time.Time { return now }, func(context.Context) (objstore.Store, error) {
				reads++
				return credentialed{key: secret, valid: &valid}, nil
			})
			now = now.Add(time.Hour)
			if err := request(s); err != nil || reads > 0 {
				t.Fatalf("with good credentials: %v, %d readings of the Secret", err, reads)
			}
			valid = "new"
			for range 5 {
				_ = request(s)
			}
			if reads > 1 {
				t.Errorf("the Secret was read %d times at once", reads)
			}
			secret, now = "new", now.Add(reopenAfter)
			if err := request(s); err != nil {
				t.Errorf("after the Secret has the new credentials: %v", err)
			}
		})
	}
}

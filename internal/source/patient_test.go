package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// slowStore yields one byte, or one object, after each pause, and nothing after the last.
type slowStore struct {
	objstore.Store
	open   time.Duration
	pauses []time.Duration
	err    error
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowStore) Get(ctx context.Context, _ string) (io.ReadCloser, error) {
	if s.err != nil {
		return nil, s.err
	}
	if err := pause(ctx, s.open); err != nil {
		return nil, err
	}
	return io.NopCloser(&slowBody{ctx: ctx, pauses: s.pauses}), nil
}

type slowBody struct {
	ctx    context.Context
	pauses []time.Duration
}

func (b *slowBody) Read(buf []byte) (int, error) {
	if len(b.pauses) == 0 {
		return 0, io.EOF
	}
	if err := pause(b.ctx, b.pauses[0]); err != nil {
		return 0, err
	}
	b.pauses = b.pauses[1:]
	return copy(buf, "x"), nil
}

func (s *slowStore) List(ctx context.Context, _ string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for _, d := range s.pauses {
			if err := pause(ctx, d); err != nil {
				yield(objstore.Object{}, err)
				return
			}
			if !yield(objstore.Object{Key: "k"}, nil) {
				return
			}
		}
	}
}

func TestAStoreMayBeSlowAndNotSilent(t *testing.T) {
	const limit = time.Minute
	almost, over := limit-time.Second, limit+time.Second
	for name, test := range map[string]struct {
		store  slowStore
		silent bool
	}{
		"when every byte is slow":            {slowStore{open: almost, pauses: []time.Duration{almost, almost, almost}}, false},
		"when it is silent at the beginning": {slowStore{open: over}, true},
		"when it is silent at the first":     {slowStore{pauses: []time.Duration{over}}, true},
		"when it is silent later":            {slowStore{pauses: []time.Duration{almost, 0, over}}, true},
	} {
		t.Run("a body, "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wantSilent(t, test.silent, len(test.store.pauses), func(out io.Writer) error {
					body, err := patient{&test.store, limit, nil}.Get(t.Context(), "k")
					if err != nil {
						return err
					}
					defer body.Close()
					buf := make([]byte, 1)
					for {
						n, err := body.Read(buf)
						out.Write(buf[:n])
						if err == io.EOF {
							return nil
						}
						if err != nil {
							return err
						}
						_ = pause(t.Context(), 2*limit) // the reader may take its time
					}
				})
			})
		})
		if test.store.open > 0 {
			continue
		}
		t.Run("a list, "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wantSilent(t, test.silent, len(test.store.pauses), func(out io.Writer) error {
					for object, err := range (patient{&test.store, limit, nil}).List(t.Context(), "") {
						if err != nil {
							return err
						}
						io.WriteString(out, object.Key)
						_ = pause(t.Context(), 2*limit)
					}
					return nil
				})
			})
		})
	}
}

func wantSilent(t *testing.T, silent bool, want int, read func(io.Writer) error) {
	t.Helper()
	var out bytes.Buffer
	err := read(&out)
	if silent != (err != nil) {
		t.Errorf("error %v", err)
	}
	if silent && (err == nil || !strings.Contains(err.Error(), "sent nothing for 1m0s")) {
		t.Errorf("the error does not name the silence: %v", err)
	}
	if !silent && out.Len() != want {
		t.Errorf("%d of %d came", out.Len(), want)
	}
}

func TestOtherErrorsOfAStoreStayAsTheyAre(t *testing.T) {
	broken := errors.New("broken")
	if _, err := (patient{&slowStore{err: broken}, time.Minute, nil}).Get(t.Context(), "k"); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (patient{&slowStore{open: time.Hour}, time.Minute, nil}).Get(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

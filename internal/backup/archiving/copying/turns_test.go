package copying

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// value returns bytes that cannot be compressed.
func value(size int) []byte {
	all := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(all)
	return all
}

// linkOf returns a store with one link that has a value of that size.
func linkOf(t *testing.T, size int) (*objstoretest.Memory, archive.Name) {
	t.Helper()
	start := archive.NewStart(1, 0xabc, archive.Base{Key: "base", Point: archive.Point{Revision: 10, At: statetest.T0}}, "test")
	var records, object bytes.Buffer
	w := archive.NewWriter(&records, start.Chain(), auth.State{})
	event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("key"), Value: value(size), CreateRevision: 11, ModRevision: 11, Version: 1}}
	if err := w.Add(event, statetest.T0); err != nil {
		t.Fatal(err)
	}
	h, err := w.Seal(nil, auth.State{}, 0)
	if err == nil {
		h, err = archive.WriteObject(&object, codec.Encoder{Compression: codec.Zstd}, h, &records)
	}
	if err != nil {
		t.Fatal(err)
	}
	name, store := archive.NameOf(1, statetest.T0, h.First), objstoretest.NewMemory()
	store.Place(name.Key("first/"), object.Bytes())
	return store, name
}

// copierOf returns what copies between two stores for a namespace.
func (b *copyBench) copierOf(ctx context.Context, namespace string, from, to objstore.Store) *copying {
	spec := b.spec
	spec.job.Namespace = namespace
	w := &copying{Copier: &Copier{spec: spec}, job: b.job}
	if err := w.open(ctx, spec); err != nil {
		b.T.Fatal(err)
	}
	w.From, w.To, w.FromRoot, w.ToRoot = from, to, "first/", "second/"
	return w
}

// again copies a link again as soon as that has failed, as for a namespace whose archive always has a next one.
func (w *copying) again(ctx context.Context, n archive.Name) (err error) {
	for ctx.Err() == nil {
		if _, err = w.Link(ctx, n); err == nil {
			return nil
		}
		limits.Pause(ctx, time.Second)
	}
	return err
}

// slowSink reads a body at a rate, in bytes a second, and answers nothing before its context ends.
type slowSink struct {
	objstore.Store
	rate int64
}

func (s slowSink) Put(ctx context.Context, _ string, body io.Reader) error {
	for ctx.Err() == nil {
		_, _ = io.CopyN(io.Discard, body, s.rate)
		limits.Pause(ctx, time.Second)
	}
	return context.Cause(ctx)
}

// A tenant has EtcdBackups with archives in 16 namespaces, whose second locations accept nothing. Each copy held up to 48 MiB of the 64 MiB that all copies
// share, for up to 22 minutes. Then the copies of all other namespaces waited for hours, and after the loss of the first location their changes were lost.
func TestStalledCopiesOfOthersDelayACopyByMinutes(t *testing.T) {
	for name, test := range map[string]struct {
		size  int
		rate  int64
		count int // copiers of each namespace
		most  time.Duration
		own   int // size of the link of the other namespace
	}{
		"large links":                           {60 << 20, 0, 1, time.Minute, 100},
		"large links, almost stuck":             {48 << 20, 66 << 10, 1, 40 * time.Minute, 10 << 20},
		"small links":                           {1 << 10, 0, 1, 6 * time.Minute, 100},
		"many small links of each namespace":    {1 << 10, 0, 20, 6 * time.Minute, 100},
		"links of the usual size, almost stuck": {8<<20 - 1<<10, 64 << 10, 1, 25 * time.Minute, 100},
	} {
		t.Run(name, func(t *testing.T) {
			b := newCopyBench(t)
			store, hostile := linkOf(t, test.size)
			good, link := linkOf(t, test.own)
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				for i := range 16 {
					for range test.count {
						w := b.copierOf(ctx, fmt.Sprint("hostile ", i), store, slowSink{nil, test.rate})
						go func() { _ = w.again(ctx, hostile) }()
					}
				}
				<-time.After(30 * time.Second)
				for i := range 3 {
					began := time.Now()
					limited, cancel := context.WithTimeout(ctx, 12*time.Hour)
					err := b.copierOf(ctx, "good", good, objstoretest.NewMemory()).again(limited, link)
					cancel()
					if took := time.Since(began); err != nil || took > test.most {
						t.Errorf("copy %d of another namespace took %s: %v", i, took, err)
					}
				}
				stop()
				<-time.After(time.Minute)
			})
		})
	}
}

// A link that never fits would hold the copies of its archive for ever.
func TestTheLargestCopyFitsIntoTheShareOfANamespace(t *testing.T) {
	if copiedLinks.usual.Most() < usualCopy {
		t.Errorf("one namespace has %d MiB, and one link takes %d MiB", copiedLinks.usual.Most()>>20, usualCopy>>20)
	}
}

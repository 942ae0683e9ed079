package restore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

const mib = 1 << 20

// bomb returns an object of some KiB that decompresses to that many MiB.
func bomb(t *testing.T, content int) []byte {
	t.Helper()
	var small bytes.Buffer
	w, err := zstd.NewWriter(&small)
	if err != nil {
		t.Fatal(err)
	}
	for range content {
		_, _ = w.Write(make([]byte, mib))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return small.Bytes()
}

// peakOf returns the function that returns the most bytes that the files below dir had.
func peakOf(dir string) func() int64 {
	var peak int64
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			var sum int64
			_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() { // a file may be removed meanwhile
					if info, err := d.Info(); err == nil {
						sum += info.Size()
					}
				}
				return nil
			})
			peak = max(peak, sum)
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	return func() int64 { close(stop); done.Wait(); return peak }
}

// An object of 43 KiB filled the emptyDir of the operator, and the kubelet evicted it with the restores of all namespaces.
func TestABombIsReadOnlyIntoItsReservation(t *testing.T) {
	bucket, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bucket, "x.db.zst"), bomb(t, 400), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSpool(dir, spool.Options{Limit: 32 * mib})
	if err != nil {
		t.Fatal(err)
	}
	peak := peakOf(dir)
	asked := Asked{Source: v1beta2.RestoreSource{StorageType: "File", Bucket: bucket, Key: "x.db.zst"}}
	_, err = s.Prove(t.Context(), asked)
	if got := peak(); got > 32*mib {
		t.Errorf("the spool of 32 MiB had %d MiB", got/mib)
	}
	if f := classify(err, asked.Source); f.Reason != v1beta2.ReasonSnapshotTooLarge || !f.Final {
		t.Errorf("%+v, error %v", f, err)
	}
	if used, _, _ := s.Usage(); used != 0 {
		t.Errorf("%d bytes remain reserved", used)
	}
	// If other jobs use the rest, the restore is tried again.
	others, err := s.Of("other").Reserve(t.Context(), 20*mib)
	if err != nil {
		t.Fatal(err)
	}
	defer others.Release()
	ten := filepath.Join(bucket, "x.db.zst")
	if err := os.WriteFile(ten, bomb(t, 12), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Prove(t.Context(), asked); !errors.Is(err, spool.ErrFull) {
		t.Errorf("error %v", err)
	}
	if f := classify(err, asked.Source); f.Reason != v1beta2.ReasonRetrying || f.Final {
		t.Errorf("%+v", f)
	}
}

// endless is a store whose object has no end. Its listing states one byte.
type endless struct{ head, block []byte }

func (e endless) Get(_ context.Context, key string) (io.ReadCloser, error) {
	if key != "x.db" {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(e.head), &repeated{block: e.block})), nil
}

func (endless) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) { yield(objstore.Object{Key: "x.db", Size: 1}, nil) }
}

type repeated struct {
	block []byte
	at    int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.block[r.at:])
		n, r.at = n+c, (r.at+c)%len(r.block)
	}
	return n, nil
}

// A body without an end must end the reading, whether it has content or only the frame of a compression.
func TestAnEndlessBodyEnds(t *testing.T) {
	for name, store := range map[string]endless{
		"plain":                       {nil, make([]byte, 4096)},
		"zstd without content":        {[]byte("\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00\x99\xe9\xd8\x51"), append([]byte("\x50\x2a\x4d\x18\x00\x10\x00\x00"), make([]byte, 4096)...)},
		"zstd and then something":     {[]byte("\x28\xb5\x2f\xfd"), []byte{1}},
		"gzip members without an end": {nil, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := spool.New(dir, spool.Options{Limit: 16 * mib})
			share, err := s.Of("ns").Reserve(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer share.Release()
			ended := make(chan error, 1)
			go func() {
				_, err := proof.Fetch(t.Context(), store, "x.db", proof.Place{Dir: dir, Room: share}, nil, snapshot.Anyone)
				ended <- err
			}()
			heaptest.Bound(t, 200, func() {
				select {
				case err := <-ended:
					if f := classify(err, theSource); err == nil || !f.Final {
						t.Errorf("error %v", err)
					}
				case <-time.After(5 * time.Minute): // with the race detector beside other tests, a reading takes a minute
					t.Error("the reading does not end")
				}
			})
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

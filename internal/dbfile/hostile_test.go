package dbfile

import (
	"errors"
	"hash/maphash"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

const testPage = 4096

// A file of some KiB as zstd took 1 GiB for each level of its tree, and the kernel killed the operator of all namespaces.
func TestPagesOfAHostileFileDoNotTakeTheMemory(t *testing.T) {
	for name, c := range map[string]struct {
		levels int
		span   int64
		want   error
	}{
		"many large levels, ten times the limit": {30, 128 << 20, ErrTooLarge},
		"one huge level, ten times the limit":    {1, 10 * maxSpan, ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "snapshot.db")
			dbfiletest.Chain(t, path, c.levels, c.span)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Inspect(path)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > maxHeld+16<<20 {
				t.Errorf("it took %d MiB", took>>20)
			}
		})
	}
}

// A database of 4 GiB that is almost empty has a freelist of 8 MiB, whatever the limit of other pages is.
func TestAFreelistOfAllPagesIsNoDamage(t *testing.T) {
	f := &file{pageSize: testPage, meta: meta{highWater: 1 << 20}}
	span := (int64(headerSize+8+8<<20)/testPage + 1) * testPage // as bbolt allocates it
	if most := f.maxFreelist(); span > most || span+2*testPage < most {
		t.Errorf("%d bytes, limit %d", span, most)
	}
}

func TestMoreKeysThanTheMemoryHoldsAreRefused(t *testing.T) {
	c := census{live: map[uint64]struct{}{}, seed: maphash.MakeSeed(), most: 2}
	var err error
	for i := range byte(3) {
		rev := []byte{0, 0, 0, 0, 0, 0, 0, i + 1, '_', 0, 0, 0, 0, 0, 0, 0, 0}
		err = c.revision(rev, []byte{0x0a, 1, 'a' + i})
		if i < 2 && err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

package dbfile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

func TestInspectAgreesWithEtcdutl(t *testing.T) {
	for name, fill := range map[string]func(*dbfiletest.Database) *dbfiletest.Database{
		"an empty store":               func(d *dbfiletest.Database) *dbfiletest.Database { return d },
		"one key":                      func(d *dbfiletest.Database) *dbfiletest.Database { return d.Put(1, 10) },
		"many small keys":              func(d *dbfiletest.Database) *dbfiletest.Database { return d.Put(5000, 20) },
		"values larger than a page":    func(d *dbfiletest.Database) *dbfiletest.Database { return d.Put(40, 20000) },
		"several versions of each key": func(d *dbfiletest.Database) *dbfiletest.Database { return d.Put(100, 10).Put(100, 30).Put(50, 5) },
		"deleted keys": func(d *dbfiletest.Database) *dbfiletest.Database {
			return d.Put(100, 10).Delete("key-000007").Delete("key-000099")
		},
		"a key that came back": func(d *dbfiletest.Database) *dbfiletest.Database { return d.Put(3, 10).Delete("key-000001").Put(2, 9) },
		"a compacted history": func(d *dbfiletest.Database) *dbfiletest.Database {
			return d.Put(2000, 10).Put(2000, 10).Compact().Put(5, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			content := fill(newDatabase(t)).Snapshot()
			path := write(t, content)
			status, err := snapshot.NewV3(zap.NewNop()).Status(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := dbfile.Inspect(path)
			if err != nil {
				t.Fatal(err)
			}
			want := dbfile.Info{
				Revision: status.Revision, Keys: int64(status.TotalKey), Hash: status.Hash, Size: int64(len(content)),
				StorageVersion: "3.7.0", ClusterVersion: "3.7.0", MemberIDs: []uint64{member}, Auth: auth.State{Enabled: auth.Off},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			if status.Version != got.StorageVersion {
				t.Errorf("storage version %q, etcdutl says %q", got.StorageVersion, status.Version)
			}
		})
	}
}

// A compaction of etcd before 3.6 also deletes the last tombstone. The revision is then only in the compaction's record.
func TestInspectReadsTheRevisionOfTheLastCompaction(t *testing.T) {
	revision := []byte("\x00\x00\x00\x00\x00\x00\x00\x64_\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, setting := range []string{"scheduledCompactRev", "finishedCompactRev"} {
		got, err := inspect(newDatabase(t).Put(3, 1).PutMeta(setting, revision).Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		if got.Revision != 100 {
			t.Errorf("%s: revision %d, want 100", setting, got.Revision)
		}
	}
}

func TestInspectRejectsInvalidFiles(t *testing.T) {
	good := newDatabase(t).Put(3000, 50).Snapshot()
	noise := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for name, test := range map[string]struct {
		content []byte
		want    error
	}{
		"an empty file":                       {nil, dbfile.ErrNoTrailer},
		"only a trailer":                      {good[:32], dbfile.ErrNoTrailer},
		"a file from a data directory":        {unseal(good), dbfile.ErrNoTrailer},
		"a text":                              {[]byte("<Error><Code>AccessDenied</Code></Error>"), dbfile.ErrNoTrailer},
		"random bytes of a valid size":        {dbfiletest.Seal(noise), dbfile.ErrCorrupt},
		"zeros of a valid size":               {dbfiletest.Seal(make([]byte, 64<<10)), dbfile.ErrCorrupt},
		"a database of something else":        {foreign(t, "outer"), dbfile.ErrCorrupt},
		"the first half with a valid trailer": {dbfiletest.Seal(unseal(good)[:len(good)/2/4096*4096]), dbfile.ErrCorrupt},
		"one page less with a valid trailer":  {dbfiletest.Seal(unseal(good)[:len(good)-32-4096]), dbfile.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inspect(test.content)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
	t.Run("a missing file", func(t *testing.T) {
		if _, err := dbfile.Inspect("/does/not/exist"); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a failing disk, which is not corruption", func(t *testing.T) {
		_, err := dbfile.InspectReader(brokenDisk{}, int64(len(good)))
		if err == nil || errors.Is(err, dbfile.ErrCorrupt) {
			t.Errorf("error %v, want one that is not ErrCorrupt", err)
		}
	})
}

type brokenDisk struct{}

func (brokenDisk) ReadAt([]byte, int64) (int, error) { return 0, errors.New("I/O error") }

// TestInspectSurvivesDamagedOffsets writes one wrong number at a time to the offsets and sizes of a database with a valid
// trailer. A member with a broken disk could send such a file. Inspect must not panic or hang, and bbolt must be able to
// open a file that Inspect accepts.
func TestInspectSurvivesDamagedOffsets(t *testing.T) {
	good := unseal(newDatabase(t).Put(300, 50).Put(2, 9000).Snapshot())
	const page = 4096
	refused := 0
	for id := range len(good) / page {
		count := int(binary.NativeEndian.Uint16(good[id*page+10:]))
		for _, field := range []int{0, 8, 10, 12, 16, 20, 24, 28, 16 * count, 16*count + 4} {
			for _, value := range []uint32{0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF} {
				if id*page+field+4 > len(good) {
					continue
				}
				bad := bytes.Clone(good)
				binary.NativeEndian.PutUint32(bad[id*page+field:], value)
				if id < 2 {
					fixMeta(bad[id*page+16:])
				}
				_, err := inspect(dbfiletest.Seal(bad))
				switch {
				case errors.Is(err, dbfile.ErrCorrupt):
					refused++
				case err != nil:
					t.Errorf("page %d byte %d value %#x: error %v, want ErrCorrupt or none", id, field, value, err)
				default:
					if _, err := snapshot.NewV3(zap.NewNop()).Status(write(t, dbfiletest.Seal(bad))); err != nil {
						t.Errorf("page %d byte %d value %#x: passed, and etcdutl says %v", id, field, value, err)
					}
				}
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d files were refused: does this test change anything?", refused)
	}
}

// fixMeta updates the checksum of a meta page.
func fixMeta(meta []byte) {
	sum := fnv.New64a()
	sum.Write(meta[:56])
	binary.NativeEndian.PutUint64(meta[56:], sum.Sum64())
}

func TestTrailerDetectsDamageAndTruncation(t *testing.T) {
	good := newDatabase(t).Put(100, 50).Snapshot()
	readers := map[string]func(io.Reader) io.Reader{
		"in one piece":     func(r io.Reader) io.Reader { return r },
		"in single bytes":  iotest.OneByteReader,
		"in halves":        iotest.HalfReader,
		"with a late EOF":  iotest.DataErrReader,
		"in pieces of 31":  func(r io.Reader) io.Reader { return pieces{r, 31} },
		"in pieces of 33":  func(r io.Reader) io.Reader { return pieces{r, 33} },
		"in pieces of 512": func(r io.Reader) io.Reader { return pieces{r, 512} },
	}
	for name, split := range readers {
		t.Run("accepts a complete snapshot "+name, func(t *testing.T) {
			trailer := dbfile.NewTrailer()
			if _, err := io.Copy(onlyWriter{trailer}, split(bytes.NewReader(good))); err != nil {
				t.Fatal(err)
			}
			if err := trailer.Check(); err != nil {
				t.Error(err)
			}
			if err := trailer.Check(); err != nil {
				t.Errorf("second look: %v", err)
			}
			if got, want := trailer.SHA256(), sha256.Sum256(good); got != want || trailer.Size() != int64(len(good)) {
				t.Errorf("SHA-256 %x of %d bytes, want %x of %d", got, trailer.Size(), want, len(good))
			}
		})
	}
	t.Run("detects any flipped bit", func(t *testing.T) {
		for range 300 {
			at, bit := rand.IntN(len(good)), byte(1)<<rand.IntN(8)
			bad := bytes.Clone(good)
			bad[at] ^= bit
			if err := check(bad); !errors.Is(err, dbfile.ErrCorrupt) {
				t.Errorf("byte %d bit %#x: error %v, want ErrCorrupt", at, bit, err)
			}
		}
	})
	t.Run("detects any truncation", func(t *testing.T) {
		for _, left := range []int{0, 1, 31, 32, 33, 512, 544, len(good) / 2, len(good) - 4096, len(good) - 512, len(good) - 32, len(good) - 1} {
			err := check(good[:left])
			if !errors.Is(err, dbfile.ErrCorrupt) && !errors.Is(err, dbfile.ErrNoTrailer) {
				t.Errorf("%d of %d bytes: error %v", left, len(good), err)
			}
		}
	})
}

func check(content []byte) error {
	trailer := dbfile.NewTrailer()
	_, _ = trailer.Write(content)
	return trailer.Check()
}

func inspect(content []byte) (dbfile.Info, error) {
	return dbfile.InspectReader(bytes.NewReader(content), int64(len(content)))
}

type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

// onlyWriter hides the other methods of a writer from io.Copy.
type onlyWriter struct{ io.Writer }

func FuzzInspect(f *testing.F) {
	good := newDatabase(f).Put(200, 30).Delete("key-000003").Snapshot()
	f.Add(uint32(0), []byte{}, uint32(len(good)))
	f.Add(uint32(4096*3+10), []byte{0xFF, 0xFF}, uint32(len(good)))
	f.Add(uint32(4096*3+16), bytes.Repeat([]byte{0xFF}, 64), uint32(len(good)))
	// Patch and truncate a valid file: random bytes never get past the first page.
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, size uint32) {
		bad := unseal(good)
		bad = bad[:min(int(size)/512*512, len(bad))]
		if int(at) < len(bad) {
			copy(bad[at:], patch)
		}
		for id := range 2 {
			if start := id*4096 + 16; start+64 <= len(bad) {
				fixMeta(bad[start:])
			}
		}
		if _, err := inspect(dbfiletest.Seal(bad)); err != nil && !errors.Is(err, dbfile.ErrCorrupt) && !errors.Is(err, dbfile.ErrNoTrailer) {
			t.Errorf("error %v, want ErrCorrupt or ErrNoTrailer", err)
		}
	})
}

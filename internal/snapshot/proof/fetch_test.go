package proof_test

import (
	"bytes"
	"compress/gzip"
	"compress/lzw"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestFetchReturnsTheVerifiedSnapshot(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 300)
	t.Run("of a saved snapshot", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, nil))
		if err != nil {
			t.Fatal(err)
		}
		fetched, err := proof.Fetch(t.Context(), store, snapshottest.Key, proof.Alone(t.TempDir()), nil, snapshot.Anyone)
		if err != nil {
			t.Fatal(err)
		}
		if fetched.Manifest == nil || *fetched.Manifest != saved.Manifest {
			t.Errorf("manifest %+v, want %+v", fetched.Manifest, saved.Manifest)
		}
		wantFile(t, fetched.Path, content)
	})
	t.Run("of an object without a manifest", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		store.Write("etcd.backup_v301_2026-11-21-12:00:00", content)
		fetched, err := proof.Fetch(t.Context(), store, "etcd.backup_v301_2026-11-21-12:00:00", proof.Alone(t.TempDir()), nil, snapshot.Anyone)
		if err != nil {
			t.Fatal(err)
		}
		if fetched.Manifest != nil || fetched.Info.Revision != 301 || fetched.Info.Keys != 300 || len(fetched.SHA256) != 64 {
			t.Errorf("fetched %+v, want what the object itself proves", fetched)
		}
		wantFile(t, fetched.Path, content)
	})
	for name, compress := range map[string]func(io.Writer) io.WriteCloser{
		"Full-00000000-00000301-1700000000":          nil,
		"Full-00000000-00000301-1700000000.gz":       func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"Full-00000000-00000301-1700000000.gz.final": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"Full-00000000-00000301-1700000000.zlib":     func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"Full-00000000-00000301-1700000000.Z":        func(w io.Writer) io.WriteCloser { return lzw.NewWriter(w, lzw.LSB, 8) },
	} {
		t.Run("of the etcd-backup-restore object "+name, func(t *testing.T) {
			object := compressed(t, content, compress)
			store := snapshottest.NewBucket(t)
			store.Write("v2/"+name, object)
			fetched, err := proof.Fetch(t.Context(), store, "v2/"+name, proof.Alone(t.TempDir()), nil, snapshot.Anyone)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(object)
			if fetched.Info.Revision != 301 || fetched.Size != int64(len(object)) || fetched.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("fetched %+v", fetched)
			}
			wantFile(t, fetched.Path, content)
			again, err := proof.FetchAgain(t.Context(), store, "v2/"+name, proof.Alone(t.TempDir()), nil, fetched.SHA256)
			if err != nil {
				t.Fatal(err)
			}
			wantFile(t, again.Path, content)
			if compress == nil {
				return
			}
			for _, at := range []int{20, len(object) / 2, len(object) - 20} {
				flipped := bytes.Clone(object)
				flipped[at] ^= 4
				for _, damaged := range [][]byte{flipped, object[:at]} {
					store.Replace("v2/"+name, damaged)
					if _, err := proof.Fetch(t.Context(), store, "v2/"+name, proof.Alone(t.TempDir()), nil, snapshot.Anyone); !errors.Is(err, dbfile.ErrCorrupt) && !errors.Is(err, dbfile.ErrNoTrailer) {
						t.Errorf("%d of %d bytes, damaged at %d: %v", len(damaged), len(object), at, err)
					}
				}
			}
		})
	}
	t.Run("rejects an incremental snapshot", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		store.Write("v2/Incr-00000302-00000400-1700000000.gz", compressed(t, []byte(`[{"etcdEvent":{}}]`), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
		_ = wantRefused(t, store, "v2/Incr-00000302-00000400-1700000000.gz", dbfile.ErrNoTrailer, "use the full snapshot")
	})
	t.Run("of an object with a foreign file in place of the manifest", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		store.Write(snapshottest.Key, content)
		store.Write(snapshottest.Key+".json", []byte(`{"note": "taken by hand"}`))
		if fetched, err := proof.Fetch(t.Context(), store, snapshottest.Key, proof.Alone(t.TempDir()), nil, snapshot.Anyone); err != nil || fetched.Manifest != nil {
			t.Errorf("manifest %v, error %v", fetched.Manifest, err)
		}
	})
	t.Run("from a store that answers 403 for missing keys", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		store.Write(snapshottest.Key, content)
		if _, err := proof.Fetch(t.Context(), secretive{store}, snapshottest.Key, proof.Alone(t.TempDir()), nil, snapshot.Anyone); err != nil {
			t.Error(err)
		}
	})
}

// compressed returns content as another tool compresses it; nil does not compress.
func compressed(t *testing.T, content []byte, compress func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	if compress == nil {
		return content
	}
	var object bytes.Buffer
	writer := compress(&object)
	_, err := writer.Write(content)
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	return object.Bytes()
}

// secretive is a store that answers as S3 does without the permission to list.
type secretive struct{ objstore.Store }

func (s secretive) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.Store.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrPermission
	}
	return body, err
}

func TestFetchRejects(t *testing.T) {
	content, other := snapshottest.Database(t, snapshottest.Member, 300), snapshottest.Database(t, snapshottest.Member, 301)
	flipped := bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	for name, test := range map[string]struct {
		object []byte // in the place of what was saved
		edit   [2]string
		want   error
		text   string
	}{
		"a flipped bit":                          {object: flipped, want: dbfile.ErrCorrupt},
		"a truncated object":                     {object: content[:len(content)-4096], want: dbfile.ErrCorrupt, text: "manifest"},
		"an object with additional bytes":        {object: append(bytes.Clone(content), content...), want: dbfile.ErrCorrupt, text: "manifest"},
		"an empty object":                        {object: []byte{}, want: dbfile.ErrCorrupt},
		"another valid snapshot":                 {object: other, want: dbfile.ErrCorrupt, text: "manifest"},
		"a manifest of another revision":         {edit: [2]string{`"revision": 301`, `"revision": 302`}, want: dbfile.ErrCorrupt, text: "302"},
		"a manifest of another object":           {edit: [2]string{`"sha256": "`, `"sha256": "` + strings.Repeat("0", 64) + `", "was": "`}, want: dbfile.ErrCorrupt, text: "SHA-256"},
		"a manifest of a newer format":           {edit: [2]string{`"formatVersion": 1`, `"formatVersion": 2`}, want: snapshot.ErrNewerFormat},
		"an unknown compression in the manifest": {edit: [2]string{`"hash"`, `"compression": "lz9", "hash"`}, want: snapshot.ErrNewerFormat, text: "lz9"},
		"an unknown encryption in the manifest":  {edit: [2]string{`"hash"`, `"encryption": "rot13", "hash"`}, want: snapshot.ErrNewerFormat, text: "rot13"},
	} {
		t.Run(name, func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, nil)); err != nil {
				t.Fatal(err)
			}
			if test.object != nil {
				store.Replace(snapshottest.Key, test.object)
			}
			if test.edit[0] != "" {
				old := string(store.Content(snapshottest.Key + ".json"))
				edited := strings.Replace(old, test.edit[0], test.edit[1], 1)
				if edited == old {
					t.Fatalf("nothing to edit in %s", old)
				}
				store.Replace(snapshottest.Key+".json", []byte(edited))
			}
			_ = wantRefused(t, store, snapshottest.Key, test.want, test.text)
		})
	}
	t.Run("a missing object", func(t *testing.T) {
		_ = wantRefused(t, snapshottest.NewBucket(t), snapshottest.Key, fs.ErrNotExist, snapshottest.Key)
	})
	t.Run("a manifest without its object", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, nil)); err != nil {
			t.Fatal(err)
		}
		if err := store.Delete(t.Context(), snapshottest.Key); err != nil {
			t.Fatal(err)
		}
		_ = wantRefused(t, store, snapshottest.Key, fs.ErrNotExist, snapshottest.Key)
	})
	t.Run("a database that was copied from a data directory", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		store.Write(snapshottest.Key, content[:len(content)-32])
		_ = wantRefused(t, store, snapshottest.Key, dbfile.ErrNoTrailer, "member/snap/db")
	})
	t.Run("a denied request", func(t *testing.T) {
		_ = wantRefused(t, secretive{snapshottest.NewBucket(t)}, snapshottest.Key, fs.ErrPermission, snapshottest.Key)
	})
	t.Run("an interrupted download, with the store's error", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		store.Write(snapshottest.Key, content)
		broken := errors.New("connection reset")
		err := wantRefused(t, breaking{store, broken}, snapshottest.Key, broken, "read object")
		if errors.Is(err, snapshot.ErrSource) || errors.Is(err, dbfile.ErrCorrupt) {
			t.Errorf("error %v has the wrong kind", err)
		}
	})
	t.Run("a missing directory, with ErrDisk", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		store.Write(snapshottest.Key, content)
		_, err := proof.Fetch(t.Context(), store, snapshottest.Key, proof.Alone("/does/not/exist"), nil, snapshot.Anyone)
		if !errors.Is(err, snapshot.ErrDisk) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want ErrDisk only", err)
		}
	})
}

// breaking is a store whose bodies break off in the middle.
type breaking struct {
	objstore.Store
	err error
}

func (b breaking) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := b.Store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(body, 5000), snapshottest.ErrReader{Err: b.err}), body}, nil
}

func wantRefused(t *testing.T, store objstore.Store, key string, want error, text string) error {
	t.Helper()
	dir := t.TempDir()
	_, err := proof.Fetch(t.Context(), store, key, proof.Alone(dir), nil, snapshot.Anyone)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %v with %q", err, want, text)
	}
	if left := snapshottest.OnDisk(t, dir); len(left) != 0 {
		t.Errorf("left %q on the disk", left)
	}
	return err
}

func wantFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes that differ from the %d saved", len(got), len(want))
	}
}

package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// theirs is the series of ours in the second location.
var theirs = Series{Folder: "second/folder", Namespace: "ns", Cluster: "example", ClusterID: 1}

// place puts a snapshot into the store, a number of minutes after noon.
func (b bucket) place(minutes int, verdict Result) string {
	b.t.Helper()
	e := entry(ours, minutes, int64(1000+minutes))
	content := bytes.Repeat([]byte(e.Key), 50)
	sum := sha256.Sum256(content)
	e.Manifest.Size, e.Manifest.SHA256, e.Manifest.Cluster.ID = int64(len(content)), hex.EncodeToString(sum[:]), "0000000000000001"
	encoded, err := e.Manifest.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(e.Key, content)
	b.put(ManifestKey(e.Key), encoded)
	if verdict != "" {
		if err := WriteVerdict(b.t.Context(), b, e.Key, Verdict{Result: verdict, Time: noon, SHA256: e.Manifest.SHA256}); err != nil {
			b.t.Fatal(err)
		}
	}
	return e.Key
}

// second is a copy from one bucket to another.
func second(from, to bucket) CopyRequest {
	return CopyRequest{From: from, To: to, FromSeries: ours, ToSeries: theirs, Policy: Policy{Now: noon.Add(1000 * time.Hour)}}
}

func mustCopy(t *testing.T, r CopyRequest) Copied {
	t.Helper()
	done, err := Copy(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// whole fails if a committed copy differs from its original.
func whole(t *testing.T, r CopyRequest, from, to bucket) (committed []string) {
	t.Helper()
	index, err := Scan(t.Context(), to, theirs.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range index.Items {
		committed = append(committed, item.Key)
		original := ours.Prefix() + item.Key[len(theirs.Prefix()):]
		if !bytes.Equal(to.get(item.Key), from.get(original)) || !bytes.Equal(to.get(ManifestKey(item.Key)), from.get(ManifestKey(original))) {
			t.Errorf("%s differs from %s", item.Key, original)
		}
	}
	return committed
}

func TestEachProvenSnapshotIsCopiedWithItsManifestAndItsVerdict(t *testing.T) {
	from, to := newBucket(t), newBucket(t)
	plain, tested := from.place(1, ""), from.place(2, Passed)
	from.place(3, Failed)
	from.put(ours.Key(noon.Add(4*time.Minute), 4), []byte("without a manifest"))
	r := second(from, to)
	done := mustCopy(t, r)
	want := []string{r.keyOf(plain), ManifestKey(r.keyOf(plain)), r.keyOf(tested), ManifestKey(r.keyOf(tested)), VerdictKey(r.keyOf(tested), Passed)}
	if got := to.keys(); !slices.Equal(got, want) {
		t.Errorf("copied %q, want %q", got, want)
	}
	if newest := done.Index.Items[0]; newest.Key != r.keyOf(tested) || newest.Verdict != Passed || done.Missing != 0 {
		t.Errorf("reported %+v", done)
	}
	whole(t, r, from, to)
}

func TestASnapshotIsCopiedOnlyAfterItsRestoreTestIfTheSpecAsksForOne(t *testing.T) {
	from, to := newBucket(t), newBucket(t)
	from.place(1, "")
	r := second(from, to)
	r.Policy.Verify = true
	mustCopy(t, r)
	if got := to.keys(); len(got) > 0 {
		t.Errorf("copied %q", got)
	}
}

func TestASnapshotThatDiffersFromItsManifestIsNotCopied(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a changed byte":                    func(b []byte) []byte { b[7] ^= 1; return b },
		"a truncated object":                func(b []byte) []byte { return b[:len(b)-1] },
		"an object with an additional byte": func(b []byte) []byte { return append(b, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newBucket(t), newBucket(t)
			key := from.place(1, "")
			content := damage(from.get(key))
			checked := &checkedBody{body: bytes.NewReader(content), sum: sha256.New(), manifest: mustManifest(t, from, key)}
			if err := to.Put(t.Context(), "k", checked); !errors.Is(err, dbfile.ErrCorrupt) || len(to.keys()) > 0 {
				t.Errorf("error %v, stored %q", err, to.keys())
			}
			from.remove(key)
			from.put(key, content)
			if _, err := Copy(t.Context(), second(from, to)); len(content) == len(from.get(key)) && name == "a changed byte" && !errors.Is(err, ErrCopySource) {
				t.Errorf("error %v", err)
			}
			if got := to.keys(); len(got) > 0 {
				t.Errorf("copied %q", got)
			}
		})
	}
}

func mustManifest(t *testing.T, b bucket, key string) Manifest {
	t.Helper()
	m, err := readManifest(t.Context(), b, key, Anyone)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestADamagedFirstLocationDoesNotCondemnTheCopy(t *testing.T) {
	for name, of := range map[string]struct {
		sha  string
		want Result
	}{"another object was tested": {"", ""}, "the same bytes were tested": {"same", Failed}} {
		t.Run(name, func(t *testing.T) {
			from, to := newBucket(t), newBucket(t)
			key := from.place(1, "")
			r := second(from, to)
			mustCopy(t, r)
			v := Verdict{Result: Failed, Time: noon, SHA256: of.sha}
			if of.sha == "same" {
				v.SHA256 = mustManifest(t, from, key).SHA256
			}
			if err := WriteVerdict(t.Context(), from, key, v); err != nil {
				t.Fatal(err)
			}
			mustCopy(t, r)
			if got := scanned(t, to).Verdict; got != of.want {
				t.Errorf("verdict %q, want %q", got, of.want)
			}
		})
	}
}

func TestACopyReplacesNoOtherObject(t *testing.T) {
	from, to := newBucket(t), newBucket(t)
	key := from.place(1, "")
	r := second(from, to)
	to.put(r.keyOf(key), []byte("of somebody else"))
	if _, err := Copy(t.Context(), r); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if got := string(to.get(r.keyOf(key))); got != "of somebody else" || len(to.keys()) != 1 {
		t.Errorf("%q in %q", got, to.keys())
	}
}

func TestAnInterruptedCopyContinues(t *testing.T) {
	for _, when := range []when{before, inBetween, after} {
		for at := 1; at <= 12; at++ {
			t.Run(fmt.Sprintf("%s call %d", when, at), func(t *testing.T) {
				from, to := newBucket(t), newBucket(t)
				from.place(1, Passed)
				from.place(2, "")
				r := second(from, to)
				r.To = &mortal{Store: to, at: at, when: when}
				_, _ = Copy(t.Context(), r)
				whole(t, r, from, to)
				r.To = to
				if mustCopy(t, r); len(whole(t, r, from, to)) != 2 || len(to.keys()) != 5 {
					t.Errorf("stored %q", to.keys())
				}
			})
		}
	}
}

// TestRandomHistoriesAreCopiedAndKept has snapshots with any results, interruptions, and retention in both locations that
// runs in any order.
func TestRandomHistoriesAreCopiedAndKept(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			from, to := newBucket(t), newBucket(t)
			r := second(from, to)
			r.Policy.MaxBackups = random.IntN(4)
			r.Policy.Tests = random.IntN(3) == 0
			newest := ""
			for minute := range 12 {
				verdict := []Result{"", "", Passed, Failed}[random.IntN(4)]
				if key := from.place(minute, verdict); verdict != Failed {
					newest = key
				}
				r.To = to
				if random.IntN(2) == 0 {
					r.To = &mortal{Store: to, at: 1 + random.IntN(8), when: []when{before, inBetween, after}[random.IntN(3)]}
				}
				if _, err := Copy(t.Context(), r); err == nil && random.IntN(2) == 0 {
					tidied(t, to, theirs, r.Policy)
				}
				if random.IntN(2) == 0 {
					tidied(t, from, ours, r.Policy)
				}
			}
			r.To = to
			mustCopy(t, r)
			tidied(t, to, theirs, r.Policy)
			if newest != "" && !slices.Contains(to.keys(), ManifestKey(r.keyOf(newest))) {
				t.Errorf("the newest snapshot %s is not in the second location: %q", newest, to.keys())
			}
			again := &countingPuts{mortal: mortal{Store: to}}
			r.To = again
			if mustCopy(t, r); again.puts > 0 {
				t.Errorf("what retention has deleted is copied again: %d objects", again.puts)
			}
		})
	}
}

type countingPuts struct {
	mortal
	puts int
}

func (c *countingPuts) Put(ctx context.Context, key string, body io.Reader) error {
	c.puts++
	return c.mortal.Put(ctx, key, body)
}

// tidied applies retention once.
func tidied(t *testing.T, b bucket, series Series, p Policy) {
	t.Helper()
	index, err := Scan(t.Context(), b, series.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Retain(t.Context(), b, series, index, Known{}, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range d.Delete {
		b.remove(key)
	}
}

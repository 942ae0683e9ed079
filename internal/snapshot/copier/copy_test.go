package copier

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// second is a copy from one bucket to another.
func second(from, to snapshottest.Bucket) Request {
	return Request{From: from, To: to, FromSeries: snapshottest.Ours, ToSeries: snapshottest.Theirs, Policy: retention.Policy{Now: snapshottest.Noon.Add(1000 * time.Hour)}}
}

func mustCopy(t *testing.T, r Request) Copied {
	t.Helper()
	done, err := Copy(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// whole fails if a committed copy differs from its original.
func whole(t *testing.T, r Request, from, to snapshottest.Bucket) (committed []string) {
	t.Helper()
	index, err := catalog.Scan(t.Context(), to, snapshottest.Theirs.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range index.Items {
		committed = append(committed, item.Key)
		original := snapshottest.Ours.Prefix() + item.Key[len(snapshottest.Theirs.Prefix()):]
		if !bytes.Equal(to.Content(item.Key), from.Content(original)) || !bytes.Equal(to.Content(snapshot.ManifestKey(item.Key)), from.Content(snapshot.ManifestKey(original))) {
			t.Errorf("%s differs from %s", item.Key, original)
		}
	}
	return committed
}

func TestEachProvenSnapshotIsCopiedWithItsManifestAndItsVerdict(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	plain, tested := from.Place(1, ""), from.Place(2, snapshot.Passed)
	from.Place(3, snapshot.Failed)
	from.Write(snapshottest.Ours.Key(snapshottest.Noon.Add(4*time.Minute), 4), []byte("without a manifest"))
	r := second(from, to)
	done := mustCopy(t, r)
	want := []string{r.keyOf(plain), snapshot.ManifestKey(r.keyOf(plain)), r.keyOf(tested), snapshot.ManifestKey(r.keyOf(tested)), snapshot.VerdictKey(r.keyOf(tested), snapshot.Passed)}
	if got := to.Keys(); !slices.Equal(got, want) {
		t.Errorf("copied %q, want %q", got, want)
	}
	if newest := done.Index.Items[0]; newest.Key != r.keyOf(tested) || newest.Verdict != snapshot.Passed || done.Missing != 0 {
		t.Errorf("reported %+v", done)
	}
	whole(t, r, from, to)
}

func TestASnapshotIsCopiedOnlyAfterItsRestoreTestIfTheSpecAsksForOne(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	from.Place(1, "")
	r := second(from, to)
	r.Policy.Verify = true
	mustCopy(t, r)
	if got := to.Keys(); len(got) > 0 {
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
			from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
			key := from.Place(1, "")
			content := damage(from.Content(key))
			checked := &save.CheckedBody{Body: bytes.NewReader(content), Sum: sha256.New(), Manifest: snapshottest.MustManifest(t, from, key)}
			if err := to.Put(t.Context(), "k", checked); !errors.Is(err, dbfile.ErrCorrupt) || len(to.Keys()) > 0 {
				t.Errorf("error %v, stored %q", err, to.Keys())
			}
			from.Remove(key)
			from.Write(key, content)
			if _, err := Copy(t.Context(), second(from, to)); len(content) == len(from.Content(key)) && name == "a changed byte" && !errors.Is(err, ErrSource) {
				t.Errorf("error %v", err)
			}
			if got := to.Keys(); len(got) > 0 {
				t.Errorf("copied %q", got)
			}
		})
	}
}

func TestADamagedFirstLocationDoesNotCondemnTheCopy(t *testing.T) {
	for name, of := range map[string]struct {
		sha  string
		want snapshot.Result
	}{"another object was tested": {"", ""}, "the same bytes were tested": {"same", snapshot.Failed}} {
		t.Run(name, func(t *testing.T) {
			from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
			key := from.Place(1, "")
			r := second(from, to)
			mustCopy(t, r)
			v := snapshot.Verdict{Result: snapshot.Failed, Time: snapshottest.Noon, SHA256: of.sha}
			if of.sha == "same" {
				v.SHA256 = snapshottest.MustManifest(t, from, key).SHA256
			}
			if err := snapshot.WriteVerdict(t.Context(), from, key, v); err != nil {
				t.Fatal(err)
			}
			mustCopy(t, r)
			if got := snapshottest.Scanned(t, to).Verdict; got != of.want {
				t.Errorf("verdict %q, want %q", got, of.want)
			}
		})
	}
}

func TestACopyReplacesNoOtherObject(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	key := from.Place(1, "")
	r := second(from, to)
	to.Write(r.keyOf(key), []byte("of somebody else"))
	if _, err := Copy(t.Context(), r); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if got := string(to.Content(r.keyOf(key))); got != "of somebody else" || len(to.Keys()) != 1 {
		t.Errorf("%q in %q", got, to.Keys())
	}
}

func TestAnInterruptedCopyContinues(t *testing.T) {
	for _, when := range []snapshottest.When{snapshottest.Before, snapshottest.InBetween, snapshottest.After} {
		for at := 1; at <= 12; at++ {
			t.Run(fmt.Sprintf("%s call %d", when, at), func(t *testing.T) {
				from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
				from.Place(1, snapshot.Passed)
				from.Place(2, "")
				r := second(from, to)
				r.To = &snapshottest.Mortal{Store: to, At: at, When: when}
				_, _ = Copy(t.Context(), r)
				whole(t, r, from, to)
				r.To = to
				if mustCopy(t, r); len(whole(t, r, from, to)) != 2 || len(to.Keys()) != 5 {
					t.Errorf("stored %q", to.Keys())
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
			from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
			r := second(from, to)
			r.Policy.MaxBackups = random.IntN(4)
			r.Policy.Tests = random.IntN(3) == 0
			newest := ""
			for minute := range 12 {
				verdict := []snapshot.Result{"", "", snapshot.Passed, snapshot.Failed}[random.IntN(4)]
				if key := from.Place(minute, verdict); verdict != snapshot.Failed {
					newest = key
				}
				r.To = to
				if random.IntN(2) == 0 {
					r.To = &snapshottest.Mortal{Store: to, At: 1 + random.IntN(8), When: []snapshottest.When{snapshottest.Before, snapshottest.InBetween, snapshottest.After}[random.IntN(3)]}
				}
				if _, err := Copy(t.Context(), r); err == nil && random.IntN(2) == 0 {
					tidied(t, to, snapshottest.Theirs, r.Policy)
				}
				if random.IntN(2) == 0 {
					tidied(t, from, snapshottest.Ours, r.Policy)
				}
			}
			r.To = to
			mustCopy(t, r)
			tidied(t, to, snapshottest.Theirs, r.Policy)
			if newest != "" && !slices.Contains(to.Keys(), snapshot.ManifestKey(r.keyOf(newest))) {
				t.Errorf("the newest snapshot %s is not in the second location: %q", newest, to.Keys())
			}
			again := &countingPuts{Mortal: snapshottest.Mortal{Store: to}}
			r.To = again
			if mustCopy(t, r); again.puts > 0 {
				t.Errorf("what retention has deleted is copied again: %d objects", again.puts)
			}
		})
	}
}

type countingPuts struct {
	snapshottest.Mortal
	puts int
}

func (c *countingPuts) Put(ctx context.Context, key string, body io.Reader) error {
	c.puts++
	return c.Mortal.Put(ctx, key, body)
}

// tidied applies retention once.
func tidied(t *testing.T, b snapshottest.Bucket, series snapshot.Series, p retention.Policy) {
	t.Helper()
	index, err := catalog.Scan(t.Context(), b, series.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	d, err := retention.Retain(t.Context(), b, series, index, catalog.Known{}, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range d.Delete {
		b.Remove(key)
	}
}

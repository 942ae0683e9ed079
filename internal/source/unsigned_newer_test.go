package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// by asks for the snapshot that the status of an EtcdBackup names, or a newer one: without select, and with select: {}.
func (s shelf) by(store objstore.Store, named string, signers snapshot.Signers) map[string]func() (string, string, error) {
	at := dawn.Add(1000 * time.Hour)
	return map[string]func() (string, string, error){
		"without select": func() (string, string, error) {
			c := Choice{Fallback: "daily/ns/a/", Of: "ns/a", Backup: "nightly"}
			return exact(s.Context(), store, v1beta2.RestoreSource{Bucket: s.bucket, Key: named}, c, signers, at)
		},
		"select: {}": func() (string, string, error) {
			c := Choice{Folder: true, Of: "ns/a", Recorded: named}
			return choose(s.Context(), store, v1beta2.RestoreSource{Bucket: s.bucket, Key: "daily/ns/a/"}, c, signers, at)
		},
	}
}

// Two EtcdBackups save one cluster into one folder, and only one of them signs. Each restore with its public key failed until it had saved the
// next snapshot, because the other one's was newer.
func TestASignedSnapshotIsRestoredAlthoughANewerOneHasNoSignature(t *testing.T) {
	changes := map[string]func(s shelf, key string){
		"it has no signature":       func(shelf, string) {},
		"another key has signed it": func(s shelf, key string) { other, _ := s.signingKey(); s.sign(other, key) },
		"its manifest was changed": func(s shelf, key string) {
			signer, _ := s.signingKey()
			s.sign(signer, key)
			s.rewrite(key, withoutQuorum)
		},
	}
	for name, change := range changes {
		for _, later := range []bool{false, true} {
			s := newShelf(t)
			signer, signers := s.signingKey()
			named := s.saved("a", 1, 1)
			s.sign(signer, named)
			want := named
			if later { // one that the status does not have yet
				want = s.saved("a", 1, 2)
				s.rewrite(want, func(m *snapshot.Manifest) { m.Backup = "nightly" })
				s.sign(signer, want)
			}
			newer := s.saved("a", 1, 3)
			change(s, newer)
			store, err := file.Open(s.bucket)
			if err != nil {
				t.Fatal(err)
			}
			for how, find := range s.by(store, named, signers) {
				key, why, err := find()
				if err != nil || key != want || !strings.Contains(why, newer) || !strings.Contains(why, "signature") && !strings.Contains(why, "another key") {
					t.Errorf("%s, later one %v, %s: %s, because %q, %v", name, later, how, key, why, err)
				}
			}
		}
	}
}

// The snapshot that the status names must be signed itself. Otherwise who can write to the bucket replaces it by an older one.
func TestNoSnapshotTakesThePlaceOfANamedOneWithoutASignature(t *testing.T) {
	s := newShelf(t)
	signer, signers := s.signingKey()
	s.sign(signer, s.saved("a", 1, 1))
	named := s.saved("a", 1, 2)
	s.saved("a", 1, 3)
	store, err := file.Open(s.bucket)
	if err != nil {
		t.Fatal(err)
	}
	for how, find := range s.by(store, named, signers) {
		if key, why, err := find(); !errors.Is(err, snapshot.ErrNotSigned) {
			t.Errorf("%s: %s, because %q, %v", how, key, why, err)
		}
	}
}

// partial is a store whose listing omits some names. refused keys cannot be read.
type partial struct {
	objstore.Store
	omitted, refused []string
}

func (p partial) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for o, err := range p.Store.List(ctx, prefix) {
			if err == nil && slices.Contains(p.omitted, o.Key) {
				continue
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

func (p partial) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if slices.Contains(p.refused, key) {
		return nil, errors.New("500")
	}
	return p.Store.Get(ctx, key)
}

// The listing of a store lags behind, and omits the newest snapshot. A restore with select: {} took an older one without a word.
func TestSelectTakesTheSnapshotOfTheStatusAlthoughAListingOmitsIt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s shelf, p *partial, named string)
		want   bool   // the named one
		why    string // of an older one
		fails  bool
	}{
		"all is listed":           {change: func(shelf, *partial, string) {}, want: true},
		"the object is omitted":   {change: func(_ shelf, p *partial, n string) { p.omitted = []string{n} }, want: true},
		"the manifest is omitted": {change: func(_ shelf, p *partial, n string) { p.omitted = []string{snapshot.ManifestKey(n)} }, want: true},
		"both are omitted":        {change: func(_ shelf, p *partial, n string) { p.omitted = []string{n, snapshot.ManifestKey(n)} }, want: true},
		"the store does not return it": {change: func(_ shelf, p *partial, n string) {
			p.omitted, p.refused = []string{n, snapshot.ManifestKey(n)}, []string{n}
		}, fails: true},
		"it was deleted":     {change: func(s shelf, _ *partial, n string) { s.remove(n); s.remove(snapshot.ManifestKey(n)) }, why: "does not exist"},
		"it failed its test": {change: func(s shelf, _ *partial, n string) { s.file(snapshot.VerdictKey(n, snapshot.Failed), nil) }, why: "failed its restore test"},
		"it failed its test, and all is omitted": {change: func(s shelf, p *partial, n string) {
			s.file(snapshot.VerdictKey(n, snapshot.Failed), nil)
			p.omitted = []string{n, snapshot.ManifestKey(n), snapshot.VerdictKey(n, snapshot.Failed)}
		}, why: "failed its restore test"},
		"it was taken without quorum": {change: func(s shelf, p *partial, n string) { s.rewrite(n, withoutQuorum); p.omitted = []string{n} }, why: "without quorum"},
		"its manifest is damaged":     {change: func(s shelf, _ *partial, n string) { s.file(snapshot.ManifestKey(n), []byte("{")) }, why: "cannot be read"},
	} {
		s := newShelf(t)
		older, named := s.saved("a", 1, 1), s.saved("a", 1, 2)
		store, err := file.Open(s.bucket)
		if err != nil {
			t.Fatal(err)
		}
		p := partial{Store: store}
		test.change(s, &p, named)
		for how, find := range s.by(p, named, snapshot.Anyone) {
			if how == "without select" && test.why == "cannot be read" {
				continue // its object is read, and proves itself
			}
			key, why, err := find()
			switch {
			case test.fails && (err == nil || errors.Is(err, fs.ErrNotExist)):
				t.Errorf("%s, %s: %s, because %q, %v", name, how, key, why, err)
			case test.want && (err != nil || key != named):
				t.Errorf("%s, %s: %s, because %q, %v", name, how, key, why, err)
			case test.why != "" && (err != nil || key != older || !strings.Contains(why, named) || !strings.Contains(why, test.why)):
				t.Errorf("%s, %s: %s, because %q, %v", name, how, key, why, err)
			}
		}
	}
}

package copier

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// TestAReplacedSnapshotIsRefusedByEachReader does what a user who can write to the bucket can do. Each reader that decides what is restored, tested or
// copied must refuse the result.
func TestAReplacedSnapshotIsRefusedByEachReader(t *testing.T) {
	signer, signers := snapshottest.SigningKey(t)
	intruder, _ := snapshottest.SigningKey(t)
	content := snapshottest.Database(t, snapshottest.Member, 30)
	store := snapshottest.NewBucket(t)
	named := snapshottest.Ours.Key(snapshottest.Noon, 31)
	sign := func(by *snapshot.Signer) func(*save.Request) {
		return func(r *save.Request) { r.Key, r.Signer = named, by }
	}
	saveSnapshot := func(by *snapshot.Signer, content []byte) snapshot.Manifest {
		saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, sign(by)))
		if err != nil {
			t.Fatal(err)
		}
		return saved.Manifest
	}
	clear := func() { store.Remove(named); store.Remove(snapshot.ManifestKey(named)) }
	rewrite := func(m snapshot.Manifest) {
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		store.Remove(snapshot.ManifestKey(named))
		store.Write(snapshot.ManifestKey(named), text)
	}
	readers := map[string]func() error{
		"ManifestOf": func() error { _, err := snapshot.ManifestOf(t.Context(), store, named, signers); return err },
		"Fetch": func() error {
			_, err := proof.Fetch(t.Context(), store, named, proof.Alone(t.TempDir()), nil, signers)
			return err
		},
		"Known": func() error {
			known := catalog.Known{}
			err := known.Read(t.Context(), store, []catalog.Item{{Key: named}}, signers)
			return errors.Join(err, known[named].Err)
		},
		"RunRestoreTest": func() error {
			_, err := proof.RunRestoreTest(t.Context(), proof.RestoreTestRequest{Store: store, Key: named, ScratchDir: t.TempDir(), Signers: signers,
				Try: func(context.Context, dbfile.Trial) (dbfile.KVHash, error) { return dbfile.KVHash{}, nil }})
			return err
		},
		"Copy": func() error {
			r := second(store, snapshottest.NewBucket(t))
			r.Signers = signers
			done, err := Copy(t.Context(), r)
			if done.Last != "" && err == nil {
				return nil
			}
			return errors.Join(errors.New("nothing was copied"), err)
		},
		"Save, which would take it for an earlier try": func() error {
			_, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, sign(signer)))
			return err
		},
	}
	for name, test := range map[string]struct {
		replace func()
		want    error
	}{
		"by one without a signature": {func() { saveSnapshot(nil, snapshottest.Database(t, snapshottest.Member, 40)) }, snapshot.ErrNotSigned},
		"by one with the intruder's": {func() { saveSnapshot(intruder, snapshottest.Database(t, snapshottest.Member, 40)) }, snapshot.ErrUnknownSigner},
		"and the former signature was kept": {func() {
			m := saveSnapshot(signer, content)
			clear()
			n := saveSnapshot(nil, snapshottest.Database(t, snapshottest.Member, 40))
			n.Signature = m.Signature
			rewrite(n)
		}, snapshot.ErrSignature},
		"and the manifest has another hash": {func() { m := saveSnapshot(signer, content); m.SHA256 = strings.Repeat("ab", 32); rewrite(m) }, snapshot.ErrSignature},
		"and the signature is no base64":    {func() { m := saveSnapshot(signer, content); m.Signature.Value = "?"; rewrite(m) }, snapshot.ErrSignature},
		"and the signature names no key":    {func() { m := saveSnapshot(signer, content); m.Signature.Key = "a page of another server"; rewrite(m) }, snapshot.ErrSignature},
		"by an older one under its own name": {func() {
			m := signer.Sign(snapshottest.Ours.Key(snapshottest.Noon.Add(-time.Hour), 31), saveSnapshot(signer, content))
			rewrite(m)
		}, snapshot.ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			test.replace()
			for reader, read := range readers {
				err := read()
				if reader == "Save, which would take it for an earlier try" {
					if !errors.Is(err, fs.ErrExist) {
						t.Errorf("%s: %v, want %v", reader, err, fs.ErrExist)
					}
				} else if !errors.Is(err, test.want) {
					t.Errorf("%s: %v, want %v", reader, err, test.want)
				}
				if err != nil && strings.Contains(err.Error(), "a page of") {
					t.Errorf("%s repeats what the bucket has: %v", reader, err)
				}
			}
			clear()
		})
	}
	saveSnapshot(signer, content)
	for reader, read := range readers {
		if err := read(); err != nil {
			t.Errorf("%s refuses the snapshot that the operator saved: %v", reader, err)
		}
	}
}

// TestSnapshotsFromBeforeSigningAreSkippedByTheCopy: they are listed, kept and deleted as before, but the second location gets signed ones only.
func TestSnapshotsFromBeforeSigningAreSkippedByTheCopy(t *testing.T) {
	signer, signers := snapshottest.SigningKey(t)
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	old := from.Place(1, "")
	newest := from.Place(2, "")
	m, err := snapshot.ReadManifest(t.Context(), from, newest, snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	r := second(from, to)
	r.Signers = signers
	if _, err := Copy(t.Context(), r); !errors.Is(err, snapshot.ErrNotSigned) || !errors.Is(err, ErrSource) {
		t.Errorf("the newest is not signed: %v", err)
	}
	text, err := signer.Sign(newest, m).Encode()
	if err != nil {
		t.Fatal(err)
	}
	from.Remove(snapshot.ManifestKey(newest))
	from.Write(snapshot.ManifestKey(newest), text)
	done := mustCopy(t, r)
	if done.Last != r.keyOf(newest) || slices.Contains(to.Keys(), r.keyOf(old)) {
		t.Errorf("copied %s, the second location has %q", done.Last, to.Keys())
	}
	if _, err := snapshot.ReadManifest(t.Context(), to, done.Last, signers); err != nil {
		t.Errorf("the copy lost its signature: %v", err)
	}
}

package save_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestSaveOfAnEncodedObjectHandlesFailures(t *testing.T) {
	alice, _ := snapshottest.KeyPair(t)
	content := snapshottest.Database(t, snapshottest.Member, 300)
	for _, encoder := range []codec.Encoder{{Compression: codec.Zstd}, {Recipients: []string{alice}}} {
		t.Run(encoder.Encoding().Suffix()+": stores no object if the stream is invalid", func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			_, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content[:len(content)-512], func(r *save.Request) { r.Encoder = encoder }))
			if !errors.Is(err, dbfile.ErrCorrupt) && !errors.Is(err, dbfile.ErrNoTrailer) || len(store.Keys()) != 0 {
				t.Errorf("error %v, and the store holds %q", err, store.Keys())
			}
		})
		t.Run(encoder.Encoding().Suffix()+": finds its object if the answer of the store was lost", func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, snapshottest.Forgetful{Store: store, Key: snapshottest.Key}, content, func(r *save.Request) { r.Encoder, r.Attempt = encoder, "" }))
			if err != nil || saved.Found || saved.Manifest.Encoding() != encoder.Encoding() {
				t.Errorf("saved %+v, error %v", saved, err)
			}
		})
	}
	t.Run("adopts a compressed object without a manifest", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		r := snapshottest.Request(t, store, content, func(r *save.Request) { r.Encoder = codec.Encoder{Compression: codec.Zstd} })
		first, err := save.Snapshot(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		store.Remove(snapshottest.Key + ".json")
		again, err := save.Snapshot(t.Context(), r)
		if err != nil || !again.Found || again.Manifest.SHA256 != first.Manifest.SHA256 || again.Manifest.PlainSHA256 != first.Manifest.PlainSHA256 {
			t.Errorf("again %+v, error %v, want what was left", again, err)
		}
	})
	t.Run("keeps an encrypted object without a manifest", func(t *testing.T) {
		store := snapshottest.NewBucket(t)
		r := snapshottest.Request(t, store, content, func(r *save.Request) { r.Encoder = codec.Encoder{Recipients: []string{alice}} })
		if _, err := save.Snapshot(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		store.Remove(snapshottest.Key + ".json")
		if _, err := save.Snapshot(t.Context(), r); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "encrypted") {
			t.Errorf("error %v, want fs.ErrExist that says why", err)
		}
	})
}

func TestSaveRejectsAnInvalidEncoderBeforeAnyRequest(t *testing.T) {
	_, identity := snapshottest.KeyPair(t)
	for name, encoder := range map[string]codec.Encoder{
		"an unknown compression":     {Compression: "gzip"},
		"an invalid recipient":       {Recipients: []string{"age1nobody"}},
		"an identity as a recipient": {Recipients: []string{strings.TrimSpace(strings.Split(string(identity), "\n")[1])}},
	} {
		t.Run(name, func(t *testing.T) {
			source := &snapshottest.Source{}
			_, err := save.Snapshot(t.Context(), snapshottest.Request(t, nil, nil, func(r *save.Request) { r.Encoder, r.Source = encoder, source }))
			if err == nil || source.Asked != 0 {
				t.Errorf("error %v, asked %d times", err, source.Asked)
			}
			if err != nil && strings.Contains(err.Error(), "AGE-SECRET") {
				t.Errorf("the error shows an identity: %v", err)
			}
		})
	}
}

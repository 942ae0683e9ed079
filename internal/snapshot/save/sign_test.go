package save_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// TestASignedSaveThatWasKilledIsCompletedByTheNextTry kills a save at each call to the store. Without a signed draft, the next try could not tell its
// own object from one that somebody else has put there.
func TestASignedSaveThatWasKilledIsCompletedByTheNextTry(t *testing.T) {
	signer, signers := snapshottest.SigningKey(t)
	first, later := snapshottest.Database(t, snapshottest.Member, 30), snapshottest.Database(t, snapshottest.Member, 31)
	signed := func(r *save.Request) { r.Signer, r.Again = signer, true }
	for _, when := range []snapshottest.When{snapshottest.Before, snapshottest.InBetween, snapshottest.After} {
		for at := 1; ; at++ {
			store := snapshottest.NewBucket(t)
			if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, &snapshottest.Mortal{Store: store, At: at, When: when}, first, signed)); err == nil {
				if at < 6 {
					t.Errorf("only %d calls: does this test kill anything?", at-1)
				}
				break
			}
			t.Run(fmt.Sprintf("%s call %d", when, at), func(t *testing.T) {
				if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, later, signed)); err != nil {
					t.Fatalf("the next try: %v", err)
				}
				if want := []string{snapshottest.Key, snapshottest.Key + ".json"}; !slices.Equal(store.Keys(), want) {
					t.Errorf("the bucket holds %q, want %q", store.Keys(), want)
				}
				if _, err := proof.Fetch(t.Context(), store, snapshottest.Key, proof.Alone(t.TempDir()), nil, signers); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestNobodyElsesObjectIsSigned puts an object under the key of a snapshot before it is taken. It lists a member, as each snapshot of the cluster does.
func TestNobodyElsesObjectIsSigned(t *testing.T) {
	signer, _ := snapshottest.SigningKey(t)
	store := snapshottest.NewBucket(t)
	store.Write(snapshottest.Key, snapshottest.Database(t, snapshottest.Member, 40))
	_, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, snapshottest.Database(t, snapshottest.Member, 30), func(r *save.Request) { r.Signer, r.Again = signer, true }))
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "no signed draft") {
		t.Errorf("error %v, want one that the object is foreign", err)
	}
	if got := store.Keys(); !slices.Equal(got, []string{snapshottest.Key}) {
		t.Errorf("the bucket holds %q", got)
	}
}

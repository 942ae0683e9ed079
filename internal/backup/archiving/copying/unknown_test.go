package copying

import (
	"slices"
	"testing"
)

// The Secret with the signing key could not be read, so unsigned snapshots counted as bases. Nothing was deleted in the second location, but what the signed ones
// need was not copied there either.
func TestAllIsCopiedWhileItIsNotKnownWhoHasSigned(t *testing.T) {
	b := newCopyBench(t)
	b.O.Signing = "gone"
	b.spec.job = b.O
	w := b.copying()
	b.steps(w)
	root := b.O.CopiedArchive().ArchiveRoot()
	for _, name := range b.there()[:2] { // the second location has lost them
		if err := b.second.Delete(t.Context(), root+name); err != nil {
			t.Fatal(err)
		}
	}
	b.now = b.now.Add(2 * compareInterval)
	b.steps(w)
	if got, want := b.there(), b.here(); !slices.Equal(got, want) {
		t.Errorf("the second location has %q, want all: %q", got, want)
	}
}

package snapshot

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// The object in the first location was replaced after it was copied, and the new one passed its restore test. The second location has the earlier one,
// which nobody has tested, and counted it as proven.
func TestATestOfAnotherObjectDoesNotProveTheCopy(t *testing.T) {
	from, to := bucket{Store: objstoretest.NewMemory(), t: t}, bucket{Store: objstoretest.NewMemory(), t: t}
	key := from.place(1, "")
	r := second(from, to)
	mustCopy(t, r)
	m := mustManifest(t, from, key)
	m.SHA256 = sumOfX
	content, err := m.Encode()
	if err == nil {
		err = from.Delete(t.Context(), ManifestKey(key))
	}
	if err == nil {
		from.put(ManifestKey(key), content)
		err = WriteVerdict(t.Context(), from, key, Verdict{Result: Passed, Time: noon, SHA256: sumOfX})
	}
	if err != nil {
		t.Fatal(err)
	}
	if item, found := mustCopy(t, r).Index.Find(r.keyOf(key)); !found || item.Verdict != "" {
		t.Errorf("the copy is there: %t, and the result of its restore test is %q", found, item.Verdict)
	}
}

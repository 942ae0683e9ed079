package copier

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// The object in the first location was replaced after it was copied, and the new one passed its restore test. The second location has the earlier one,
// which nobody has tested, and counted it as proven.
func TestATestOfAnotherObjectDoesNotProveTheCopy(t *testing.T) {
	from, to := snapshottest.Bucket{Store: objstoretest.NewMemory(), T: t}, snapshottest.Bucket{Store: objstoretest.NewMemory(), T: t}
	key := from.Place(1, "")
	r := second(from, to)
	mustCopy(t, r)
	m := snapshottest.MustManifest(t, from, key)
	m.SHA256 = snapshottest.SumOfX
	content, err := m.Encode()
	if err == nil {
		err = from.Delete(t.Context(), snapshot.ManifestKey(key))
	}
	if err == nil {
		from.Write(snapshot.ManifestKey(key), content)
		err = snapshot.WriteVerdict(t.Context(), from, key, snapshot.Verdict{Result: snapshot.Passed, Time: snapshottest.Noon, SHA256: snapshottest.SumOfX})
	}
	if err != nil {
		t.Fatal(err)
	}
	if item, found := mustCopy(t, r).Index.Find(r.keyOf(key)); !found || item.Verdict != "" {
		t.Errorf("the copy is there: %t, and the result of its restore test is %q", found, item.Verdict)
	}
}

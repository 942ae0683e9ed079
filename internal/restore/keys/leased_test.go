package keys

import (
	"context"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// leasing is a world whose values that begin with "leased" have a lease.
type leasing struct{ *world }

func (l leasing) Keys(ctx context.Context, of etcd.KeyRange) (etcd.Page, error) {
	page, err := l.world.Keys(ctx, of)
	for i := range page.Keys {
		page.Keys[i].Leased = len(page.Keys[i].Value) >= 6 && string(page.Keys[i].Value[:6]) == "leased"
	}
	return page, err
}

// A client has written a key with a lease since the comparison, and the history was compacted. The restore leaves it, and must say so: the end of
// an EtcdRestore has the numbers of the comparison ("1 to change") and those conflicts, and nothing else.
func TestAKeyThatAClientHasLeasedSinceIsAConflict(t *testing.T) {
	w := leasing{newWorld(map[string]string{"/a/1": "now"})}
	snapshot := map[string]string{"/a/1": "saved"}
	order := Order{Prefixes: []string{"/a/"}}
	compared, err := Run(t.Context(), w, savedOf(snapshot), order)
	if err != nil || compared.Changed != 1 {
		t.Fatalf("%+v, %v", compared, err)
	}
	w.put("/a/1", "leased by a client", true)
	w.put("/b", "other", true)
	w.compacted = w.revision
	order.Write, order.Revision = true, compared.Revision
	result, err := Run(t.Context(), w, savedOf(snapshot), order)
	if err != nil || result.Conflicts != 1 {
		t.Errorf("%+v, %v: the key is %v, and the status says that it was changed", result, err, w.all())
	}
}

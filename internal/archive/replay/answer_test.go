package replay

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// A writer of the bucket archives the deletion of a key of 16 MiB that does not exist. The object has some KiB, and the error had 67 MB.
func TestAKeyInAnErrorOfAReplayTakesNoMemoryOfTheOperator(t *testing.T) {
	o := newOrdered(t)
	at := slices.IndexFunc(o.events, func(e *mvccpb.Event) bool { return e.Kv.ModRevision > 40 && e.Type == mvccpb.Event_DELETE })
	events := slices.Clone(o.events)
	events[at] = &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: bytes.Repeat([]byte{1}, 16<<20), ModRevision: o.events[at].Kv.ModRevision}}
	hostile := store{}
	chain, keys := hostile.write(t, events, 1, auth.State{})
	o.order.Store, o.order.Options.Chain, o.order.Links = hostile, chain, nil
	for _, key := range keys {
		h, err := archive.ReadHeader(t.Context(), hostile, root, key)
		if err != nil {
			t.Fatal(err)
		}
		if h.First <= orderedRevision {
			o.order.Links = append(o.order.Links, archive.Link{Key: key, Header: h})
		}
	}
	var err error
	heaptest.Bound(t, 64, func() { _, err = Process{Memory: 1 << 30}.Replay(t.Context(), o.order) })
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "it is deleted, but did not exist") || len(err.Error()) > 4000 {
		t.Errorf("an error of %d bytes: %.1000v", len(err.Error()), err)
	}
}

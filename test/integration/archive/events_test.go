package archive_test

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// refuseOtherEvents replaces segments by ones that an archiver with a defect could write: each is whole and has a correct
// checksum, but its events are not those of etcd, or it is of another history.
func (b *bench) refuseOtherEvents(links []archive.Link, target archive.Target) {
	b.Helper()
	for _, link := range links[:len(links)-1] {
		events, leases := b.events(link)
		lost := shadowed(events)
		if lost < 0 {
			continue
		}
		original, before := b.read(link.Key), chainBefore(link.Header)
		twice := slices.Insert(slices.Clone(events), lost, events[lost])
		fewer := slices.Delete(slices.Clone(events), lost, lost+1)
		for name, changed := range map[string][]*mvccpb.Event{"an event is lost": fewer, "an event is there twice": twice} {
			b.replace(link.Key, b.segment(before, changed, leases))
			b.refuses(name+", and the target is in the same segment", link.Header, archive.Target{Revision: link.Header.Last})
			b.refuses(name, link.Header, target)
		}
		timeline, other := before, before
		timeline.Timeline++
		other.Hash = links[len(links)-1].Header.Hash()
		for name, chain := range map[string]archive.Chain{"a segment of another timeline": timeline, "a segment of another chain": other} {
			b.replace(link.Key, b.segment(chain, events, leases))
			b.refuses(name, link.Header, target)
		}
		b.replace(link.Key, original)
		return
	}
	b.Error("no segment has a revision with several events and a key that is written again")
}

// shadowed returns the index of a put in a revision with other events, whose key is put again later. That put has the version by which
// the loss is found. It is -1 if there is none. The loss of a put before a deletion of its key is found only by the hash of the data.
func shadowed(events []*mvccpb.Event) int {
	for i, e := range events[:max(0, len(events)-1)] {
		next := slices.IndexFunc(events[i+1:], func(n *mvccpb.Event) bool { return bytes.Equal(n.Kv.Key, e.Kv.Key) })
		putAgain := next >= 0 && events[i+1+next].Type == mvccpb.Event_PUT
		if e.Type == mvccpb.Event_PUT && events[i+1].Kv.ModRevision == e.Kv.ModRevision && putAgain {
			return i
		}
	}
	return -1
}

// chainBefore returns the chain that a link follows.
func chainBefore(h archive.Header) archive.Chain {
	from, _ := h.Auth()
	return archive.Chain{Timeline: h.Timeline, Last: h.First - 1, Hash: h.Previous, At: h.From().At, Auth: from, Unbroken: h.Unbroken}
}

// events returns all events and leases of a segment.
func (b *bench) events(link archive.Link) (events []*mvccpb.Event, leases []archive.Lease) {
	b.Helper()
	r, err := archive.OpenSegment(b.Context(), b.world.store, b.world.root, link.Key)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	if err := r.Decode(b.Context(), []byte(b.world.identity.String())); err != nil {
		b.Fatal(err)
	}
	for {
		event, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events, r.Leases
		}
		if err != nil {
			b.Fatal(err)
		}
		events = append(events, event)
	}
}

// segment returns the object of a segment that follows a chain.
func (b *bench) segment(chain archive.Chain, events []*mvccpb.Event, leases []archive.Lease) []byte {
	b.Helper()
	var records, object bytes.Buffer
	w := archive.NewWriter(&records, chain, chain.Auth)
	for _, e := range events {
		if err := w.Add(e, chain.At); err != nil {
			b.Fatal(err)
		}
	}
	h, err := w.Seal(leases, chain.Auth, 0)
	if err == nil {
		_, err = archive.WriteObject(&object, b.world.encoder(), h, &records)
	}
	if err != nil {
		b.Fatal(err)
	}
	return object.Bytes()
}

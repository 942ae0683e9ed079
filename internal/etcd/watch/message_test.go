package watch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// sent returns a watch on which a member sends such messages.
func sent(t *testing.T, all ...[]byte) *stream {
	t.Helper()
	var body bytes.Buffer
	for _, message := range all {
		body.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))))
		body.Write(message)
	}
	ctx, end := context.WithCancelCause(t.Context())
	client := &Client{options: Options{Endpoints: []string{"https://example.com:2379"}}}
	return &stream{client: client, ctx: ctx, end: end, call: &call{response: &http.Response{}, messages: newMessages(iotest.HalfReader(&body))}}
}

func put(key string, revision int64) *mvccpb.Event {
	return &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), CreateRevision: revision, ModRevision: revision, Version: 1}}
}

// smallest is the shortest event that etcd can send.
func smallest(t *testing.T) []byte {
	t.Helper()
	deleted := &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte("k"), ModRevision: 2}}
	return encoded(t, &pb.WatchResponse{Events: []*mvccpb.Event{deleted}})
}

// A transaction of 20,000 operations arrives in two fragments. --max-txn-ops allows it.
func TestALargeTransactionArrivesInOrder(t *testing.T) {
	const each = 10_000
	header := &pb.ResponseHeader{ClusterId: 7, Revision: 9}
	fragments := []*pb.WatchResponse{{Header: header, Fragment: true}, {Header: header}}
	for i := range 2 * each {
		of := fragments[i/each]
		of.Events = append(of.Events, put(fmt.Sprint(i), 9))
	}
	s := sent(t, encoded(t, fragments[0]), encoded(t, fragments[1]))
	count := 0
	for more := true; more; {
		r, err := s.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if r.Head != (archiver.Head{ClusterID: 7, Revision: 9}) || len(r.Events) == 0 || len(r.Events) > maxEvents {
			t.Fatalf("%+v with %d events", r.Head, len(r.Events))
		}
		for _, event := range r.Events {
			if string(event.Kv.Key) != fmt.Sprint(count) || event.Kv.ModRevision != 9 || event.Kv.Version != 1 {
				t.Fatalf("event %d is %v", count, event)
			}
			count++
		}
		more = r.More
	}
	if count != 2*each {
		t.Errorf("the last revision is complete after %d events, want %d", count, 2*each)
	}
}

// etcd sends what is about all events before them. If it came after them, they would be archived as another cluster's, or as complete.
func TestWhatIsAboutAllEventsComesBeforeThem(t *testing.T) {
	events := encoded(t, &pb.WatchResponse{Events: []*mvccpb.Event{put("a", 9), {Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte("b"), ModRevision: 10}}}})
	rest := encoded(t, &pb.WatchResponse{Header: &pb.ResponseHeader{ClusterId: 7, Revision: 10}, WatchId: 5, Created: true, CompactRevision: 3, Fragment: true})
	newer := protowire.AppendVarint(protowire.AppendTag(nil, fieldEvents+1, protowire.VarintType), 1)
	for name, body := range map[string][]byte{"as etcd sends them": append(bytes.Clone(rest), events...), "with a field of a later version": slices.Concat(rest, newer, events)} {
		r, err := sent(t, body).Receive()
		if err != nil || r.Head.ClusterID != 7 || r.Head.Revision != 10 || r.Compacted != 3 || !r.More || len(r.Events) != 2 {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		if !proto.Equal(r.Events[0], put("a", 9)) || r.Events[1].Type != mvccpb.Event_DELETE {
			t.Errorf("%s: %v", name, r.Events)
		}
	}
	if r, err := sent(t, append(bytes.Clone(events), rest...)).Receive(); !errors.Is(err, errNotUnderstood) {
		t.Errorf("the other way: %+v, %v", r, err)
	}
	if r, err := sent(t, slices.Concat(rest, events, newer)).Receive(); err != nil || len(r.Events) != 2 {
		t.Errorf("a field of a later version after the events: %+v, %v", r, err)
	}
}

// An etcd that a user names sends a message with 60 million events. Decoded at once, they took gigabytes.
func TestAMessageOfTheSmallestEventsTakesNoMemory(t *testing.T) {
	event := smallest(t)
	const pieces = 640
	piece := bytes.Repeat(event, (1<<20)/len(event))
	client := writing(t, func(w http.ResponseWriter) {
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(pieces*len(piece))))
		for range pieces {
			_, _ = w.Write(piece)
		}
	})
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // measure what is held
	heaptest.Bound(t, 16, func() {
		s, err := client.Watch(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			r, err := s.Receive()
			if err != nil || len(r.Events) != maxEvents || !r.More {
				t.Fatalf("%d events, %v", len(r.Events), err)
			}
		}
	})
}

func TestWhatIsNoEventEndsTheWatch(t *testing.T) {
	empty := bytes.Repeat([]byte{11<<3 | 2, 0}, 8<<20)
	event := func(kv *mvccpb.KeyValue) []byte {
		return encoded(t, &pb.WatchResponse{Events: []*mvccpb.Event{put("a", 2), {Kv: kv}}})
	}
	for name, test := range map[string]struct {
		body []byte
		want error
	}{
		"millions of empty events":      {empty, errNoEvent},
		"no key":                        {event(&mvccpb.KeyValue{ModRevision: 2}), errNoEvent},
		"no revision":                   {event(&mvccpb.KeyValue{Key: []byte("a")}), errNoEvent},
		"a negative revision":           {event(&mvccpb.KeyValue{Key: []byte("a"), ModRevision: -1}), errNoEvent},
		"an event that is cut":          {smallest(t)[:5], errNotUnderstood},
		"an event of another kind":      {[]byte{11<<3 | 2, 2, 0xff, 0xff}, errNotUnderstood},
		"a length beyond the end":       {[]byte{11<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, errNotUnderstood},
		"a group":                       {[]byte{12<<3 | 3, 12<<3 | 4}, errNotUnderstood},
		"a field with the number 0":     {[]byte{0, 0}, errNotUnderstood},
		"a number that does not end":    {[]byte{0xff}, errNotUnderstood},
		"a header of another kind":      {[]byte{1<<3 | 2, 1, 0xff}, errNotUnderstood},
		"a reason of several megabytes": {encoded(t, &pb.WatchResponse{CancelReason: strings.Repeat("x", 8<<20)}), errNotUnderstood},
	} {
		t.Run(name, func(t *testing.T) {
			s := sent(t, test.body)
			heaptest.Bound(t, 16, func() {
				_, err := s.Receive()
				if err == nil || !strings.Contains(err.Error(), test.want.Error()) || !strings.Contains(err.Error(), "https://example.com:2379") {
					t.Errorf("error %v, want %v", err, test.want)
				}
			})
		})
	}
}

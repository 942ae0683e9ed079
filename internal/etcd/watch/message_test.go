package watch

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// sending is a stream with such messages. Each comes in pieces, as from a network.
type sending struct {
	pb.Watch_WatchClient
	messages [][]byte
}

func (s *sending) RecvMsg(m any) error {
	var pieces mem.BufferSlice
	for rest := s.messages[0]; len(rest) > 0; {
		n := min(len(rest), 1000)
		pieces, rest = append(pieces, mem.SliceBuffer(rest[:n])), rest[n:]
	}
	s.messages = s.messages[1:]
	return newCodec().Unmarshal(pieces, m)
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
	s := &stream{messages: &sending{messages: [][]byte{encoded(t, fragments[0]), encoded(t, fragments[1])}}}
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

func TestTheFieldsOfAMessageMayComeInAnyOrder(t *testing.T) {
	events := encoded(t, &pb.WatchResponse{Events: []*mvccpb.Event{put("a", 9), {Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte("b"), ModRevision: 10}}}})
	rest := encoded(t, &pb.WatchResponse{Header: &pb.ResponseHeader{ClusterId: 7, Revision: 10}, WatchId: 5, Created: true, CompactRevision: 3, Fragment: true})
	for name, body := range map[string][]byte{"as etcd sends them": append(bytes.Clone(rest), events...), "the other way": append(bytes.Clone(events), rest...)} {
		r, err := (&stream{messages: &sending{messages: [][]byte{body}}}).Receive()
		if err != nil || r.Head.ClusterID != 7 || r.Head.Revision != 10 || r.Compacted != 3 || !r.More || len(r.Events) != 2 {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		if !proto.Equal(r.Events[0], put("a", 9)) || r.Events[1].Type != mvccpb.Event_DELETE {
			t.Errorf("%s: %v", name, r.Events)
		}
	}
}

// An etcd that a user names sends a message of 64 MiB, with 6 million events. Decoded at once, they took gigabytes.
func TestAMessageOfTheSmallestEventsTakesItsOwnSize(t *testing.T) {
	event := smallest(t)
	body := bytes.Repeat(event, maxMessage/len(event))
	client := server(t, func(string) ([]byte, bool) { return body, true })
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // measure what is held
	heaptest.Bound(t, (maxMessage>>20)+32, func() {
		s, err := client.Watch(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for range 200 { // the others take less, because the message is freed as it is read
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
			s := &stream{messages: &sending{messages: [][]byte{test.body}}, at: "https://example.com:2379"}
			heaptest.Bound(t, 16, func() {
				_, err := s.Receive()
				if err == nil || !strings.Contains(err.Error(), test.want.Error()) || !strings.Contains(err.Error(), s.at) {
					t.Errorf("error %v, want %v", err, test.want)
				}
			})
		})
	}
}

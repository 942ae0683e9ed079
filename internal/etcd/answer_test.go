package etcd

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// entries is a message that has only empty entries of one field: two bytes each.
func entries(field protowire.Number, size int) []byte {
	return bytes.Repeat(append(protowire.AppendTag(nil, field, protowire.BytesType), 0), size/2)
}

// answeringWith is a member that gives every call the same answer. asked counts the calls.
func answeringWith(t *testing.T, answer []byte) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	return answeringTo(t, func(string) []byte {
		asked.Add(1)
		return answer
	}), asked
}

// answeringTo is a member that answers each call by the name of its method.
func answeringTo(t *testing.T, answerTo func(method string) []byte) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answerTo(path.Base(r.URL.Path))
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))))
		_, _ = w.Write(answer)
		w.Header().Set("Grpc-Status", "0")
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// calls are requests of each kind, with the field of which their answer can have most.
var calls = map[string]struct {
	field protowire.Number
	ask   func(context.Context, *Client) error
}{
	"the membership":  {2, func(ctx context.Context, c *Client) error { _, err := c.MembersKnown(ctx); return err }},
	"the status":      {11, func(ctx context.Context, c *Client) error { _, err := c.Status(ctx); return err }},
	"a read":          {2, func(ctx context.Context, c *Client) error { return c.Serving(ctx) }},
	"a hash":          {1, func(ctx context.Context, c *Client) error { _, _, err := c.HashKV(ctx, 7); return err }},
	"a removal":       {2, func(ctx context.Context, c *Client) error { return c.Remove(ctx, 7) }},
	"a token":         {2, func(ctx context.Context, c *Client) error { return c.Login(ctx) }},
	"disarm an alarm": {2, func(ctx context.Context, c *Client) error { return c.Disarm(ctx, Alarm{Kind: AlarmNoSpace}) }},
	"a write of keys": {3, func(ctx context.Context, c *Client) error {
		_, err := c.ApplyIfUnchanged(ctx, Change{Key: []byte("a")})
		return err
	}},
	"defragmentation": {1, func(ctx context.Context, c *Client) error { return c.Defragment(ctx) }},
}

// A member of a user answers with 16 MiB that name 8 million members. Decoded, they took 1.7 GiB.
func TestAnAnswerOfAMemberHasABound(t *testing.T) {
	login, err := NewLogin([]byte("user"), []byte("password"))
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range calls {
		for _, size := range []int{maxAnswer, 16 << 20} {
			url, asked := answeringWith(t, entries(call.field, size))
			client, err := OpenBriefly(Endpoint{URL: url, Login: login}, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			heaptest.Bound(t, 16, func() { err = call.ask(ctx, client) })
			cancel()
			client.Close()
			if size > maxAnswer && (err == nil || !strings.Contains(err.Error(), "longer than 64 KiB") || !strings.Contains(err.Error(), url)) {
				t.Errorf("%s of %d KiB: error %v, want one with the bound and the member", name, size>>10, err)
			}
			if size == maxAnswer && err != nil && !errors.Is(err, errMembers) {
				t.Errorf("%s of %d KiB: %v", name, size>>10, err)
			}
			if asked.Load() != 1 {
				t.Errorf("%s of %d KiB: the member was asked %d times", name, size>>10, asked.Load())
			}
		}
	}
}

// A pass keeps the answers of all members until the last one has answered, and 31 passes of one namespace run at the same time. 32,768 empty entries of each
// took 2.6 MiB, so 31 clusters of seven members took more than cluster-operator has.
func TestTheEntriesOfAnAnswerOfAMemberHaveABound(t *testing.T) {
	addresses := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), entries(3, 60<<10))
	for name, call := range map[string]struct {
		answer []byte
		ask    func(*Client) any
	}{
		"members":         {entries(2, maxAnswer), func(c *Client) any { all, _ := c.Members(t.Context()); return all }},
		"members known":   {entries(2, maxAnswer), func(c *Client) any { all, _ := c.MembersKnown(t.Context()); return all }},
		"URLs":            {addresses, func(c *Client) any { all, _ := c.MembersKnown(t.Context()); return all }},
		"errors":          {entries(8, maxAnswer), func(c *Client) any { s, _ := c.Status(t.Context()); return s }},
		"alarms to clear": {entries(2, maxAnswer), func(c *Client) any { return c.Disarm(t.Context(), Alarm{Kind: AlarmNoSpace}) }},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := answeringWith(t, call.answer)
			client, err := OpenBriefly(Endpoint{URL: url}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			call.ask(client) // buffers of the connection
			heaptest.Holds(t, 128, func() any { return call.ask(client) })
			if asked.Load() < 2 {
				t.Errorf("it was asked %d times", asked.Load())
			}
		})
	}
}

// A bound that a member of a user's own etcd can reach would stop its backups.
func TestTheLongestAnswersOfEtcdAreWithinTheBound(t *testing.T) {
	urls := make([]string, 10)
	for i := range urls {
		urls[i] = "https://" + strings.Repeat("a-long-label-of-a-domain.", 10) + "example.com:2379"
	}
	header := &pb.ResponseHeader{ClusterId: 1 << 63, MemberId: 1 << 63, Revision: 1 << 62, RaftTerm: 1 << 62}
	list, status := &pb.MemberListResponse{Header: header}, &pb.StatusResponse{Header: header, Version: "3.6.16", DbSize: 1 << 40}
	for range 8 { // seven voters and a learner
		list.Members = append(list.Members, &pb.Member{ID: 1 << 63, Name: strings.Repeat("n", 253), PeerURLs: urls[:1], ClientURLs: urls})
	}
	for range 100 { // etcd keeps the alarms of members that were removed
		status.Errors = append(status.Errors, (&pb.AlarmMember{MemberID: 1 << 63, Alarm: pb.AlarmType_CORRUPT}).String())
	}
	for name, m := range map[string]proto.Message{
		"the membership": list, "the status": status,
		"a token": &pb.AuthenticateResponse{Header: header, Token: strings.Repeat("t", 4<<10)},
	} {
		if size := proto.Size(m); size > maxAnswer/2 {
			t.Errorf("%s has %d bytes, more than half of the bound", name, size)
		} else {
			t.Logf("%s has %d bytes", name, size)
		}
	}
}

// A message of a snapshot is not decoded, but held while it is read.
func TestAMessageOfASnapshotHasABound(t *testing.T) {
	blob := protowire.AppendVarint(protowire.AppendTag(nil, fieldBlob, protowire.BytesType), 16<<20)
	url, asked := answeringWith(t, append(blob, make([]byte, 16<<20)...))
	client, err := OpenBriefly(Endpoint{URL: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	heaptest.Bound(t, 24, func() { // the server of the test holds the message, too
		if _, _, err = client.Snapshot(t.Context()); !tooLong(err, maxChunk) || !strings.Contains(err.Error(), url) || asked.Load() != 1 {
			t.Errorf("error %v after %d requests, want one that names the member", err, asked.Load())
		}
	})
}

package watch

import (
	"context"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcd-suite/etcd-operator/internal/etcd/foreigntest"
)

func TestNoErrorOfAWatchRepeatsTheAnswerOfAServer(t *testing.T) {
	var group sync.WaitGroup
	defer group.Wait()
	for name, url := range foreigntest.Servers(t) {
		group.Go(func() {
			client, err := Open(t.Context(), Options{Endpoints: []string{url}})
			if err != nil {
				t.Error(err)
				return
			}
			defer client.Close()
			errs := foreigntest.Calls(t, client)
			errs["Receive"] = received(t, client)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, errs["a password"] = Open(ctx, Options{Endpoints: []string{url}, User: "user", Password: "password"})
			foreigntest.RepeatsNothing(t, name, errs)
		})
	}
}

func received(t *testing.T, client *Client) error {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	stream, err := client.Watch(ctx, 1)
	if err != nil {
		return err
	}
	_, err = stream.Receive()
	return err
}

// A server of a user ends each watch with a reason of its own.
func TestTheReasonOfACancelledWatchIsEtcds(t *testing.T) {
	_, err := sent(t, encoded(t, &pb.WatchResponse{Canceled: true, CancelReason: foreigntest.Marker})).Receive()
	foreigntest.RepeatsNothing(t, "a cancelled watch", map[string]error{"Receive": err, "again": err})
}

package etcd

import (
	"context"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// A member of a tenant answers the comparison of keys with 16 MiB that name 8 million empty keys. Only MaxPage limits the answer, and it is decoded
// before its keys are counted: restore-operator is ended for all namespaces.
func TestAPageOfKeysOfAMemberHasABound(t *testing.T) {
	url, _ := answeringWith(t, entries(2, MaxPage-8))
	client, err := OpenBriefly(Endpoint{URL: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	heaptest.Bound(t, 128, func() {
		page, err := client.Keys(ctx, KeyRange{Begin: []byte("/a/"), End: []byte("/a0"), Limit: 1024, Large: true})
		t.Logf("%d keys, error %v", len(page.Keys), err)
	})
}

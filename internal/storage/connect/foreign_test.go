package connect_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// A user who may name an endpoint, and may not read what answers there, would read it in a status.
func TestNoErrorRepeatsTheAnswerOfAServer(t *testing.T) {
	for _, provider := range storage.Providers() {
		t.Run(string(provider), func(t *testing.T) {
			t.Parallel()
			objstoretest.RunForeign(t, func(t *testing.T, endpoint string) objstore.Store {
				store, err := connect.Open(t.Context(), accessTo(provider, endpoint))
				if err != nil {
					t.Fatal(err)
				}
				return store
			})
		})
	}
}

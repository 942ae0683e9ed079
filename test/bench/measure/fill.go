package measure

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Fill writes so many MiB of keys whose random values have so many bytes.
func Fill(b *testing.B, url string, mib, value int) {
	b.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	total := mib << 20 / value
	perTxn := min(max(1, 1<<20/(value+64)), 128)
	var group sync.WaitGroup
	const writers = 8
	for w := range writers {
		group.Go(func() {
			random := rand.NewChaCha8([32]byte{byte(w)})
			for first := w * perTxn; first < total; first += writers * perTxn {
				var ops []clientv3.Op
				for i := first; i < min(first+perTxn, total); i++ {
					content := make([]byte, value)
					_, _ = random.Read(content)
					ops = append(ops, clientv3.OpPut(fmt.Sprintf("/registry/pods/%09d", i), string(content)))
				}
				if _, err := client.Txn(b.Context()).Then(ops...).Commit(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

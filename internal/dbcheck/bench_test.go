package dbcheck

import (
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

// BenchmarkInspect compares the check in a child with one in the same process. ADR 69 has the numbers. The large file has about 200 MiB.
func BenchmarkInspect(b *testing.B) {
	for _, size := range []struct{ keys, value int }{{100, 100}, {20_000, 10_000}} {
		path := write(b, dbfiletest.New(b, 1).Put(size.keys, size.value).Snapshot())
		for name, inspect := range map[string]func() (dbfile.Info, error){
			"here":  func() (dbfile.Info, error) { return dbfile.Inspect(path) },
			"child": func() (dbfile.Info, error) { return Process{Memory: 512 << 20}.Inspect(b.Context(), path) },
		} {
			b.Run(fmt.Sprintf("keys=%d/%s", size.keys, name), func(b *testing.B) {
				for b.Loop() {
					if _, err := inspect(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

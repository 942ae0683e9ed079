package keys

import (
	"context"
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// largeValues is a cluster with a value of 15 MiB in each page.
type largeValues struct{ pages int }

func (c *largeValues) Keys(context.Context, etcd.KeyRange) (etcd.Page, error) {
	c.pages++
	key := fmt.Appendf(nil, "k%03d", c.pages)
	return etcd.Page{Revision: 1, More: c.pages < 20, Keys: []etcd.KeyValue{{Key: key, Value: make([]byte, 15<<20)}}}, nil
}

func (c *largeValues) ApplyIfUnchanged(context.Context, ...etcd.Change) (bool, error) {
	return true, nil
}

// While the next page was read, the one before was still in memory: a slow member of a tenant so held twice as much in each of his readings.
func TestAPageThatWasReadTakesNoMemory(t *testing.T) {
	cluster := &largeValues{}
	r := &run{ctx: t.Context(), cluster: cluster}
	p := r.pages("k", true)
	heaptest.Holds(t, 1<<10, func() any {
		for range 5 {
			if pair, err := p.peek(); err != nil || pair == nil {
				t.Fatal(err)
			}
			p.pop()
		}
		return p
	})
}

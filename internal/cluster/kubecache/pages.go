package kubecache

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// PageSize is how many objects of a tenant one answer has at most, and pageBytes its bytes. Objects that have more together are read one by one:
	// Kubernetes allows about 1.5 MiB for each, and one can take 30 MiB in memory.
	PageSize  = 10
	pageBytes = 512 << 10
	// listsAtOnce is how many passes read such pages at the same time. One namespace has one fewer.
	listsAtOnce = 2
)

// NewListGate limits the passes that list objects of a tenant past the cache.
func NewListGate() *turns.Gate { return turns.NewGate(listsAtOnce) }

// EachPage lists objects of a namespace past the cache in pages, and calls visit with each page, until that returns false. Only one page is
// in memory at a time. If a page is too large, its objects are read one by one, in turn with other large objects. It waits for a slot of the gate; nil has no limit.
func EachPage[L client.ObjectList](ctx context.Context, reader client.Reader, gate *turns.Gate, namespace string, empty L, visit func(L) bool, options ...client.ListOption) error {
	if gate != nil {
		leave, err := gate.Enter(ctx, namespace)
		if err != nil {
			return fmt.Errorf("wait for other lists: %w", err)
		}
		defer leave()
	}
	p := page[L]{reader: reader, namespace: namespace, options: options, visit: visit}
	for alone := 0; ; alone = max(alone-1, 0) {
		var more bool
		var err error
		if alone > 0 {
			err = kube.InTurn(ctx, namespace, func() (err error) { more, err = p.read(ctx, empty, 1); return err })
		} else {
			more, err = p.read(kube.AtMost(ctx, pageBytes), empty, PageSize)
		}
		switch {
		case alone == 0 && errors.Is(err, kube.ErrAnswerTooLarge):
			alone = PageSize + 1
		case err != nil || !more:
			return err
		}
	}
}

// page is a place in a list.
type page[L client.ObjectList] struct {
	reader    client.Reader
	namespace string
	options   []client.ListOption
	visit     func(L) bool
	next      string
}

// read visits the next objects, and returns whether there are more to visit.
func (p *page[L]) read(ctx context.Context, empty L, size int64) (more bool, err error) {
	list, _ := empty.DeepCopyObject().(L)
	if err := p.reader.List(ctx, list, append(slices.Clone(p.options), client.InNamespace(p.namespace), client.Limit(size), client.Continue(p.next))...); err != nil {
		return false, err
	}
	p.next = list.GetContinue()
	return p.visit(list) && p.next != "", nil
}

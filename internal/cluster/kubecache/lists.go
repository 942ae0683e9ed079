package kubecache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Lists read objects of a namespace, through the cache and past it.
type Lists struct {
	*view.KubeAPI
	// indexed: the cache of Client has the indexes of AddIndexes.
	Indexed bool
	// Gate limits the passes that list objects of a tenant past the cache; nil does not.
	Gate *turns.Gate
}

// ListIndexed lists the objects of the namespace that have one of the keys. Without an index, it lists all. The objects are those
// of the cache, and may only be read.
func (l *Lists) ListIndexed(ctx context.Context, v *view.View, list client.ObjectList, keys ...string) ([]client.Object, error) {
	options := [][]client.ListOption{nil}
	if l.Indexed {
		options = nil
		for _, key := range keys {
			options = append(options, []client.ListOption{client.MatchingFields{IndexCluster: key}, client.UnsafeDisableDeepCopy})
		}
	}
	found := map[string]client.Object{}
	for _, option := range options {
		if err := l.Client.List(ctx, list, append(option, client.InNamespace(v.Namespace))...); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
		err := meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
			if object, ok := item.(client.Object); ok {
				found[object.GetName()] = object
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) }), nil
}

// Candidates are all objects of a list's kind that may belong to the EtcdCluster, whatever labels they lost. view.owns
// decides which do. Without an index, all objects of the namespace are read. The objects are those of the cache, and may only be
// read.
func (l *Lists) Candidates(ctx context.Context, v *view.View, list client.ObjectList) ([]client.Object, error) {
	keys := []string{KeyOfUID(v.UID), KeyOfName(v.Name)}
	found := map[string]client.Object{}
	collect := func(options ...client.ListOption) error {
		if err := l.Client.List(ctx, list, append(options, client.InNamespace(v.Namespace))...); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
		return meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if ok && slices.ContainsFunc(KeysOf(object), func(key string) bool { return slices.Contains(keys, key) }) {
				found[object.GetName()] = object
			}
			return nil
		})
	}
	if !l.Indexed {
		if err := collect(); err != nil {
			return nil, err
		}
		return slices.Collect(maps.Values(found)), nil
	}
	for _, key := range keys {
		if err := collect(client.MatchingFields{IndexCluster: key}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

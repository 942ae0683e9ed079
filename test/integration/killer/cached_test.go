package killer_test

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
)

// cached returns of an object what the operator's cache holds of it.
type cached struct {
	client.Client
	transforms map[reflect.Type]toolscache.TransformFunc
}

func newCached(c client.Client) (client.Client, error) {
	kinds, err := kubecache.CacheOptions("")
	if err != nil {
		return nil, err
	}
	transforms := map[reflect.Type]toolscache.TransformFunc{}
	for kind, options := range kinds {
		transforms[reflect.TypeOf(kind)] = options.Transform
	}
	return cached{c, transforms}, nil
}

func (c cached) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, into, options...); err != nil {
		return err
	}
	return c.strip(into)
}

func (c cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := c.Client.List(ctx, list, options...); err != nil {
		return err
	}
	return meta.EachListItem(list, c.strip)
}

// strip changes an object of an EtcdCluster as the cache does. It leaves objects of others as they are.
func (c cached) strip(object runtime.Object) error {
	transform := c.transforms[reflect.TypeOf(object)]
	if transform == nil {
		return nil
	}
	if _, err := transform(object); err != nil {
		return fmt.Errorf("strip %T: %w", object, err)
	}
	return nil
}

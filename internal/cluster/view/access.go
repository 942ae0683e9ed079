package view

import (
	"cmp"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Name of the operator: of its controller, its field manager and its leader election.
const Name = "cluster-operator"

// KubeAPI is the Kubernetes API.
type KubeAPI struct {
	// Client reads through the cache.
	Client client.Client
	// APIReader reads past the cache what is read seldom.
	APIReader client.Reader
}

// Wrap names the call and the object of an error.
func Wrap(act string, object client.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s %s: %w", act, KindName(object), object.GetName(), err)
}

// KindName returns the kind of an object, for a message that a user reads. Most objects that were read do not carry it.
func KindName(object client.Object) string {
	return cmp.Or(object.GetObjectKind().GroupVersionKind().Kind, reflect.Indirect(reflect.ValueOf(object)).Type().Name())
}

// Blank is an empty object of the same type. A read into an object that is not empty keeps what the answer lacks, such
// as owner references.
func Blank(object client.Object) client.Object {
	return reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
}

package clientstest

import (
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Allowing returns a list that allows a prefix to a namespace.
func Allowing(namespace, prefix string) grant.List {
	return grant.List{{Namespaces: []string{namespace}, PathPrefix: prefix}}
}

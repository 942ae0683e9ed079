package kube

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// decodedAtOnce is how many objects of tenants are decoded at the same time. One of 1.5 MiB can take 30 MiB in memory.
const decodedAtOnce = 3

// decoding is one for the process, because the process has one memory.
var decoding = turns.NewGate(decodedAtOnce)

// InTurn runs a read of a whole object that a tenant may have made large. Few of them run at the same time, and namespaces take turns. read
// drops the parts that the operator does not need before it returns.
func InTurn(ctx context.Context, namespace string, read func() error) error {
	leave, err := decoding.Enter(turns.Stay(ctx), namespace)
	if err != nil {
		return fmt.Errorf("wait for other reads: %w", err)
	}
	defer leave()
	return read()
}

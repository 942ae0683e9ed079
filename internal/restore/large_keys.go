package restore

import (
	"context"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// largePages is how many large pages of keys, or large values, are read and written at the same time. Each takes two or three times 16 MiB meanwhile.
const largePages = 2

func newLargeKeys() *turns.Gate { return turns.NewGate(largePages) }

// largeKeys returns how a reading of a namespace waits for its turn. A turn takes half a minute at most, so the reading keeps its worker.
func (s Spool) largeKeys(namespace string) func(context.Context) (func(), error) {
	if s.large == nil {
		return nil
	}
	return func(ctx context.Context) (func(), error) { return s.large.Enter(turns.Stay(ctx), namespace) }
}

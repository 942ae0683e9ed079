package spool

import (
	"context"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Namespace is a Spool for the jobs of one namespace.
type Namespace struct {
	spool *Spool
	name  string
}

// Of returns the spool for the jobs of a namespace.
func (s *Spool) Of(namespace string) Namespace { return Namespace{s, namespace} }

// Reserve waits until the spool has room for that many bytes. The error is ErrTooSmall if waiting does not help.
func (n Namespace) Reserve(ctx context.Context, bytes int64) (*Share, error) {
	return n.spool.wait(ctx, &request{namespace: n.name, bytes: bytes, ready: make(chan error, 1)})
}

// ReserveUrgent is Reserve for a job that comes before all others that wait. It may use the part that they leave free.
func (n Namespace) ReserveUrgent(ctx context.Context, bytes int64) (*Share, error) {
	return n.spool.wait(ctx, &request{namespace: n.name, bytes: bytes, urgent: true, ready: make(chan error, 1)})
}

// Hold waits like Reserve, for a job that does not end by itself. The space is missing in the limit until release is called, so a
// larger job fails at once instead of waiting for this one.
func (n Namespace) Hold(ctx context.Context, bytes int64) (release func(), err error) {
	share, err := n.spool.wait(ctx, &request{namespace: n.name, bytes: bytes, holds: true, ready: make(chan error, 1)})
	if err != nil {
		return nil, err
	}
	n.spool.lend(share)
	return func() { n.spool.takeBack(bytes) }, nil
}

// Extra returns an empty share for a job that has Hold, for what it needs beside that. The caller changes it with Resize.
func (n Namespace) Extra() *Share { return &Share{spool: n.spool, namespace: n.name} }

// Why returns why the first waiting job of the namespace waits.
func (n Namespace) Why() turns.Reason {
	n.spool.mu.Lock()
	defer n.spool.mu.Unlock()
	for _, r := range n.spool.queue {
		if r.namespace == n.name {
			return r.why
		}
	}
	if n.spool.returning[n.name] > 0 {
		return turns.Worker
	}
	return turns.None
}

// Crowds returns whether the namespace holds more than several of its jobs may, while jobs of others wait for space. If an urgent one waits, that is
// more than the namespace may hold of the part for urgent ones.
func (n Namespace) Crowds() bool {
	s := n.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held.Held(n.name)
	return s.total > 0 && slices.ContainsFunc(s.queue, func(r *request) bool {
		most := s.total / fairShare
		if r.urgent {
			most = min(most, s.urgent/2)
		}
		return r.namespace != n.name && r.why != turns.OwnShare && held > most
	})
}

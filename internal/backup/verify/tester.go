// Package verify finds out whether snapshots and archives can be restored: restore tests, and proofs of the archive.
package verify

import (
	"context"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// Tester restores snapshots and replays archives, to find out whether they can be restored. Tests replace its functions.
type Tester struct {
	*clients.Clients
	Spool  *spool.Spool
	Tests  queue.Tests
	Drill  func(context.Context, proof.RestoreTestRequest) (proof.RestoreTestResult, error)
	Replay func(context.Context, replay.Order) (replay.Result, error)
	Hash   func(ctx context.Context, url string, by ask.Access, revision int64) (hash uint32, compactRevision int64, err error)
}

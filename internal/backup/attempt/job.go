package attempt

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// Job runs attempts. Tests replace its function.
type Job struct {
	*verify.Tester
	Save func(context.Context, save.Request) (save.Saved, error)
}

// New deletes the files that an earlier process has left in the spool.
func New(c *clients.Clients, s *spool.Spool, limits queue.Tests) (*Job, error) {
	if err := proof.CleanSpool(s.Dir()); err != nil {
		return nil, fmt.Errorf("clean spool directory %s: %w", s.Dir(), err)
	}
	return &Job{Tester: verify.NewTester(c, s, limits), Save: save.Snapshot}, nil
}

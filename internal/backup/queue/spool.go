package queue

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// minSpool is the smallest limit of a spool that makes sense: a restore test of a small database needs about 140 MiB.
const minSpool = 256 << 20

// PatientSpool reserves space for one attempt. Its time limit does not count while it waits for other attempts.
type PatientSpool struct {
	spool.Namespace
	Progress *Progress
	Then     string // the next stage
}

// Reserve waits until there is space.
func (p PatientSpool) Reserve(ctx context.Context, bytes int64) (*spool.Share, error) {
	done := p.Progress.waiting("waiting for space on the spool volume", p.Why)
	defer p.Progress.Stage(p.Then)
	defer done()
	return p.Namespace.Reserve(ctx, bytes)
}

// OpenSpool checks that the options fit each other.
func OpenSpool(o Options) (*spool.Spool, error) {
	switch {
	case o.SpoolLimit != 0 && o.SpoolLimit < minSpool:
		return nil, fmt.Errorf("the spool limit of %d bytes is less than %d MiB: no snapshot could be verified in it; raise backupOperator.spool.sizeLimit", o.SpoolLimit, minSpool>>20)
	case o.SpoolKeepFree < 0 || o.SpoolKeepFree > 90:
		return nil, fmt.Errorf("%d percent of the disk cannot be left free: write a number from 0 to 90", o.SpoolKeepFree)
	case o.MaxConcurrent < 1:
		return nil, fmt.Errorf("the maximum number of concurrent snapshots is %d: write 1 or more", o.MaxConcurrent)
	}
	return spool.New(o.SpoolDir, spool.Options{Limit: o.SpoolLimit, KeepFree: o.SpoolKeepFree}), nil
}

// ArchiveDirs is how the names of the directories of archives in the spool begin.
const ArchiveDirs = "archive-"

package archiving

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// findSpoilt finds the snapshots to replace, and when that is due.
func (k *keeper) findSpoilt(o state.JobSpec, index catalog.Index) {
	found, now := spoilt{}, k.job.Now()
	if n := len(k.survey.Starts); n > 0 {
		found = spoiltOf(o, k.survey.Starts[n-1].ClusterID, index, k.known, now)
	}
	k.replaceAt = found.follow(k.spoilt, k.replaceAt, now)
	if latest := now.Add(askAgain); !k.survey.Covered && k.replaceAt.After(latest) {
		k.replaceAt = latest // the newest changes cannot be restored until then
	}
	k.spoilt = found
}

// replaceSpoilt asks for a snapshot when it is due. The reason names the snapshot that it replaces, so it is asked for once.
func (k *keeper) replaceSpoilt(ctx context.Context) {
	if now := k.job.Now(); k.spoilt.count > 0 && !now.Before(k.replaceAt) {
		k.askForBase(ctx, fmt.Sprintf("snapshot %s failed its restore test (%d in a row)", k.spoilt.newest, k.spoilt.count))
	}
}

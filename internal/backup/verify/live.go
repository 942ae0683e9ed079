package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

// hashTimeout limits how long a member may hash its database.
const hashTimeout = 2 * time.Minute

// live reads the hash of the snapshot's cluster.
type live struct {
	*Tester
	spec      state.JobSpec
	by        ask.Access
	clusterID string
	// history is the last recovery from a lost quorum before the snapshot.
	history string
}

// HashKV returns the hash of the first member that can compute it. A cluster with another ID, for example after a
// restore, has another history, so it cannot be compared. A recovery from a lost quorum keeps the ID, and may lack the last writes of the
// snapshot.
func (l *live) HashKV(ctx context.Context, revision int64) (uint32, int64, error) {
	var errs []error
	for _, a := range l.Probe(ctx, l.spec.URLs, l.by) {
		switch {
		case a.Err != nil:
			errs = append(errs, a.Err)
		case a.Status.ClusterID.String() != l.clusterID:
			errs = append(errs, fmt.Errorf("%s is a member of cluster %s now", a.URL, a.Status.ClusterID))
		case a.NotServing != nil, a.Status.Learner, clients.Corrupt(a.Status):
			errs = append(errs, fmt.Errorf("%s is not healthy", a.URL))
		default:
			hash, compacted, err := l.Hash(ctx, a.URL, l.by, revision)
			if err == nil {
				return hash, compacted, l.sameHistory(ctx)
			}
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("the status lists no member of the cluster"))
	}
	return 0, 0, errors.Join(errs...)
}

// sameHistory returns an error if the cluster has recovered from a lost quorum since the snapshot, or if that is not known. It is called after
// the hash was read.
func (l *live) sameHistory(ctx context.Context) error {
	if err := l.ConfirmRecovery(ctx, l.spec, l.history); err != nil {
		return fmt.Errorf("the snapshot may be from before a recovery from a lost quorum: %w", err)
	}
	return nil
}

// hashOf reads the hash of one member.
func hashOf(ctx context.Context, url string, by ask.Access, revision int64) (uint32, int64, error) {
	client, err := by.Open(url)
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, hashTimeout)
	defer cancel()
	return client.HashKV(ctx, revision)
}

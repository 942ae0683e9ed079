package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// confirmRecovery fails if the EtcdCluster shows another recovery from a lost quorum than the one that is expected. What is expected comes
// from a cache, or is from before the recovery, and the survivor may serve already.
func (t *job) confirmRecovery(ctx context.Context, o jobSpec, expected string) error {
	if o.ClusterUID == "" { // etcdEndpoints
		return nil
	}
	var found v1beta2.EtcdCluster
	err := t.secrets.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Cluster}, &found)
	if apierrors.IsNotFound(err) {
		return nil // the members may still serve
	}
	if err != nil {
		return fail(v1beta2.ReasonRetrying, fmt.Sprintf("The operator cannot read EtcdCluster %s: %v.", o.Cluster, err))
	}
	switch now := clusterOf(&found); {
	case now.Recovering:
		return fail(v1beta2.ReasonRetrying, fmt.Sprintf("EtcdCluster %s is being recovered from a lost quorum.", o.Cluster))
	case now.Recovery != expected:
		return fail(v1beta2.ReasonRetrying, fmt.Sprintf("EtcdCluster %s has recovered from a lost quorum (%s), and the operator has not seen that yet.", o.Cluster, now.Recovery))
	}
	return nil
}

// sameHistory is the source of a snapshot that may be a base of a continuous archive. The manifest will say after which recovery the snapshot
// was taken: with an earlier one it would be a base of the history that was lost. So the recovery is confirmed after the member has begun to
// send.
type sameHistory struct {
	snapshot.Source
	confirm func(context.Context) error
}

// Snapshot is that of snapshot.Source.
func (s sameHistory) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	stream, size, err := s.Source.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := s.confirm(ctx); err != nil {
		return nil, 0, errors.Join(err, stream.Close())
	}
	return stream, size, nil
}

// ofHistory returns the source of a snapshot. One without quorum is no base, so its history does not matter. Another EtcdBackup may archive the
// cluster into the folder, so each snapshot of a series may be a base.
func (t *job) ofHistory(o jobSpec, from ask.Answer, source snapshot.Source) snapshot.Source {
	if !o.Archived && !o.Series || from.NotServing != nil {
		return source
	}
	return sameHistory{source, func(ctx context.Context) error { return t.confirmRecovery(ctx, o, o.Recovery) }}
}

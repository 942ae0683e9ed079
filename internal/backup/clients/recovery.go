package clients

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// ConfirmRecovery fails if the EtcdCluster shows another recovery from a lost quorum than the one that is expected. What is expected comes
// from a cache, or is from before the recovery, and the survivor may serve already.
func (t *Clients) ConfirmRecovery(ctx context.Context, o state.JobSpec, expected string) error {
	if o.ClusterUID == "" { // etcdEndpoints
		return nil
	}
	var found v1beta2.EtcdCluster
	err := t.Secrets.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Cluster}, &found)
	if apierrors.IsNotFound(err) {
		return nil // the members may still serve
	}
	if err != nil {
		return failure.New(v1beta2.ReasonRetrying, fmt.Sprintf("The operator cannot read EtcdCluster %s: %v.", o.Cluster, err))
	}
	switch now := state.ClusterOf(&found); {
	case now.Recovering:
		return failure.New(v1beta2.ReasonRetrying, fmt.Sprintf("EtcdCluster %s is being recovered from a lost quorum.", o.Cluster))
	case now.Recovery != expected:
		return failure.New(v1beta2.ReasonRetrying, fmt.Sprintf("EtcdCluster %s has recovered from a lost quorum (%s), and the operator has not seen that yet.", o.Cluster, now.Recovery))
	}
	return nil
}

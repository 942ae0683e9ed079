package clients

import (
	"context"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// MaxRefusals is after how many refused deletions of small objects, which do no harm, the operator tries no more.
const MaxRefusals = 10

// Store opens the store of a job spec.
func (t *Clients) Store(ctx context.Context, o state.JobSpec) (objstore.Store, error) {
	secret, err := t.Secret(ctx, o.Namespace, o.Target.Secret, connect.Keys()...)
	if err != nil {
		return nil, err
	}
	at := Site{Location: o.Target, namespace: o.Namespace, cluster: o.Cluster, series: o.Series}
	store, err := t.Open(ctx, at.access(secret, t.Identity))
	if failure.RefusedBy(err, "") != nil {
		return nil, err // classify explains it
	}
	if err != nil {
		return nil, failure.New(v1beta2.ReasonAccessDenied, err.Error())
	}
	return measure(store), nil
}

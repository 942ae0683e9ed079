package clients

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Site is what an EtcdBackup uses in a bucket: one object, or the folder of the series of its cluster.
type Site struct {
	storage.Location
	namespace, cluster string
	series             bool
}

// access returns how the site is opened.
func (p Site) access(secret map[string][]byte, list grant.List) connect.Access {
	a := connect.Access{Location: p.Location, Data: secret, For: list.Of(p.namespace)}
	if p.series {
		a.Key = snapshot.Series{Folder: p.Key, Namespace: p.namespace, Cluster: p.cluster}.Lives()
	}
	return a
}

// refused returns why the values of the chart do not allow the site. It is nil if they do.
func (p Site) refused(secret map[string][]byte, list grant.List) *state.Failure {
	return failure.RefusedBy(p.access(secret, list).Check(), "The operator does not use the path: ")
}

// Judge finds out whether the values of the chart allow a location. If its Secret is missing, missing says so, and the location is judged when it
// exists.
func Judge(ctx context.Context, secrets client.Reader, list grant.List, p Site) (refused *state.Failure, missing string, err error) {
	secret, err := kube.SecretData(ctx, secrets, p.namespace, p.Secret, connect.Keys()...)
	switch {
	case errors.Is(err, kube.ErrSecretMissing):
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", err
	}
	return p.refused(secret, list), "", nil
}

// SiteOf returns what the EtcdBackup uses in a location.
func SiteOf(s state.State, at storage.Location) Site {
	return Site{Location: at, namespace: s.Namespace, cluster: state.SourceName(s.Name, s.Spec), series: s.Series()}
}

package archiving

import (
	"context"
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/copying"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// runner runs archivers.
type runner struct {
	*clients.Clients
	spool   *spool.Spool
	metrics *Metrics
	places  *limits.Places
	copies  *copying.Copies
}

// extra returns what makes room for an archiver that needs more than its place: one revision is never divided, however large it is. The caller
// calls end once.
func (t *runner) extra(namespace string) (grow func(bytes, written int64) error, end func()) {
	share := t.spool.Of(namespace).Extra()
	return func(bytes, written int64) error {
		return share.Resize(max(bytes-limits.Spool, 0), max(written-limits.Spool, 0))
	}, share.Release
}

// reserve reserves the space of one archiver until the returned function is called. All of them together get a part of the
// spool.
func (t *runner) reserve(ctx context.Context, namespace string) (func(), error) {
	leave, err := t.places.TakeArchive(namespace)
	if err != nil {
		return nil, err
	}
	release, err := t.spool.Of(namespace).Hold(ctx, limits.Spool)
	if err != nil {
		leave()
		return nil, err
	}
	return func() { release(); leave() }, nil
}

// prepare connects to the healthy voters of the cluster and to the store.
func (t *runner) prepare(ctx context.Context, spec Spec, secrets *clients.KeptSecrets) (cluster *watch.Client, store objstore.Store, advice string, err error) {
	limited, cancel := context.WithTimeout(ctx, limits.Prepare)
	defer cancel()
	o := spec.job
	if err = t.ConfirmRecovery(limited, o, spec.recovery); err != nil {
		return nil, nil, "", ofMembers(err)
	}
	if store, err = secrets.LastingStore(limited, o); err != nil {
		return nil, nil, "", err
	}
	by, err := t.Access(secrets.Members(limited), o)
	if err != nil {
		return nil, nil, "", err
	}
	answers := t.Probe(limited, o.URLs, by)
	if _, err = clients.Choose(answers, o.ClusterID, false); err != nil {
		return nil, nil, "", ofMembers(clients.ExplainAccess(by, err))
	}
	options := watch.Options{TLS: by.TLS, Memory: admitChange(largeChanges, o.Namespace, changeWait)}
	for _, answer := range answers {
		if answer.Err != nil || answer.NotServing != nil || answer.Status.Learner {
			continue
		}
		if o.ClusterID == "" || answer.Status.ClusterID.String() == o.ClusterID {
			options.Endpoints = append(options.Endpoints, answer.URL)
			if advice, err = archivable(answer.Status.Version); err != nil {
				return nil, nil, "", err
			}
		}
	}
	if by.Login != nil {
		data, err := t.Secret(limited, o.Namespace, o.AuthSecret, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey)
		if err != nil {
			return nil, nil, "", err
		}
		trim := func(key string) string { return strings.TrimRight(string(data[key]), "\r\n") }
		options.User, options.Password = trim(v1beta2.AuthUsernameKey), trim(v1beta2.AuthPasswordKey)
	}
	cluster, err = openMembers(ctx, limited, options)
	return cluster, store, advice, err
}

// archivable returns an error if the version of etcd cannot be archived, and advice if its watches may lose events.
func archivable(version string) (advice string, err error) {
	runs, _ := etcdversion.Parse(version) // what is no version is older than each
	since := etcdversion.MustParse("3.5.0")
	switch {
	case runs.CompareMinor(since) < 0:
		return "", failure.New(v1beta2.ReasonArchiveNotSupported, fmt.Sprintf("A member runs etcd %s, which does not report changes of users and roles. So its history cannot be archived. Upgrade the cluster to etcd 3.5 or later.", version))
	case runs.CompareMinor(since) == 0 && runs.Before(etcdversion.MustParse("3.5.16")):
		return fmt.Sprintf("A watch of etcd %s can lose deletions (etcd issue 18089). Upgrade the cluster to etcd 3.5.16 or later.", version), nil
	}
	return "", nil
}

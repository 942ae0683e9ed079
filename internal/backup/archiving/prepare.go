package archiving

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// prepareTimeout limits the requests before an archiver starts.
const prepareTimeout = time.Minute

const (
	// archiveShare is the part of the spool that all archivers may use together, so that snapshots always have room.
	archiveShare = 4
	// archiveSpool is the space that one archiver reserves in the spool. archiveWaiting of it may wait for the store, and the
	// rest is for the segments that are being written.
	archiveSpool = 40 << 20
)

// runner runs archivers.
type runner struct {
	*clients.Clients
	spool   *spool.Spool
	metrics *Metrics
	places  archivePlaces
	copies  *copies
	// copyPlaces are as many as places, so that each archive can be copied.
	copyPlaces archivePlaces
	// inMemory is how many archives have memory; 0 for no limit.
	inMemory int64
}

// extra returns what makes room for an archiver that needs more than its place: one revision is never divided, however large it is. The caller
// calls end once.
func (t *runner) extra(namespace string) (grow func(bytes, written int64) error, end func()) {
	share := t.spool.Of(namespace).Extra()
	return func(bytes, written int64) error {
		return share.Resize(max(bytes-archiveSpool, 0), max(written-archiveSpool, 0))
	}, share.Release
}

// reserve reserves the space of one archiver until the returned function is called. All of them together get a part of the
// spool.
func (t *runner) reserve(ctx context.Context, namespace string) (func(), error) {
	if err := t.take(&t.places, namespace, "archiver"); err != nil {
		return nil, err
	}
	release, err := t.spool.Of(namespace).Hold(ctx, archiveSpool)
	if err != nil {
		t.places.leave(namespace)
		return nil, err
	}
	return func() { release(); t.places.leave(namespace) }, nil
}

// take takes a place for what it names.
func (t *runner) take(among *archivePlaces, namespace, what string) error {
	limit := int64(0)
	if t.spool != nil {
		limit = t.spool.Largest()
	}
	memory := cmp.Or(t.inMemory, math.MaxInt32)
	whole := limit + t.places.count()*archiveSpool
	places := whole / archiveShare / archiveSpool
	if limit <= 0 || memory < places {
		if why := among.take(namespace, memory); why != turns.None {
			return fmt.Errorf("%w for another %s: there are %d places, for which the memory of the operator suffices (backupOperator.resources.limits.memory in the values of the chart), and %s", spool.ErrTooSmall, what, memory, why)
		}
		return nil
	}
	if why := among.take(namespace, places); why != turns.None {
		return fmt.Errorf("%w for another %s: there are %d places, a quarter of %d MiB with %d MiB each, and %s", spool.ErrTooSmall, what, places, whole>>20, archiveSpool>>20, why)
	}
	return nil
}

// prepare connects to the healthy voters of the cluster and to the store.
func (t *runner) prepare(ctx context.Context, spec Spec, secrets *clients.KeptSecrets) (cluster *watch.Client, store objstore.Store, advice string, err error) {
	limited, cancel := context.WithTimeout(ctx, prepareTimeout)
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

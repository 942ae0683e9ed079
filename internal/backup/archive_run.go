package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// archiveJob runs archivers.
type archiveJob struct {
	*job
	metrics *archiveMetrics
	places  archivePlaces
}

const (
	// archiveSpool is the space that one archiver reserves in the spool. archiveWaiting of it may wait for the store, and the
	// rest is for the segments that are being written.
	archiveSpool   = 40 << 20
	archiveWaiting = 16 << 20
	archiveSegment = 8 << 20
	// prepareTimeout limits the requests before an archiver starts.
	prepareTimeout = time.Minute
)

// run keeps the archiver of one EtcdBackup running until ctx ends.
func (t *archiveJob) run(ctx context.Context, a *archiving) {
	failures := int32(0)
	for ctx.Err() == nil {
		began := t.now()
		a.starts(began)
		_, err := panics.Try(func() (struct{}, error) { return struct{}{}, t.once(ctx, a) })
		if ctx.Err() != nil {
			return
		}
		if caught := (*panics.Error)(nil); errors.As(err, &caught) {
			ctrl.Log.WithName(Name).Error(err, "An archiver panicked", "etcdBackup", a.key.Object, "stack", string(caught.Stack))
		}
		if a.hasArchived() && t.now().Sub(began) >= archiveStable {
			failures = 0
		}
		failures++
		wait := archiveDelay(failures, err, a.current().maxLag)
		t.metrics.stopped(a.key.Object, a.safe(), t.now())
		a.failed(failures, classifyArchive(err, a.current().job), t.now(), wait)
		a.notify()
		if !pause(ctx, wait) {
			return
		}
	}
}

// classifyArchive turns the error of an archiver into a Failure.
func classifyArchive(err error, o jobSpec) *Failure {
	switch {
	case err == nil:
		return &Failure{v1beta2.ReasonRetrying, "The archiver has ended without an error."}
	case errors.Is(err, archiver.ErrFenced):
		return &Failure{v1beta2.ReasonArchiveFenced, fmt.Sprintf("Another archiver writes the same archive, %s in the bucket %s: %v. "+
			"Only one EtcdBackup of one backup-operator may archive a cluster into a folder. Remove continuous from the other one, or write another path.", o.archiveRoot(), o.Target.Bucket, err)}
	case errors.Is(err, archiver.ErrRepeats):
		return &Failure{v1beta2.ReasonRetrying, fmt.Sprintf("The continuous archive failed: %v. The answers of the store lag behind its objects in the bucket %s, or the members answer differently each time. "+
			"Nothing new is archived until that ends. The operator tries again.", err, o.Target.Bucket)}
	case errors.Is(err, archiver.ErrRoom):
		reason := v1beta2.ReasonRetrying
		if errors.Is(err, spool.ErrTooSmall) {
			reason = v1beta2.ReasonSpoolTooSmall
		}
		return &Failure{reason, fmt.Sprintf("The continuous archive has stopped: %v. The operator needs twice the size of a revision on its spool volume. Nothing newer is archived until it has that. "+
			"Raise backupOperator.spool.sizeLimit in the values of the chart, or turn the archive off and on again. The operator tries again.", err)}
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrNewerFormat):
		return &Failure{v1beta2.ReasonArchiveCorrupt, fmt.Sprintf("The archive %s in the bucket %s cannot be continued: %v. Nothing new is archived. "+
			"Move the folder away, and the operator begins a new archive.", o.archiveRoot(), o.Target.Bucket, err)}
	}
	o.Kind = kindArchive
	return classify(err, o, false)
}

// kindArchive is the Kind in messages about archivers. No attempt has it.
const kindArchive Kind = "archive"

// once archives until something fails.
func (t *archiveJob) once(ctx context.Context, a *archiving) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	spec := a.current()
	release, err := t.reserve(ctx, a.key.Object.Namespace) // before anything that takes memory for the archive
	if err != nil {
		return err
	}
	defer release()
	grow, shrink := t.extra(a.key.Object.Namespace)
	defer shrink()
	cluster, store, advice, err := t.prepare(ctx, spec)
	if err != nil {
		return err
	}
	defer cluster.Close()
	dir, err := os.MkdirTemp(t.spool.Dir(), archiveDirs)
	if err != nil {
		return fmt.Errorf("spool segments: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	running := archiver.New(archiver.Options{
		Cluster: members{cluster}, Store: store, Root: spec.job.archiveRoot(), Dir: dir, Encoder: spec.job.Encoder, Writer: spec.job.mark(), Recovery: spec.recovery, Hurry: a.hurried,
		SameHistory: func(ctx context.Context) error { return t.confirmRecovery(ctx, spec.job, spec.recovery) },
		MaxLag:      spec.maxLag, MaxSize: archiveSegment, MaxSpool: archiveWaiting, Grow: grow, Now: t.now,
		TakeBase: func(ctx context.Context, reason string) (archiver.Base, error) {
			base, err := a.ask(ctx, reason)
			if err != nil {
				return archiver.Base{}, err
			}
			id, err := strconv.ParseUint(base.ClusterID, 16, 64)
			return archiver.Base{Key: base.Key, ClusterID: id, Revision: base.Point.Revision, At: base.Point.At, Auth: base.Auth}, err
		},
	})
	k := &keeper{job: t, archiving: a, store: store, running: running, advice: advice, began: t.now(), end: cancel}
	kept := make(chan struct{})
	go panics.Caught(func() { defer close(kept); k.run(ctx) }, cancel)()
	err = running.Run(ctx)
	cancel(nil)
	<-kept
	k.publish(running.Status()) // with the last segment
	return err
}

// prepare connects to the healthy voters of the cluster and to the store.
func (t *archiveJob) prepare(ctx context.Context, spec archiveSpec) (cluster *watch.Client, store objstore.Store, advice string, err error) {
	limited, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	o := spec.job
	if err = t.confirmRecovery(limited, o, spec.recovery); err != nil {
		return nil, nil, "", ofMembers(err)
	}
	if store, err = t.store(limited, o); err != nil {
		return nil, nil, "", err
	}
	store = newReopened(store, t.now, func(ctx context.Context) (objstore.Store, error) { return t.store(ctx, o) })
	by, err := t.access(limited, o)
	if err != nil {
		return nil, nil, "", err
	}
	answers := t.probe(limited, o.URLs, by)
	if _, err = choose(answers, o.ClusterID, false); err != nil {
		return nil, nil, "", ofMembers(explainAccess(by, err))
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
		data, err := t.secret(limited, o.Namespace, o.AuthSecret)
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
		return "", fail(v1beta2.ReasonArchiveNotSupported, fmt.Sprintf("A member runs etcd %s, which does not report changes of users and roles. So its history cannot be archived. Upgrade the cluster to etcd 3.5 or later.", version))
	case runs.CompareMinor(since) == 0 && runs.Before(etcdversion.MustParse("3.5.16")):
		return fmt.Sprintf("A watch of etcd %s can lose deletions (etcd issue 18089). Upgrade the cluster to etcd 3.5.16 or later.", version), nil
	}
	return "", nil
}

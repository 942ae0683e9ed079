package backup

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// verify reads a snapshot back that was just taken, where the order says so.
func (t *taker) verify(ctx context.Context, o order, store objstore.Store, result Result, progress *tracker) (Result, error) {
	if !o.Verify || result.Snapshot.Path == o.Proven {
		return result, nil
	}
	var err error
	if result.Drill, err = t.prove(ctx, o, store, *result.Snapshot, progress); err != nil {
		return Result{}, err
	}
	if result.Drill.Result == v1beta2.DrillFailed {
		return Result{Drill: result.Drill}, fail(v1beta2.ReasonSnapshotCorrupt, broken(*result.Drill))
	}
	return result, nil
}

// broken is what to do about a snapshot that cannot be relied on.
func broken(d v1beta2.BackupDrill) string {
	return "snapshot " + d.Path + " was read back and cannot be relied on: " + d.Message +
		"; do not restore from it: take another snapshot, and look at the store and at the members' disks"
}

// drillNewest tries out the newest snapshot that is known.
func (t *taker) drillNewest(ctx context.Context, o order, progress *tracker) (Result, error) {
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	drill, err := t.prove(ctx, o, store, o.Newest, progress)
	return Result{Drill: drill}, err
}

// prove drills one snapshot. The error is why that could not be carried out, and says nothing of the snapshot.
func (t *taker) prove(ctx context.Context, o order, store objstore.Store, newest v1beta2.Snapshot, progress *tracker) (*v1beta2.BackupDrill, error) {
	tlsConfig, err := t.tls(ctx, o)
	if err != nil {
		return nil, err
	}
	secret, err := t.secret(ctx, o.Namespace, o.Target.Secret)
	if err != nil {
		return nil, err
	}
	found, err := t.drill(ctx, snapshot.DrillRequest{
		Store: store, Key: strings.TrimPrefix(newest.Path, o.Target.Bucket+"/"), ScratchDir: t.spoolDir,
		Identities: connect.Identity(secret), Progress: progress.passing("reading "+newest.Path+" back", newest.Size),
		Live: &live{taker: t, urls: o.URLs, tls: tlsConfig, clusterID: newest.ClusterID},
	})
	drill := &v1beta2.BackupDrill{
		Path: newest.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: t.now()},
		Revision: found.Info.Revision, Compared: found.Compared, Message: "it can be restored, and holds what the cluster held at that revision",
	}
	switch {
	case err != nil && condemns(err):
		drill.Result, drill.Message = v1beta2.DrillFailed, clip(err.Error())
	case errors.Is(err, snapshot.ErrIdentity):
		return nil, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf(
			"%v; put the identity as %s into the Secret with the store's credentials, or do without verify: Restore and drill", err, v1beta2.AgeIdentityKey))
	case err != nil:
		return nil, err
	case !found.Compared:
		drill.Message = clip("it can be restored; it was not compared with the cluster: " + found.Why)
	}
	return drill, nil
}

// condemns says whether the error of a drill is the snapshot's.
func condemns(err error) bool {
	for _, kind := range []error{dbfile.ErrCorrupt, dbfile.ErrNoTrailer, snapshot.ErrUnrestorable, snapshot.ErrDiffers, fs.ErrNotExist} {
		if errors.Is(err, kind) && !errors.Is(err, snapshot.ErrDisk) {
			return true
		}
	}
	return false
}

// live asks the members of the cluster that the snapshot is of, one after the other.
type live struct {
	*taker
	urls      []string
	tls       *tls.Config
	clusterID string
}

// HashKV takes the first member's that has one. A cluster of another ID, for example after a restore, has another
// history, with which nothing is to be compared.
func (l *live) HashKV(ctx context.Context, revision int64) (uint32, int64, error) {
	var errs []error
	for _, a := range l.survey(ctx, l.urls, l.tls) {
		switch {
		case a.Err != nil:
			errs = append(errs, a.Err)
		case a.Status.ClusterID.String() != l.clusterID:
			errs = append(errs, fmt.Errorf("%s is of cluster %s now", a.URL, a.Status.ClusterID))
		case a.NotServing != nil, a.Status.Learner, corrupt(a.Status):
			errs = append(errs, fmt.Errorf("%s is not healthy", a.URL))
		default:
			hash, compacted, err := l.hash(ctx, a.URL, l.tls, revision)
			if err == nil {
				return hash, compacted, nil
			}
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("no member of the cluster is known"))
	}
	return 0, 0, errors.Join(errs...)
}

// hashOf asks one member.
func hashOf(ctx context.Context, url string, tlsConfig *tls.Config, revision int64) (uint32, int64, error) {
	client, err := etcd.Open(etcd.Endpoint{URL: url}, tlsConfig)
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, hashTimeout)
	defer cancel()
	return client.HashKV(ctx, revision)
}

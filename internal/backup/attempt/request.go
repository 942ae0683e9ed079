package attempt

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// sameHistory is the source of a snapshot that may be a base of a continuous archive. The manifest will say after which recovery the snapshot
// was taken: with an earlier one it would be a base of the history that was lost. So the recovery is confirmed after the member has begun to
// send.
type sameHistory struct {
	save.Source
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
func (t *Job) ofHistory(o state.JobSpec, from ask.Answer, source save.Source) save.Source {
	if !o.Archived && !o.Series || from.NotServing != nil {
		return source
	}
	return sameHistory{source, func(ctx context.Context) error { return t.ConfirmRecovery(ctx, o, o.Recovery) }}
}

// emptyRevision is the revision of a database that was never written to. Its file contains no revision.
const emptyRevision = 1

// fillRequest adds what is known about a snapshot that is taken now from a member.
func fillRequest(o state.JobSpec, r *save.Request, from ask.Answer, answers []ask.Answer, now time.Time) {
	id := from.Status.ClusterID
	r.Key, r.Encoder = o.Target.Key, o.Encoder
	if o.Series {
		r.Key = o.SeriesOf(id).EncodedKey(now, from.Status.Revision, o.Encoder.Encoding())
	}
	r.Cluster = snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, UID: string(o.ClusterUID), ID: id.String()}
	r.EtcdVersion = from.Status.Version
	if from.Status.Revision > emptyRevision {
		r.MinRevision = from.Status.Revision
	}
	r.Time, r.Tool = now, clients.Tool()
	// These identify an earlier attempt. They change with the source, because that is another snapshot.
	r.Attempt, r.Since, r.Again = o.AttemptOf(id), o.Since, !o.Series
	r.Backup, r.NoQuorum, r.Recovery = o.Name, from.NotServing != nil, o.Recovery
	for _, a := range answers {
		if a.Err == nil && a.Status.ClusterID == id {
			r.MemberIDs = append(r.MemberIDs, uint64(a.Status.MemberID))
		}
	}
}

// resultOf is the Result of an attempt that has saved or found a snapshot.
func resultOf(o state.JobSpec, key string, saved save.Saved, signers snapshot.Signers) state.Result {
	told := o.Shown(key, saved.Manifest, signers)
	return state.Result{Found: saved.Found, Snapshot: &told}
}

package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// safetyTimeout ends an attempt to save the old cluster before cluster-operator stops waiting for it.
const safetyTimeout = v1beta2.SafetySnapshotLimit - time.Minute

// safetyClaim has the limits of a safety snapshot. One of a slow member takes up to safetyTimeout, and the restores of other namespaces do not wait for
// that: after a minute, it runs on without a worker if another namespace waits for one.
var safetyClaim = worker.Claim{Namespace: safetiesOfOne, Patience: time.Minute}

// safetiesOfOne is how many safety snapshots of one namespace are taken at the same time.
const safetiesOfOne = 2

// safetyWorkers returns how many safety snapshots are taken at the same time. They are twice as many as the readings, because a restore continues
// without a safety snapshot that has waited for too long. Two namespaces cannot hold all of these workers.
func safetyWorkers(readings int) int { return max(2*readings, 2*safetiesOfOne+1) }

// attempt is one to save the old cluster.
type attempt struct {
	order state.SafetyOrder
	asked time.Time     // when it was asked for
	lost  time.Duration // plan.Safety.Lost of the one before
}

// saver saves the data that a restore replaces, in workers.
type saver struct {
	*access
	save     Save
	safeties *worker.Pool[state.Safety]
	now      func() time.Time
}

// start saves the old cluster.
func (s *saver) start(key worker.Key, order state.SafetyOrder, lost time.Duration) {
	s.safeties.Forget(key)
	next := attempt{order: order, asked: time.Now(), lost: lost}
	s.safeties.StartIn(key, safetyClaim, func(ctx context.Context) (state.Safety, error) { return s.saveOldData(ctx, key, next), nil })
}

// observe returns the state of the attempt to save the old cluster.
func (s *saver) observe(key worker.Key) state.Safety {
	if s.safeties.Running(key) {
		return state.Safety{Progress: state.ProofRunning}
	}
	saved, _, _ := s.safeties.Result(key)
	return saved
}

// saveOldData runs one attempt in a worker, outside of Reconcile.
func (s *saver) saveOldData(ctx context.Context, key worker.Key, a attempt) state.Safety {
	order, began := a.order, time.Now()
	ctx, cancel := context.WithTimeout(turns.Urgent(ctx), safetyTimeout)
	defer cancel()
	ctx, held := objstore.Hold(ctx, key.Object.Namespace)
	defer held.Release()
	saved, err := panics.Try(func() (state.Safety, error) {
		secrets, err := s.secrets(ctx, key.Object.Namespace, order)
		if err != nil {
			return state.Safety{}, err
		}
		path, m, err := s.save(ctx, order, secrets)
		return state.Safety{Path: path, Revision: m.Revision, Time: order.Time}, err
	})
	if err != nil {
		refused := errors.Is(err, fs.ErrPermission) && !errors.Is(err, snapshot.ErrDisk)
		failed := state.Safety{Progress: state.ProofFailed, Message: adviseSafety(err), Ended: s.now(), Refused: refused, Others: ofOthers(err)}
		failed.Lost = a.lost + began.Sub(a.asked) + turns.WaitedFor(ctx)
		if failed.Others {
			failed.Lost = a.lost + time.Since(a.asked)
		}
		return failed
	}
	saved.Progress = state.ProofDone
	return saved
}

// secrets reads the Secrets for the store and for the members.
func (s *saver) secrets(ctx context.Context, namespace string, order state.SafetyOrder) (found SafetySecrets, err error) {
	if found.Store, err = kube.SecretData(ctx, s.client, namespace, order.Target.Secret, connect.Keys()...); err != nil {
		return found, err
	}
	target := order.Target
	target.Key = snapshot.Series{Folder: target.Key, Namespace: order.Namespace, Cluster: order.Cluster}.Lives()
	by, err := s.by(namespace, target.Source(), found.Store, snapshot.Anyone)
	if err != nil {
		return found, err
	}
	members, err := s.memberSecrets(ctx, namespace, order)
	members.Store, members.For = found.Store, by.For
	return members, err
}

// ofOthers returns whether an attempt ended only because of what other namespaces use or wait for.
func ofOthers(err error) bool {
	return errors.Is(err, turns.ErrOthersWaited) || errors.Is(err, spool.ErrFull) || errors.Is(err, objstore.ErrMemory)
}

// adviseSafety returns the message of a failed attempt, with what to set if it never fits.
func adviseSafety(err error) string {
	if errors.Is(err, spool.ErrTooSmall) {
		return err.Error() + ". Raise restoreOperator.spool.sizeLimit in the values of the chart, or free space on the disk of the node."
	}
	return err.Error()
}

// SaveInSpool returns a Save that verifies each snapshot in a file below dir, without a budget. InSpool has created the
// directory. dial may be nil.
func SaveInSpool(dir string, dial Dial) Save {
	return Spool{Spool: spool.New(spoolOf(dir), spool.Options{})}.Save(dial)
}

// Save returns a Save that verifies each snapshot in a file of the spool. dial may be nil.
func (s Spool) Save(dial Dial) Save {
	return func(ctx context.Context, o state.SafetyOrder, secrets SafetySecrets) (string, snapshot.Manifest, error) {
		ctx, end := s.paced(ctx, o.Namespace)
		defer end(context.Canceled)
		by, err := accessOf(o, secrets, dial)
		if err != nil {
			return "", snapshot.Manifest{}, err
		}
		if identity := connect.Identity(secrets.Store); o.Encoded && len(identity) > 0 {
			if o.Encoder.Recipients, err = codec.RecipientsOf(identity); err != nil {
				return "", snapshot.Manifest{}, fmt.Errorf("encrypt it for the identity in Secret %s: %w", o.Target.Secret, err)
			}
		}
		member, voters, err := chooseMember(ctx, o, by)
		if err != nil {
			return "", snapshot.Manifest{}, explainAccess(by, err)
		}
		store, err := connect.Open(ctx, connect.Access{Location: o.Target, Data: secrets.Store, For: secrets.For})
		if err != nil {
			return "", snapshot.Manifest{}, err
		}
		request, err := s.safetyRequest(o, member, voters, end)
		if err != nil {
			return "", snapshot.Manifest{}, err
		}
		request.Store, request.Source = store, save.Measured{Source: ask.Snapshot{URL: member.URL, By: by}}
		saved, err := save.Snapshot(ctx, request)
		if err == nil {
			dropUploads(ctx, store, request.Key)
		}
		return o.Target.Bucket + "/" + request.Key, saved.Manifest, err
	}
}

// safetyRequest returns what to save of a member, and where, without the store and the source. end ends it for others.
func (s Spool) safetyRequest(o state.SafetyOrder, member ask.Answer, voters []uint64, end context.CancelCauseFunc) (request save.Request, err error) {
	id, err := strconv.ParseUint(o.ClusterID, 16, 64)
	if err != nil {
		return request, fmt.Errorf("the ID of the old cluster is %q: %w", o.ClusterID, err)
	}
	series := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: id}
	request = save.Request{
		Namespace: o.Namespace, SpoolDir: s.Dir(), Spool: s.forSafety(o.Namespace, end), Expected: member.Status.DBSize, Encoder: o.Encoder,
		Key:         series.EncodedKey(o.Time, 0, o.Encoder.Encoding()),
		Cluster:     snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, UID: o.UID, ID: o.ClusterID},
		EtcdVersion: member.Status.Version, Time: o.Time, Clock: time.Now, Tool: Name + " " + operator.Version,
		Attempt: o.Mark, Again: true, Since: o.Since, MemberIDs: voters,
	}
	if last := max(member.Status.Revision, o.MinRevision); last > 1 {
		request.MinRevision = last
	}
	return request, nil
}

// paced ends the transfers of a safety snapshot that hardly move, so that a member or a store which sends a byte now and then keeps no space from the
// safety snapshots of others.
func (s Spool) paced(ctx context.Context, namespace string) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	return pace.With(ctx, end, s.Of(namespace).Crowds), end
}

// dropUploads aborts what a killed operator left of an upload of that key, which is no longer needed. The parts are billed, but
// they keep no restore from continuing.
func dropUploads(ctx context.Context, store objstore.Store, key string) {
	_, err := catalog.AbortUploads(ctx, store, key, func(found string, _ time.Time) bool { return found == key })
	if err != nil {
		log.FromContext(ctx).Info("Could not remove the parts of an interrupted upload", "key", key, "error", err.Error())
	}
}

// chooseMember returns a voter of the old cluster that has a quorum, and the IDs of all members that answered.
func chooseMember(ctx context.Context, o state.SafetyOrder, by ask.Access) (ask.Answer, []uint64, error) {
	var errs []error
	var members []uint64
	var healthy []ask.Answer
	for _, a := range ask.Members(ctx, o.URLs, by) {
		errs = append(errs, a.Err)
		if a.Err != nil || a.Status.ClusterID.String() != o.ClusterID {
			continue
		}
		members = append(members, uint64(a.Status.MemberID))
		if errs = append(errs, a.NotServing); a.NotServing == nil && !a.Status.Learner {
			healthy = append(healthy, a)
		}
	}
	switch why := errors.Join(errs...); {
	case len(members) == 0 && why == nil:
		return ask.Answer{}, nil, fmt.Errorf("the status of the EtcdCluster names no member of etcd cluster %s that answers", o.ClusterID)
	case len(members) == 0:
		return ask.Answer{}, nil, fmt.Errorf("no member of etcd cluster %s answers: %w", o.ClusterID, why)
	case len(healthy) == 0 && why == nil:
		return ask.Answer{}, nil, fmt.Errorf("only learners of etcd cluster %s answer", o.ClusterID)
	case len(healthy) == 0:
		return ask.Answer{}, nil, fmt.Errorf("no voter of etcd cluster %s has a quorum: %w", o.ClusterID, why)
	}
	return ask.Best(healthy), members, nil
}

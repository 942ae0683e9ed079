package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

const (
	// safetyTimeout ends an attempt to save the old cluster before cluster-operator stops waiting for it.
	safetyTimeout = v1beta2.SafetySnapshotLimit - time.Minute
	// askTimeout limits one request to one member.
	askTimeout = 3 * time.Second
)

// Save saves the old cluster, and returns the snapshot's path and manifest.
type Save func(ctx context.Context, order plan.SafetyOrder, secrets SafetySecrets) (path string, m snapshot.Manifest, err error)

// saveOldData runs one attempt in a worker, outside of Reconcile.
func (r *Reconciler) saveOldData(ctx context.Context, key worker.Key, order plan.SafetyOrder) plan.Safety {
	ctx, cancel := context.WithTimeout(ctx, safetyTimeout)
	defer cancel()
	saved, err := worker.Try(func() (plan.Safety, error) {
		secrets, err := r.safetySecrets(ctx, key.Object.Namespace, order)
		if err != nil {
			return plan.Safety{}, err
		}
		path, m, err := r.save(ctx, order, secrets)
		return plan.Safety{Path: path, Revision: m.Revision, Time: order.Time}, err
	})
	if err != nil {
		refused := errors.Is(err, fs.ErrPermission) && !errors.Is(err, snapshot.ErrDisk)
		return plan.Safety{Progress: plan.ProofFailed, Message: err.Error(), Ended: r.now(), Refused: refused}
	}
	saved.Progress = plan.ProofDone
	return saved
}

// SaveInSpool returns a Save that verifies each snapshot in a file below dir, without a budget. InSpool has created the
// directory. dial may be nil.
func SaveInSpool(dir string, dial Dial) Save {
	return Spool{Spool: spool.New(spoolOf(dir), spool.Options{})}.Save(dial)
}

// Save returns a Save that verifies each snapshot in a file of the spool. dial may be nil.
func (s Spool) Save(dial Dial) Save {
	if dial == nil {
		dial = open
	}
	return func(ctx context.Context, o plan.SafetyOrder, secrets SafetySecrets) (string, snapshot.Manifest, error) {
		by, err := accessOf(o, secrets, dial)
		if err != nil {
			return "", snapshot.Manifest{}, err
		}
		if identity := connect.Identity(secrets.Store); o.Encoded && len(identity) > 0 {
			if o.Encoder.Recipients, err = snapshot.RecipientsOf(identity); err != nil {
				return "", snapshot.Manifest{}, fmt.Errorf("encrypt it for the identity in Secret %s: %w", o.Target.Secret, err)
			}
		}
		member, voters, err := chooseMember(ctx, o, by)
		if err != nil {
			return "", snapshot.Manifest{}, by.explain(err)
		}
		store, err := connect.Open(ctx, connect.Access{Location: o.Target, Data: secrets.Store, For: secrets.For})
		if err != nil {
			return "", snapshot.Manifest{}, err
		}
		id, err := strconv.ParseUint(o.ClusterID, 16, 64)
		if err != nil {
			return "", snapshot.Manifest{}, fmt.Errorf("the ID of the old cluster is %q: %w", o.ClusterID, err)
		}
		series := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: id}
		request := snapshot.Request{
			Source: memberSource{member.url, by}, Store: store, SpoolDir: s.Dir(), Spool: s.forSafety(o.Namespace), Expected: member.DBSize, Encoder: o.Encoder,
			Key:         series.EncodedKey(o.Time, 0, o.Encoder.Encoding()),
			Cluster:     snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, UID: o.UID, ID: o.ClusterID},
			EtcdVersion: member.Version, Time: o.Time, Clock: time.Now, Tool: Name + " " + operator.Version,
			Attempt: o.Mark, Again: true, Since: o.Since, MemberIDs: voters,
		}
		if member.Revision > 1 {
			request.MinRevision = member.Revision
		}
		saved, err := snapshot.Save(ctx, request)
		if err == nil {
			dropUploads(ctx, store, request.Key)
		}
		return o.Target.Bucket + "/" + request.Key, saved.Manifest, err
	}
}

// dropUploads aborts what a killed operator left of an upload of that key, which is no longer needed. The parts are billed, but
// they keep no restore from continuing.
func dropUploads(ctx context.Context, store objstore.Store, key string) {
	_, err := snapshot.AbortUploads(ctx, store, key, func(found string, _ time.Time) bool { return found == key })
	if err != nil {
		log.FromContext(ctx).Info("Could not remove the parts of an interrupted upload", "key", key, "error", err.Error())
	}
}

// candidate is a member of the old cluster that answered.
type candidate struct {
	url string
	etcd.Status
	// notServing is why a linearizable read failed.
	notServing error
}

// chooseMember returns a voter of the old cluster that has a quorum, and the IDs of all members that answered. A member whose
// data etcd has found corrupt is the last choice, and a follower is better than the leader.
func chooseMember(ctx context.Context, o plan.SafetyOrder, by access) (candidate, []uint64, error) {
	answers, errs := make([]*candidate, len(o.URLs)), make([]error, len(o.URLs))
	var asked sync.WaitGroup
	for i, url := range o.URLs {
		asked.Go(func() { answers[i], errs[i] = ask(ctx, url, by) })
	}
	asked.Wait()
	var members []uint64
	var healthy []candidate
	for _, a := range answers {
		if a == nil || a.ClusterID.String() != o.ClusterID {
			continue
		}
		members = append(members, uint64(a.MemberID))
		if errs = append(errs, a.notServing); a.notServing == nil && !a.Learner {
			healthy = append(healthy, *a)
		}
	}
	switch why := errors.Join(errs...); {
	case len(members) == 0 && why == nil:
		return candidate{}, nil, fmt.Errorf("the status of the EtcdCluster names no member of etcd cluster %s that answers", o.ClusterID)
	case len(members) == 0:
		return candidate{}, nil, fmt.Errorf("no member of etcd cluster %s answers: %w", o.ClusterID, why)
	case len(healthy) == 0 && why == nil:
		return candidate{}, nil, fmt.Errorf("only learners of etcd cluster %s answer", o.ClusterID)
	case len(healthy) == 0:
		return candidate{}, nil, fmt.Errorf("no voter of etcd cluster %s has a quorum: %w", o.ClusterID, why)
	}
	return slices.MinFunc(healthy, func(a, b candidate) int {
		return cmp.Or(last(a.Corrupt(), b.Corrupt()), last(a.Leader(), b.Leader()), strings.Compare(a.url, b.url))
	}), members, nil
}

// last compares two members of which one with a property comes last.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// ask reads the status after the linearizable read. Its revision is then at least that of every acknowledged write.
func ask(ctx context.Context, url string, by access) (*candidate, error) {
	member, err := by.open(url)
	if err != nil {
		return nil, err
	}
	defer member.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*askTimeout)
	defer cancel()
	a := &candidate{url: url}
	read, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	a.notServing = member.Serving(read)
	if a.Status, err = member.Status(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// observeSafety returns the state of the attempt to save the old cluster.
func (r *Reconciler) observeSafety(key worker.Key) plan.Safety {
	if r.safeties.Running(key) {
		return plan.Safety{Progress: plan.ProofRunning}
	}
	saved, _, _ := r.safeties.Result(key)
	return saved
}

package restore

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// readingPatience is after how long a reading runs on without a worker, if another namespace waits for one. Its store may be as slow as a tenant likes.
const readingPatience = 5 * time.Minute

// readingClaim has the limits of a reading.
func readingClaim(t *turns.Turn) worker.Claim {
	return worker.Claim{Patience: readingPatience, Turn: t}
}

// reader reads sources, in workers.
type reader struct {
	*access
	urls     *signedURLs
	read     Prove
	proofs   *worker.Pool[state.Proof]
	readings readings
	turns    turns.Limits
	begun    begun
	now      func() time.Time
}

// begin starts to read the source.
func (r *reader) begin(ctx context.Context, key worker.Key, wanted steps.Verify, restore *v1beta2.EtcdRestore) {
	r.proofs.Forget(key)
	r.readings.forget(key)
	logger := log.FromContext(ctx)
	restore = restore.DeepCopy()
	recorded := r.begun.expect(key)
	t := &turns.Turn{}
	r.proofs.StartIn(key, readingClaim(t), func(ctx context.Context) (state.Proof, error) {
		select {
		case <-recorded:
		case <-time.After(recordedWithin):
			return r.notRecorded(wanted), nil
		case <-ctx.Done():
			return state.Proof{}, context.Cause(ctx)
		}
		ctx = log.IntoContext(ctx, logger)
		proof, secret := r.prove(ctx, key, wanted, t)
		return r.urls.handOver(ctx, restore, proof, secret), nil
	})
}

// recordedWithin is how long a reading that has a worker waits until the status says that it begins. A tenant can make the object so large that no status
// can be written, and others wait for the worker.
const recordedWithin = 2 * time.Minute

func (r *reader) notRecorded(wanted steps.Verify) state.Proof {
	return state.Proof{
		Asked: wanted.Source, Choice: wanted.Choice, Progress: state.ProofFailed, Ended: r.now(), Reason: v1beta2.ReasonRetrying,
		Message: "The status could not be written for " + recordedWithin.String() + ", so the operator did not read the snapshot. The cluster was not changed. The operator tries again.",
	}
}

// prove finds the source and reads it once and completely. It runs in a worker, outside of Reconcile. It also returns the
// Secret that it has read with.
func (r *reader) prove(ctx context.Context, key worker.Key, wanted steps.Verify, t *turns.Turn) (proof state.Proof, secret map[string][]byte) {
	proof = state.Proof{Asked: wanted.Source, Choice: wanted.Choice}
	found, err := panics.Try(func() (found Found, err error) {
		found, secret, err = r.source(ctx, key, wanted, t)
		return found, err
	})
	if caught := (*panics.Error)(nil); errors.As(err, &caught) {
		log.FromContext(ctx).Error(err, "Reading a snapshot panicked", "bucket", wanted.Source.Bucket, "key", wanted.Source.Key, "stack", string(caught.Stack))
	}
	if err != nil {
		f := classify(err, wanted.Source)
		proof.Progress, proof.Ended = state.ProofFailed, r.now()
		proof.Reason, proof.Message, proof.Final = f.Reason, f.Message, f.Final
		return proof, secret
	}
	proof.Progress = state.ProofDone
	proof.Source, proof.ChosenBecause, proof.Snapshot, proof.Format = found.Source, found.ChosenBecause, found.Proven.Snapshot, found.Proven.Format
	proof.Point, proof.Base, proof.Keys, proof.Follow = found.Point, found.Base, found.Keys, found.Follow
	if proof.Keys != nil {
		proof.Keys.Time = metav1.NewTime(r.now()).Rfc3339Copy()
	}
	return proof, secret
}

// observe returns the state of the reading of a restore's source.
func (r *reader) observe(key worker.Key) state.Proof {
	if r.proofs.Waiting(key) {
		return state.Proof{Progress: state.ProofQueued, Waits: string(r.proofs.WhyWaiting(key))}
	}
	if r.proofs.Running(key) {
		return state.Proof{Progress: state.ProofRunning, Percent: r.readings.percent(key), Waits: r.readings.waits(key)}
	}
	proof, _, _ := r.proofs.Result(key) // the proof contains its failure
	return proof
}

// source reads a source in its turn.
func (r *reader) source(ctx context.Context, key worker.Key, wanted steps.Verify, t *turns.Turn) (found Found, secret map[string][]byte, err error) {
	err = r.turns.Run(ctx, key.Object.Namespace, t, func() (err error) {
		found, secret, err = r.inTurn(ctx, key, wanted, t)
		return err
	})
	return found, secret, err
}

func (r *reader) inTurn(ctx context.Context, key worker.Key, wanted steps.Verify, t *turns.Turn) (Found, map[string][]byte, error) {
	secret, err := kube.SecretData(ctx, r.client, key.Object.Namespace, wanted.Source.Secret, connect.Keys()...)
	if err != nil {
		return Found{}, nil, err
	}
	by, err := r.by(key.Object.Namespace, wanted.Source, secret, wanted.Signers)
	if err != nil {
		return Found{}, nil, err
	}
	asked := Asked{
		Namespace: key.Object.Namespace,
		Source:    wanted.Source, Choice: wanted.Choice, Point: wanted.Point, Keys: wanted.Keys,
		By: by,
		Progress: func(bytes, of int64) {
			t.Reach(bytes)
			r.readings.set(key, bytes, of)
		},
		stay: func() bool { return t.Keep(ctx) },
		Wait: func(text func() string) (done func()) { return r.readings.wait(key, text) },
	}
	if wanted.Keys != nil {
		if asked.Members, err = r.memberSecrets(ctx, key.Object.Namespace, wanted.Keys.Cluster); err != nil {
			return Found{}, secret, err
		}
	}
	found, err := r.read(ctx, asked)
	return found, secret, err
}

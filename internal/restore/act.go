package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// act does the one effect of the step and never waits. Most steps have no effect outside of the status.
func (r *Reconciler) act(ctx context.Context, s state.State, step steps.Step) error {
	key := keyOf(&s.Restore)
	r.forgetOthers(key.Object, key.UID)
	switch step := step.(type) {
	case steps.Verify:
		r.begin(ctx, key, step, &s.Restore)
		if !s.Full {
			r.begun.recorded(key)
		}
		return nil
	case steps.RenewURL:
		restore := s.Restore.DeepCopy()
		r.renewals.Forget(key)
		r.renewals.Start(key, func(ctx context.Context) (state.Renewal, error) { return r.renew(ctx, restore), nil })
		return nil
	case steps.Complete, steps.Inherit, steps.Fail:
		if err := r.removeSignedURL(ctx, s); err != nil {
			return err
		}
	case steps.SaveOldData:
		if step.Start {
			r.safeties.Forget(key)
			next := attempt{order: s.SafetyOrder(), asked: time.Now(), lost: s.Safety.Lost}
			r.safeties.StartIn(key, safetyClaim, func(ctx context.Context) (state.Safety, error) { return r.saveOldData(ctx, key, next), nil })
		}
	case steps.Expire:
		if err := r.delete(ctx, key); err != nil {
			return err
		}
	case steps.RestoreKeys:
		r.startWriting(key, step, s)
	case steps.CompleteKeys, steps.Done, steps.Verifying, steps.Interrupted, steps.Wait, steps.Accept, steps.Proved, steps.RecordSafety, steps.RecordURL, steps.Follow:
	default:
		return fmt.Errorf("unknown step %T", step)
	}
	// The result is kept until the status that it led to has been read back, because writing the status may fail.
	if s.SafetyRecorded() || s.Finished() {
		r.safeties.Forget(key)
	}
	if s.Finished() {
		r.writings.Forget(key)
	}
	if left, due := s.RenewalIn(); !due || left > 0 {
		r.renewals.Forget(key)
	}
	if s.Proven() || s.Finished() {
		r.proofs.Forget(key)
		r.readings.forget(key)
	}
	return nil
}

// forgetOthers ends the jobs of other objects of that name: all of them if except is empty.
func (r *Reconciler) forgetOthers(object types.NamespacedName, except types.UID) {
	r.proofs.ForgetOthers(object, except)
	r.begun.forgetOthers(object, except)
	r.safeties.ForgetOthers(object, except)
	r.renewals.ForgetOthers(object, except)
	r.writings.ForgetOthers(object, except)
}

// delete deletes an expired restore, but not another object of the same name.
func (r *Reconciler) delete(ctx context.Context, key worker.Key) error {
	restore := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: key.Object.Namespace, Name: key.Object.Name}}
	if err := r.client.Delete(ctx, restore, client.Preconditions{UID: &key.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete EtcdRestore %s, whose ttlSecondsAfterFinished is over: %w", key.Object, err)
	}
	return nil
}

// begin starts to read the source.
func (r *Reconciler) begin(ctx context.Context, key worker.Key, wanted steps.Verify, restore *v1beta2.EtcdRestore) {
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
		return r.handOver(ctx, restore, proof, secret), nil
	})
}

// recordedWithin is how long a reading that has a worker waits until the status says that it begins. A tenant can make the object so large that no status
// can be written, and others wait for the worker.
const recordedWithin = 2 * time.Minute

func (r *Reconciler) notRecorded(wanted steps.Verify) state.Proof {
	return state.Proof{
		Asked: wanted.Source, Choice: wanted.Choice, Progress: state.ProofFailed, Ended: r.now(), Reason: v1beta2.ReasonRetrying,
		Message: "The status could not be written for " + recordedWithin.String() + ", so the operator did not read the snapshot. The cluster was not changed. The operator tries again.",
	}
}

// prove finds the source and reads it once and completely. It runs in a worker, outside of Reconcile. It also returns the
// Secret that it has read with.
func (r *Reconciler) prove(ctx context.Context, key worker.Key, wanted steps.Verify, t *turns.Turn) (proof state.Proof, secret map[string][]byte) {
	proof = state.Proof{Asked: wanted.Source, Choice: wanted.Choice}
	found, err := panics.Try(func() (found Found, err error) {
		found, secret, err = r.readSource(ctx, key, wanted, t)
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

// expect returns a channel that is closed when the beginning is recorded.
func (b *begun) expect(key worker.Key) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expected == nil {
		b.expected = map[worker.Key]chan struct{}{}
	}
	c := make(chan struct{})
	b.expected[key] = c
	return c
}

// recorded lets the reading begin, if it waits for that.
func (b *begun) recorded(key worker.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, found := b.expected[key]; found {
		close(c)
		delete(b.expected, key)
	}
}

// forgetOthers drops what is expected for forgotten readings of other objects of that name: all of them if except is empty.
func (b *begun) forgetOthers(object types.NamespacedName, except types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.expected, func(k worker.Key, _ chan struct{}) bool { return k.Object == object && k.UID != except })
}

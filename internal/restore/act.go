package restore

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// act does the step's one effect; only reading a source and deleting the restore have one outside of the status. It
// never waits.
func (r *Reconciler) act(ctx context.Context, state State, step Step) error {
	key := keyOf(&state.Restore)
	r.proofs.ForgetOthers(key.Object, key.UID)
	switch step := step.(type) {
	case Verify:
		r.begin(ctx, key, step)
		return nil
	case Expire:
		restore := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: key.Object.Namespace, Name: key.Object.Name}}
		if err := r.client.Delete(ctx, restore, client.Preconditions{UID: &key.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete EtcdRestore %s, whose ttlSecondsAfterFinished is over: %w", key.Object, err)
		}
	}
	// A result is kept until the status that it led to has been read back: writing that may fail.
	if state.proven() || state.finished() {
		r.proofs.Forget(key)
		r.readings.forget(key)
	}
	return nil
}

// begin starts reading what is wanted.
func (r *Reconciler) begin(ctx context.Context, key worker.Key, wanted Verify) {
	r.proofs.Forget(key)
	r.readings.forget(key)
	logger := log.FromContext(ctx)
	r.proofs.Start(key, func(ctx context.Context) (Proof, error) {
		return r.prove(log.IntoContext(ctx, logger), key, wanted), nil
	})
}

// prove finds and reads the source once, whole. It runs outside of Reconcile.
func (r *Reconciler) prove(ctx context.Context, key worker.Key, wanted Verify) Proof {
	proof := Proof{Asked: wanted.Source, Choice: wanted.Choice}
	found, err := worker.Try(func() (Found, error) { return r.readSource(ctx, key, wanted) })
	if caught := (*worker.PanicError)(nil); errors.As(err, &caught) {
		log.FromContext(ctx).Error(err, "reading a snapshot panicked", "bucket", wanted.Source.Bucket, "key", wanted.Source.Key, "stack", string(caught.Stack))
	}
	if err != nil {
		f := classify(err, wanted.Source)
		proof.Progress, proof.Ended = ProofFailed, r.now()
		proof.Reason, proof.Message, proof.Final = f.Reason, f.Message, f.Final
		return proof
	}
	proof.Progress = ProofDone
	proof.Source, proof.Why, proof.Snapshot, proof.Format = found.Source, found.Why, found.Proven.Snapshot, found.Proven.Format
	return proof
}

func (r *Reconciler) readSource(ctx context.Context, key worker.Key, wanted Verify) (Found, error) {
	secret, err := kube.SecretData(ctx, r.client, key.Object.Namespace, wanted.Source.Secret)
	if err != nil {
		return Found{}, err
	}
	return r.read(ctx, Asked{
		Source: wanted.Source, Choice: wanted.Choice, Secret: secret,
		Progress: func(bytes, of int64) { r.readings.set(key, bytes, of) },
	})
}

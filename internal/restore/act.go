package restore

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// act does the step's one effect; only reading a source has one outside of the status. It never waits.
func (r *Reconciler) act(ctx context.Context, state State, step Step) {
	key := keyOf(&state.Restore)
	r.proofs.ForgetOthers(key.Object, key.UID)
	if verify, ok := step.(Verify); ok {
		r.proofs.Forget(key)
		namespace := state.Restore.Namespace
		logger := log.FromContext(ctx)
		r.proofs.Start(key, func(ctx context.Context) (Proof, error) {
			return r.prove(log.IntoContext(ctx, logger), namespace, verify.Source), nil
		})
		return
	}
	// A result is kept until the status that it led to has been read back: writing that may fail.
	if state.proven() || state.finished() {
		r.proofs.Forget(key)
	}
}

// prove reads the source once, whole. It runs outside of Reconcile.
func (r *Reconciler) prove(ctx context.Context, namespace string, source v1beta2.RestoreSource) Proof {
	snapshot, err := worker.Try(func() (v1beta2.Snapshot, error) { return r.readSource(ctx, namespace, source) })
	if caught := (*worker.PanicError)(nil); errors.As(err, &caught) {
		log.FromContext(ctx).Error(err, "reading a snapshot panicked", "bucket", source.Bucket, "key", source.Key, "stack", string(caught.Stack))
	}
	if err != nil {
		reason, final := classify(err)
		return Proof{
			Progress: ProofFailed, Source: source,
			Reason: reason, Message: err.Error(), Final: final, Ended: r.now(),
		}
	}
	return Proof{Progress: ProofDone, Source: source, Snapshot: snapshot}
}

func (r *Reconciler) readSource(ctx context.Context, namespace string, source v1beta2.RestoreSource) (v1beta2.Snapshot, error) {
	secret, err := kube.SecretData(ctx, r.client, namespace, source.Secret)
	if err != nil {
		return v1beta2.Snapshot{}, err
	}
	return r.read(ctx, source, secret)
}

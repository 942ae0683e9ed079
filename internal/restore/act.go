package restore

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/source"
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
func (r *Reconciler) prove(ctx context.Context, namespace string, src v1beta2.RestoreSource) Proof {
	proven, err := worker.Try(func() (source.Proven, error) { return r.readSource(ctx, namespace, src) })
	if caught := (*worker.PanicError)(nil); errors.As(err, &caught) {
		log.FromContext(ctx).Error(err, "reading a snapshot panicked", "bucket", src.Bucket, "key", src.Key, "stack", string(caught.Stack))
	}
	if err != nil {
		f := classify(err, src)
		return Proof{
			Progress: ProofFailed, Source: src,
			Reason: f.Reason, Message: f.Message, Final: f.Final, Ended: r.now(),
		}
	}
	return Proof{Progress: ProofDone, Source: src, Snapshot: proven.Snapshot, Format: proven.Format}
}

func (r *Reconciler) readSource(ctx context.Context, namespace string, src v1beta2.RestoreSource) (source.Proven, error) {
	secret, err := kube.SecretData(ctx, r.client, namespace, src.Secret)
	if err != nil {
		return source.Proven{}, err
	}
	return r.read(ctx, src, secret)
}

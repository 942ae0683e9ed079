package restore

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// act does the one effect of the step and never waits. Most steps have no effect outside of the status.
func (r *Reconciler) act(ctx context.Context, s state.State, step steps.Step) error {
	key := keyOf(&s.Restore)
	r.forgetOthers(key.Object, key.UID)
	switch step := step.(type) {
	case steps.Verify:
		r.reader.begin(ctx, key, step, &s.Restore)
		if !s.Full {
			r.reader.begun.recorded(key)
		}
		return nil
	case steps.RenewURL:
		r.urls.startRenewal(key, &s.Restore)
		return nil
	case steps.Complete, steps.Inherit, steps.Fail:
		if err := r.urls.remove(ctx, s); err != nil {
			return err
		}
	case steps.SaveOldData:
		if step.Start {
			r.saver.start(key, state.SafetyOrderOf(s), s.Safety.Lost)
		}
	case steps.Expire:
		if err := r.delete(ctx, key); err != nil {
			return err
		}
	case steps.RestoreKeys:
		if step.Start {
			r.writer.start(key, step.Source, state.WriteOrderOf(s))
		}
	case steps.CompleteKeys, steps.Done, steps.Verifying, steps.Interrupted, steps.Wait, steps.Accept, steps.Proved, steps.RecordSafety, steps.RecordURL, steps.Follow:
	default:
		return fmt.Errorf("unknown step %T", step)
	}
	// The result is kept until the status that it led to has been read back, because writing the status may fail.
	if s.SafetyRecorded() || s.Finished() {
		r.saver.safeties.Forget(key)
	}
	if s.Finished() {
		r.writer.writings.Forget(key)
	}
	if left, due := s.RenewalIn(); !due || left > 0 {
		r.urls.renewals.Forget(key)
	}
	if s.Proven() || s.Finished() {
		r.reader.proofs.Forget(key)
		r.reader.readings.forget(key)
	}
	return nil
}

// forgetOthers ends the jobs of other objects of that name: all of them if except is empty.
func (r *Reconciler) forgetOthers(object types.NamespacedName, except types.UID) {
	r.reader.proofs.ForgetOthers(object, except)
	r.reader.begun.forgetOthers(object, except)
	r.saver.safeties.ForgetOthers(object, except)
	r.urls.renewals.ForgetOthers(object, except)
	r.writer.writings.ForgetOthers(object, except)
}

// delete deletes an expired restore, but not another object of the same name.
func (r *Reconciler) delete(ctx context.Context, key worker.Key) error {
	restore := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: key.Object.Namespace, Name: key.Object.Name}}
	if err := r.client.Delete(ctx, restore, client.Preconditions{UID: &key.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete EtcdRestore %s, whose ttlSecondsAfterFinished is over: %w", key.Object, err)
	}
	return nil
}

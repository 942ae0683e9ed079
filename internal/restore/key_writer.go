package restore

import (
	"context"
	"errors"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/keys"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// keyWriter writes the keys below prefixes of a snapshot, in workers. Each attempt reads the snapshot again.
type keyWriter struct {
	reader   *reader
	writings *worker.Pool[state.Writing]
}

// start starts an attempt to write keys.
func (w *keyWriter) start(key worker.Key, from v1beta2.RestoreSource, order *state.KeysOrder) {
	w.writings.Forget(key)
	t := &turns.Turn{}
	w.writings.StartIn(key, readingClaim(t), func(ctx context.Context) (state.Writing, error) {
		return w.write(ctx, key, from, order, t), nil
	})
}

// write runs one attempt in a worker, outside of Reconcile.
func (w *keyWriter) write(ctx context.Context, key worker.Key, from v1beta2.RestoreSource, order *state.KeysOrder, t *turns.Turn) state.Writing {
	found, err := panics.Try(func() (Found, error) {
		found, _, err := w.reader.source(ctx, key, steps.Verify{Source: from, Signers: snapshot.Anyone, Keys: order}, t)
		return found, err
	})
	if caught := (*panics.Error)(nil); errors.As(err, &caught) {
		log.FromContext(ctx).Error(err, "Writing keys panicked", "stack", string(caught.Stack))
	}
	if err != nil {
		f := classify(err, from)
		message := planning.Sentence("The operator could not write the keys: ", err.Error()) + " Keys that are written already are as they are in the snapshot."
		return state.Writing{Progress: state.ProofFailed, Reason: f.Reason, Message: message, Final: f.Final, Ended: w.reader.now()}
	}
	written := state.Writing{Progress: state.ProofDone, Conflicts: found.Keys.Conflicts}
	for _, named := range found.Keys.First {
		if name, is := strings.CutPrefix(named, keys.Conflict+" "); is {
			written.First = append(written.First, name)
		}
	}
	return written
}

// observe returns the state of the attempt to write keys.
func (w *keyWriter) observe(key worker.Key) state.Writing {
	if w.writings.Running(key) {
		return state.Writing{Progress: state.ProofRunning}
	}
	written, _, _ := w.writings.Result(key)
	return written
}

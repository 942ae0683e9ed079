package restore

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/kube"
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

// readSource reads a source in its turn.
func (r *Reconciler) readSource(ctx context.Context, key worker.Key, wanted steps.Verify, t *turns.Turn) (found Found, secret map[string][]byte, err error) {
	err = r.turns.Run(ctx, key.Object.Namespace, t, func() (err error) {
		found, secret, err = r.readInTurn(ctx, key, wanted, t)
		return err
	})
	return found, secret, err
}

func (r *Reconciler) readInTurn(ctx context.Context, key worker.Key, wanted steps.Verify, t *turns.Turn) (Found, map[string][]byte, error) {
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

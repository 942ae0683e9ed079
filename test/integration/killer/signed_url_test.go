package killer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/restore"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/sweep"
)

// TestARestoreByASignedURLCompletesIfTheOperatorsAreKilledAtEveryCall names no Secret: restore-operator reads the snapshot
// with its own identity, and the seed reads it by the URL in a Secret. When the restore ends, no such Secret may be left.
func TestARestoreByASignedURLCompletesIfTheOperatorsAreKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 1, Version: newer})
	b.identity = store.data()
	kubetest.Create(t, b.cluster)
	stop := b.traffic.run()
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	stop()
	saved := b.contents()
	content := b.save()
	store.put(t, "good.db", content)

	b.step("the Secret is deleted if the restore fails", func(b *bench) {
		store.put(t, "gone.db", content)
		r := store.withoutSecret(b.cluster, "gone", "gone.db")
		kubetest.Create(b, r)
		b.failing(r, func() {
			if b.signedURLs() > 0 {
				store.removeIfThere(t, "gone.db")
			}
		})
		b.hasNoSignedURL()
	})
	b.step("a restore completes", func(b *bench) {
		b.cluster = &v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: "another"},
			Spec:       v1beta2.EtcdClusterSpec{Size: 1, Version: newer},
		}
		b.traffic = newTraffic(b)
		r := store.withoutSecret(b.cluster, "another", "good.db")
		kubetest.Create(b, r, b.cluster)
		b.restoring(saved, saved, func() error { return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionComplete)) })
		b.hasNoSignedURL()
	})
}

// failing runs both operators, and kills them at every call, until a restore has failed. always is called again and again.
func (b *bench) failing(r *v1beta2.EtcdRestore, always func()) {
	b.Helper()
	var chain killer.Chain
	restorer := b.restoreOperator(&chain)
	defer func() { restorer.stop() }()
	b.operate(&killer.Chain{}, "fail the restore", func() error {
		restorer.restart()
		always()
		return b.is(r, v1beta2.ConditionFailed)
	})
	if chain.Kills() == 0 && sweep.All() {
		b.Error("restore-operator was never killed, so the test tested nothing")
	}
}

// signedURLs returns how many Secrets with signed URLs there are.
func (b *bench) signedURLs() (found int) {
	b.Helper()
	var secrets corev1.SecretList
	if err := b.client.List(b.Context(), &secrets, client.InNamespace(b.cluster.Namespace)); err != nil {
		b.Fatal(err)
	}
	for _, secret := range secrets.Items {
		if strings.HasPrefix(secret.Name, "etcdrestore-") {
			found++
		}
	}
	return found
}

// hasNoSignedURL waits until restore-operator has deleted the Secrets.
func (b *bench) hasNoSignedURL() {
	b.Helper()
	restorer := b.restoreOperator(&killer.Count{})
	defer func() { restorer.stop() }()
	kubetest.Eventually(b, "no signed URL is left", func(context.Context) error {
		if found := b.signedURLs(); found > 0 {
			return fmt.Errorf("%d Secrets with signed URLs", found)
		}
		return nil
	})
}

// withIdentity gives restore-operator an identity of its own at the store. The members have none.
func (b *bench) withIdentity(o restore.Options) restore.Options {
	prove := o.Prove
	o.Prove = func(ctx context.Context, asked restore.Asked) (restore.Found, error) {
		asked.Secret = b.identity
		return prove(ctx, asked)
	}
	o.Sign = func(ctx context.Context, src v1beta2.RestoreSource, by source.By) (objstore.SignedURL, error) {
		by.Secret = b.identity
		return source.Sign(ctx, src, by)
	}
	return o
}

func (s *store) withoutSecret(of *v1beta2.EtcdCluster, name, key string) *v1beta2.EtcdRestore {
	r := s.restore(of, name, key)
	r.Spec.S3.AWSSecret = ""
	return r
}

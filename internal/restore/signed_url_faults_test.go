package restore

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// renewed does a pass and, if it renews the URL, waits until the renewal has ended.
func (b *bench) renewed() {
	b.Helper()
	b.pass()
	if b.r.urls.renewals.Running(keyOf(b.restore())) {
		request, _ := b.queue.Get()
		b.queue.Done(request)
	}
}

func TestARenewalWhoseResultIsRecordedLateIsTriedAgain(t *testing.T) {
	cluster := theCluster()
	b := newBench(t, good, interceptor.Funcs{}, cluster, ownIdentity())
	b.signing()
	b.read()
	b.pass()
	sign := b.r.urls.sign
	b.r.urls.sign = func(context.Context, v1beta2.RestoreSource, source.By) (objstore.SignedURL, error) {
		return objstore.SignedURL{}, errors.New("the API server does not answer")
	}
	b.clock.Step(30 * time.Minute)
	b.read()                      // the renewal fails
	b.clock.Step(2 * time.Minute) // the API server does not accept the status for so long
	b.r.urls.sign = sign          // everything works again
	cluster.Status.Restore = progress(v1beta2.RestoreSeeding)
	if err := b.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		b.pass() // records the failure
		b.clock.Step(time.Minute)
		b.renewed()
	}
	if b.url() == "https://s3/?sig=x" {
		t.Errorf("the URL was never renewed")
	}
	b.wantReady(string(v1beta2.RestoreSeeding))
}

func TestAURLOfAnIdentityThatEndsAtOnce(t *testing.T) {
	cluster := theCluster()
	cluster.Status.Restore = progress(v1beta2.RestoreSeeding)
	b := newBench(t, good, interceptor.Funcs{}, cluster, ownIdentity())
	b.signing()
	b.read()
	b.pass()
	left := time.Second
	calls := 0
	b.r.urls.sign = func(context.Context, v1beta2.RestoreSource, source.By) (objstore.SignedURL, error) {
		calls++
		return objstore.SignedURL{URL: "https://s3/?sig=short", Header: http.Header{"A": {"b"}}, Expires: b.clock.Now().Add(left)}, nil
	}
	b.clock.Step(30 * time.Minute)
	b.read()
	b.pass()
	left = time.Hour
	for range 10 {
		b.clock.Step(time.Minute)
		b.renewed()
	}
	if calls < 2 {
		t.Errorf("never signed again: %+v", b.restore().Status.SignedURL)
	}
}

// A URL that was signed before the right was taken away could read the snapshot for up to an hour more, and nothing said so.
func TestANamespaceThatLosesTheRightLosesItsURLInTheNextPass(t *testing.T) {
	b := newBench(t, good, interceptor.Funcs{}, theCluster(), ownIdentity())
	calls := b.signing()
	b.read()
	b.pass()
	b.r.identity = allowing("other") // the operator was restarted with this
	b.read()
	b.pass()
	if status := b.restore().Status.SignedURL; *calls > 1 || b.url() != "" || status.SecretName != "" || !strings.Contains(status.Message, "ownIdentity") {
		t.Errorf("%d URLs were signed, the Secret has %q, status %+v", *calls, b.url(), status)
	}
}

func TestAShortFaultOfTheSignerCostsNoRestore(t *testing.T) {
	b := newBench(t, good, interceptor.Funcs{}, theCluster(), ownIdentity())
	b.signing()
	sign := b.r.urls.sign
	b.r.urls.sign = func(context.Context, v1beta2.RestoreSource, source.By) (objstore.SignedURL, error) {
		return objstore.SignedURL{}, errors.New("503 from the token service")
	}
	b.read()
	b.pass()
	b.r.urls.sign = sign
	for range 10 {
		b.clock.Step(time.Minute)
		b.renewed()
	}
	if b.url() == "" {
		t.Errorf("no URL ten minutes after the fault: %+v", b.restore().Status.SignedURL)
	}
}

func TestTheSecretIsDeletedIfTheRestoreFailsBeforeItsProofIsRecorded(t *testing.T) {
	left := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: signedSecret,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "etcd.database.coreos.com/v1beta2", Kind: "EtcdRestore", Name: "back", UID: "uid-restore"}}},
		Data: map[string][]byte{"url": []byte("https://s3/?sig=x"), "header": []byte("A: b\r\n")}}
	cluster := theCluster()
	cluster.Status.ClusterID = "00000000000000aa"
	cluster.Status.PastRestores = []v1beta2.PastRestore{{Name: "back", UID: "uid-restore", Time: metav1.NewTime(now)}}
	b := newBench(t, good, interceptor.Funcs{}, cluster, ownIdentity(), left)
	b.signing()
	b.pass()
	b.wantReady(v1beta2.ReasonRestoreRefused)
	if b.url() != "" {
		t.Errorf("the URL of the killed operator is left")
	}
}

func TestAFaultOfTheAPIServerDoesNotSayThatNoSecretIsNamed(t *testing.T) {
	gets := 0
	hooks := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
		if _, secret := o.(*corev1.Secret); secret {
			if gets++; gets == 2 {
				return errors.New("the API server does not answer")
			}
		}
		return c.Get(ctx, key, o, options...)
	}}
	b := newBench(t, good, hooks, theCluster(), awsSecret())
	b.signing()
	b.read()
	b.pass()
	restore := b.wantReady(v1beta2.ReasonVerified)
	if restore.Status.SignedURL != nil {
		t.Errorf("status %+v, condition %s", restore.Status.SignedURL, verified(restore))
	}
}

// The Secret loses its credentials between the proof and the signature.
func TestASecretThatLosesItsCredentialsGetsNoURLOfTheOperator(t *testing.T) {
	secret := awsSecret()
	var b *bench
	b = newBench(t, func(ctx context.Context, asked Asked) (Found, error) {
		changed := ownIdentity()
		var now corev1.Secret
		if err := b.client.Get(ctx, client.ObjectKeyFromObject(changed), &now); err != nil {
			return Found{}, err
		}
		now.Data = changed.Data
		if err := b.client.Update(ctx, &now); err != nil {
			return Found{}, err
		}
		return good(ctx, asked)
	}, interceptor.Funcs{}, theCluster(), secret)
	calls := b.signing()
	b.r.identity = nil
	b.read()
	b.pass()
	if *calls > 0 {
		t.Errorf("%d URLs signed for a namespace that may not use the identity", *calls)
	}
}

func TestARestoreEndsAlthoughAWebhookKeepsTheSecret(t *testing.T) {
	cluster := theCluster()
	hooks := interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
		return apierrors.NewInternalError(errors.New("the admission webhook does not answer"))
	}}
	b := newBench(t, good, hooks, cluster, ownIdentity())
	b.signing()
	b.read()
	b.pass()
	cluster.Status.Restore = progress(v1beta2.RestoreComplete)
	if err := b.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		_, _ = b.r.Reconcile(b.Context(), b.request)
		b.clock.Step(time.Minute)
	}
	b.wantReady(v1beta2.ReasonComplete)
}

func TestAForeignSecretWithTheNameOfTheSignedURLOutlivesTheRestore(t *testing.T) {
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: signedSecret}, Data: map[string][]byte{"url": []byte("theirs")}}
	cluster := theCluster()
	b := newBench(t, good, interceptor.Funcs{}, cluster, ownIdentity(), foreign)
	b.signing()
	b.read()
	b.pass()
	cluster.Status.Restore = progress(v1beta2.RestoreComplete)
	if err := b.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	b.pass()
	b.wantReady(v1beta2.ReasonComplete)
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Errorf("the Secret of another party is deleted: %v", err)
	}
}

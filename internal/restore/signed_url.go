package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// signTimeout limits the signing of one URL, and writing it to its Secret.
const signTimeout = 2 * time.Minute

// signedURLs signs URLs for seeds, if the operator's own identity has read their source, and keeps them in Secrets.
type signedURLs struct {
	*access
	sign     Sign // nil if no URLs are signed
	renewals *worker.Pool[state.Renewal]
	now      func() time.Time
}

// revoked returns whether the namespace may not read any more with the operator's own identity what the signed URL of the status can read.
func (u *signedURLs) revoked(restore *v1beta2.EtcdRestore) bool {
	src, url := restore.Status.Source, restore.Status.SignedURL
	if src == nil || url == nil || url.SecretName == "" {
		return false
	}
	return u.mayNotSign(restore.Namespace, *src) != nil
}

// handOver signs a URL for the seed after a proof with the operator's own identity. Without a URL, the seed reads as the
// ServiceAccount of the members, and the status says so.
func (u *signedURLs) handOver(ctx context.Context, restore *v1beta2.EtcdRestore, proof state.Proof, secret map[string][]byte) state.Proof {
	if proof.Progress != state.ProofDone || restore.Spec.DryRun || len(restore.Spec.Prefixes) > 0 || restore.Spec.Follows() || u.sign == nil {
		return proof
	}
	url, needed := u.signed(ctx, restore, proof.Source, secret, v1beta2.SignedURLStatus{})
	if needed {
		proof.SignedURL = &url
	}
	return proof
}

// startRenewal replaces the signed URL in a worker.
func (u *signedURLs) startRenewal(key worker.Key, restore *v1beta2.EtcdRestore) {
	restore = restore.DeepCopy()
	u.renewals.Forget(key)
	u.renewals.Start(key, func(ctx context.Context) (state.Renewal, error) { return u.renew(ctx, restore), nil })
}

// observe returns the state of the attempt to replace the signed URL.
func (u *signedURLs) observe(key worker.Key) state.Renewal {
	if u.renewals.Running(key) {
		return state.Renewal{Progress: state.ProofRunning}
	}
	renewed, _, _ := u.renewals.Result(key)
	return renewed
}

// renew replaces the signed URL.
func (u *signedURLs) renew(ctx context.Context, restore *v1beta2.EtcdRestore) state.Renewal {
	before, src := *restore.Status.SignedURL, *restore.Status.Source
	if u.revoked(restore) {
		why := u.mayNotSign(restore.Namespace, src)
		return state.Renewal{Progress: state.ProofDone, URL: u.revoke(ctx, restore, before, why)}
	}
	secret, err := kube.SecretData(ctx, u.client, restore.Namespace, src.Secret, connect.Keys()...)
	if err != nil {
		return state.Renewal{Progress: state.ProofDone, URL: plan.NotSignedYet(u.now(), before, err.Error())}
	}
	if _, err := u.by(restore.Namespace, src, secret, snapshot.Anyone); err != nil {
		return state.Renewal{Progress: state.ProofDone, URL: u.revoke(ctx, restore, before, err)}
	}
	url, needed := u.signed(ctx, restore, src, secret, before)
	if !needed {
		url = plan.NotSigned(u.now(), before, "The Secret "+src.Secret+" has credentials now.")
	}
	return state.Renewal{Progress: state.ProofDone, URL: url}
}

// revoke deletes the Secret with the URL, because its namespace may no longer use the operator's own identity.
func (u *signedURLs) revoke(ctx context.Context, restore *v1beta2.EtcdRestore, before v1beta2.SignedURLStatus, why error) v1beta2.SignedURLStatus {
	if err := u.deleteSecret(ctx, restore); err != nil {
		return plan.NotSignedYet(u.now(), before, err.Error())
	}
	return plan.NotSigned(u.now(), v1beta2.SignedURLStatus{}, why.Error())
}

// signed signs a URL for src and writes it to its Secret. secret is the content of the Secret that src names. needed is
// false if the seed opens the store with the credentials in there.
func (u *signedURLs) signed(ctx context.Context, restore *v1beta2.EtcdRestore, src v1beta2.RestoreSource, secret map[string][]byte, before v1beta2.SignedURLStatus) (url v1beta2.SignedURLStatus, needed bool) {
	ctx, cancel := context.WithTimeout(ctx, signTimeout)
	defer cancel()
	if !connect.Ambient(secret) {
		return before, false
	}
	by, err := u.by(restore.Namespace, src, secret, snapshot.Anyone)
	var signed objstore.SignedURL
	switch {
	case err != nil:
	case u.sign == nil:
		err = errors.New("--signed-urls is off")
	default:
		signed, err = panics.Try(func() (objstore.SignedURL, error) { return u.sign(ctx, src, by) })
	}
	if err == nil {
		err = u.writeSecret(ctx, restore, signed)
	}
	if err != nil {
		log.FromContext(ctx).Info("Could not sign a URL for the seed", "bucket", src.Bucket, "key", src.Key, "error", err.Error())
		if u.sign == nil || lasting(err) {
			return plan.NotSigned(u.now(), before, err.Error()), true
		}
		return plan.NotSignedYet(u.now(), before, err.Error()), true
	}
	return plan.SignedUntil(u.now(), signedURLName(restore), signed.Expires), true
}

// lasting reports whether another attempt would fail the same way, until a person acts.
func lasting(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || apierrors.IsForbidden(err)
}

// signedURLName is the name of the Secret with the signed URL. No other object has the UID of the EtcdRestore.
func signedURLName(restore *v1beta2.EtcdRestore) string {
	return "etcdrestore-" + string(restore.UID)
}

// writeSecret creates or updates the Secret. The EtcdRestore owns it, so the garbage collector deletes it at the latest
// with the EtcdRestore.
func (u *signedURLs) writeSecret(ctx context.Context, restore *v1beta2.EtcdRestore, signed objstore.SignedURL) error {
	data, err := source.URLData(signed)
	if err != nil {
		return err
	}
	name := signedURLName(restore)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: restore.Namespace, Name: name,
			Labels: map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: restore.Spec.EtcdCluster.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdRestore", Name: restore.Name, UID: restore.UID,
			}},
		},
		Type: corev1.SecretTypeOpaque, Data: data,
	}
	if err := u.stamp(ctx, restore, secret); err != nil {
		return wrap(err, "label", name)
	}
	err = u.client.Create(ctx, secret)
	if !apierrors.IsAlreadyExists(err) {
		return wrap(err, "create", name)
	}
	err = kube.UpdateSecret(ctx, u.client, client.ObjectKeyFromObject(secret), func(present *corev1.Secret) error {
		if !ownedBy(present, restore) {
			return errors.New("it belongs to another object: delete it")
		}
		present.Data = data
		return nil
	})
	return wrap(err, "update", name)
}

// stamp gives the Secret the labels that all objects of the EtcdCluster get. It keeps them as it was created with: a
// renewal must not wait for a policy that refuses a label.
func (u *signedURLs) stamp(ctx context.Context, restore *v1beta2.EtcdRestore, secret *corev1.Secret) error {
	var cluster v1beta2.EtcdCluster
	found, err := u.get(ctx, client.ObjectKey{Namespace: restore.Namespace, Name: restore.Spec.EtcdCluster.Name}, &cluster)
	if err != nil || !found {
		return err
	}
	metadata.Of(cluster.Spec).ForSecret().Stamp(secret)
	return nil
}

func wrap(err error, verb, name string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the Secret %s for the signed URL: %w", verb, name, err)
}

// removalTimeout limits the deletion of the Secret when a restore ends, because an admission webhook may hang.
const removalTimeout = 10 * time.Second

// remove deletes the Secret when the restore ends. There may be one without a record in the status: an operator was
// killed after it had written the Secret. A refusal does not keep the restore from ending: the URL expires, and the garbage
// collector deletes the Secret with the EtcdRestore.
func (u *signedURLs) remove(ctx context.Context, state state.State) error {
	if recorded := state.Restore.Status.SignedURL; u.sign == nil && (recorded == nil || recorded.SecretName == "") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	err := u.deleteSecret(ctx, &state.Restore)
	if answered := apierrors.APIStatus(nil); errors.As(err, &answered) || errors.Is(err, kube.ErrSecretRefused) || ctx.Err() != nil {
		log.FromContext(ctx).Info("Could not delete the Secret with the signed URL", "secret", signedURLName(&state.Restore), "error", err.Error())
		return nil
	}
	return err
}

// deleteSecret deletes the Secret, but no Secret of the same name that belongs to another object.
func (u *signedURLs) deleteSecret(ctx context.Context, restore *v1beta2.EtcdRestore) error {
	name := client.ObjectKey{Namespace: restore.Namespace, Name: signedURLName(restore)}
	secret, err := kube.ReadSecret(ctx, u.client, name)
	if err != nil {
		return wrap(client.IgnoreNotFound(err), "read", name.Name)
	}
	if !ownedBy(secret, restore) {
		return nil
	}
	err = u.client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID})
	return wrap(client.IgnoreNotFound(err), "delete", name.Name)
}

func ownedBy(secret *corev1.Secret, restore *v1beta2.EtcdRestore) bool {
	owners := secret.OwnerReferences
	return len(owners) == 1 && owners[0].UID == restore.UID
}

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
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// signTimeout limits the signing of one URL, and writing it to its Secret.
const signTimeout = 2 * time.Minute

// by returns who opens the store for a namespace. The error says that the namespace may not use the path of src with that Secret, or with the
// operator's own identity.
func (r *Reconciler) by(namespace string, src v1beta2.RestoreSource, secret map[string][]byte, signers snapshot.Signers) (source.By, error) {
	by := source.By{Secret: secret, For: r.identity.Of(namespace), Signers: signers}
	return by, connect.Access{Location: storage.FromSource(src), Data: by.Secret, For: by.For}.Check()
}

// revoked returns whether the namespace may not read any more with the operator's own identity what the signed URL of the status can read.
func (r *Reconciler) revoked(restore *v1beta2.EtcdRestore) bool {
	src, url := restore.Status.Source, restore.Status.SignedURL
	if src == nil || url == nil || url.SecretName == "" {
		return false
	}
	return r.mayNotSign(restore.Namespace, *src) != nil
}

// mayNotSign returns why the namespace may not read src with the operator's own identity. It is nil if it may.
func (r *Reconciler) mayNotSign(namespace string, src v1beta2.RestoreSource) error {
	if err := r.identity.Of(namespace).Check(true, src.Bucket, src.Key); err != nil {
		return err
	}
	_, err := r.by(namespace, src, nil, snapshot.Anyone)
	return err
}

// handOver signs a URL for the seed after a proof with the operator's own identity. Without a URL, the seed reads as the
// ServiceAccount of the members, and the status says so.
func (r *Reconciler) handOver(ctx context.Context, restore *v1beta2.EtcdRestore, proof state.Proof, secret map[string][]byte) state.Proof {
	if proof.Progress != state.ProofDone || restore.Spec.DryRun || len(restore.Spec.Prefixes) > 0 || restore.Spec.Follows() || r.sign == nil {
		return proof
	}
	url, needed := r.signedURL(ctx, restore, proof.Source, secret, v1beta2.SignedURLStatus{})
	if needed {
		proof.SignedURL = &url
	}
	return proof
}

// renew replaces the signed URL.
func (r *Reconciler) renew(ctx context.Context, restore *v1beta2.EtcdRestore) state.Renewal {
	before, src := *restore.Status.SignedURL, *restore.Status.Source
	if r.revoked(restore) {
		why := r.mayNotSign(restore.Namespace, src)
		return state.Renewal{Progress: state.ProofDone, URL: r.revoke(ctx, restore, before, why)}
	}
	secret, err := kube.SecretData(ctx, r.client, restore.Namespace, src.Secret, connect.Keys()...)
	if err != nil {
		return state.Renewal{Progress: state.ProofDone, URL: plan.NotSignedYet(r.now(), before, err.Error())}
	}
	if _, err := r.by(restore.Namespace, src, secret, snapshot.Anyone); err != nil {
		return state.Renewal{Progress: state.ProofDone, URL: r.revoke(ctx, restore, before, err)}
	}
	url, needed := r.signedURL(ctx, restore, src, secret, before)
	if !needed {
		url = plan.NotSigned(r.now(), before, "The Secret "+src.Secret+" has credentials now.")
	}
	return state.Renewal{Progress: state.ProofDone, URL: url}
}

// revoke deletes the Secret with the URL, because its namespace may no longer use the operator's own identity.
func (r *Reconciler) revoke(ctx context.Context, restore *v1beta2.EtcdRestore, before v1beta2.SignedURLStatus, why error) v1beta2.SignedURLStatus {
	if err := r.deleteSignedURL(ctx, restore); err != nil {
		return plan.NotSignedYet(r.now(), before, err.Error())
	}
	return plan.NotSigned(r.now(), v1beta2.SignedURLStatus{}, why.Error())
}

// signedURL signs a URL for src and writes it to its Secret. secret is the content of the Secret that src names. needed is
// false if the seed opens the store with the credentials in there.
func (r *Reconciler) signedURL(ctx context.Context, restore *v1beta2.EtcdRestore, src v1beta2.RestoreSource, secret map[string][]byte, before v1beta2.SignedURLStatus) (url v1beta2.SignedURLStatus, needed bool) {
	ctx, cancel := context.WithTimeout(ctx, signTimeout)
	defer cancel()
	if !connect.Ambient(secret) {
		return before, false
	}
	by, err := r.by(restore.Namespace, src, secret, snapshot.Anyone)
	var signed objstore.SignedURL
	switch {
	case err != nil:
	case r.sign == nil:
		err = errors.New("--signed-urls is off")
	default:
		signed, err = panics.Try(func() (objstore.SignedURL, error) { return r.sign(ctx, src, by) })
	}
	if err == nil {
		err = r.writeSignedURL(ctx, restore, signed)
	}
	if err != nil {
		log.FromContext(ctx).Info("Could not sign a URL for the seed", "bucket", src.Bucket, "key", src.Key, "error", err.Error())
		if r.sign == nil || lasting(err) {
			return plan.NotSigned(r.now(), before, err.Error()), true
		}
		return plan.NotSignedYet(r.now(), before, err.Error()), true
	}
	return plan.SignedUntil(r.now(), signedURLName(restore), signed.Expires), true
}

// lasting reports whether another attempt would fail the same way, until a person acts.
func lasting(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || apierrors.IsForbidden(err)
}

// signedURLName is the name of the Secret with the signed URL. No other object has the UID of the EtcdRestore.
func signedURLName(restore *v1beta2.EtcdRestore) string {
	return "etcdrestore-" + string(restore.UID)
}

// writeSignedURL creates or updates the Secret. The EtcdRestore owns it, so the garbage collector deletes it at the latest
// with the EtcdRestore.
func (r *Reconciler) writeSignedURL(ctx context.Context, restore *v1beta2.EtcdRestore, signed objstore.SignedURL) error {
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
	if err := r.stamp(ctx, restore, secret); err != nil {
		return wrap(err, "label", name)
	}
	err = r.client.Create(ctx, secret)
	if !apierrors.IsAlreadyExists(err) {
		return wrap(err, "create", name)
	}
	err = kube.UpdateSecret(ctx, r.client, client.ObjectKeyFromObject(secret), func(present *corev1.Secret) error {
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
func (r *Reconciler) stamp(ctx context.Context, restore *v1beta2.EtcdRestore, secret *corev1.Secret) error {
	var cluster v1beta2.EtcdCluster
	found, err := r.get(ctx, client.ObjectKey{Namespace: restore.Namespace, Name: restore.Spec.EtcdCluster.Name}, &cluster)
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

// removeSignedURL deletes the Secret when the restore ends. There may be one without a record in the status: an operator was
// killed after it had written the Secret. A refusal does not keep the restore from ending: the URL expires, and the garbage
// collector deletes the Secret with the EtcdRestore.
func (r *Reconciler) removeSignedURL(ctx context.Context, state state.State) error {
	if recorded := state.Restore.Status.SignedURL; r.sign == nil && (recorded == nil || recorded.SecretName == "") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	err := r.deleteSignedURL(ctx, &state.Restore)
	if answered := apierrors.APIStatus(nil); errors.As(err, &answered) || errors.Is(err, kube.ErrSecretRefused) || ctx.Err() != nil {
		log.FromContext(ctx).Info("Could not delete the Secret with the signed URL", "secret", signedURLName(&state.Restore), "error", err.Error())
		return nil
	}
	return err
}

// deleteSignedURL deletes the Secret, but no Secret of the same name that belongs to another object.
func (r *Reconciler) deleteSignedURL(ctx context.Context, restore *v1beta2.EtcdRestore) error {
	name := client.ObjectKey{Namespace: restore.Namespace, Name: signedURLName(restore)}
	secret, err := kube.ReadSecret(ctx, r.client, name)
	if err != nil {
		return wrap(client.IgnoreNotFound(err), "read", name.Name)
	}
	if !ownedBy(secret, restore) {
		return nil
	}
	err = r.client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID})
	return wrap(client.IgnoreNotFound(err), "delete", name.Name)
}

func ownedBy(secret *corev1.Secret, restore *v1beta2.EtcdRestore) bool {
	owners := secret.OwnerReferences
	return len(owners) == 1 && owners[0].UID == restore.UID
}

// observeRenewal returns the state of the attempt to replace the signed URL.
func (r *Reconciler) observeRenewal(key worker.Key) state.Renewal {
	if r.renewals.Running(key) {
		return state.Renewal{Progress: state.ProofRunning}
	}
	renewed, _, _ := r.renewals.Result(key)
	return renewed
}

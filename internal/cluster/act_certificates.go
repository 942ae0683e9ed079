package cluster

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// actOnCertificates does the steps of certificates. Each Secret is written as it was read, or not at all.
func (r *Reconciler) actOnCertificates(ctx context.Context, v *view, step plan.Step) error {
	switch step := step.(type) {
	case plan.CreateCA:
		return r.createCA(ctx, v)
	case plan.ReplaceCA:
		return r.replaceCA(ctx, v)
	case plan.RemovePreviousCA:
		return r.removePreviousCA(ctx, v)
	case plan.RequestCertificates:
		return r.requestCertificates(ctx, v)
	case plan.WriteCertificates:
		return r.writeCertificates(ctx, v, step)
	default:
		return fmt.Errorf("step %T is not about certificates", step)
	}
}

// createCA creates the first CA. If another pass has created one before, that one is kept.
func (r *Reconciler) createCA(ctx context.Context, v *view) error {
	authority, err := v.NewCA()
	if err != nil {
		return err
	}
	return r.create(ctx, v, v.newSecret(v.CASecret(), &plan.Secret{
		Data:        map[string][]byte{plan.CACertKey: authority.Cert, plan.CAKeyKey: authority.Key},
		Annotations: v.rotated(),
	}))
}

// replaceCA adds a new CA. One before it is kept with its key, in the same write.
func (r *Reconciler) replaceCA(ctx context.Context, v *view) error {
	authority, err := v.NewCA()
	if err != nil {
		return err
	}
	before := v.material.CA
	return r.update(ctx, v, v.CASecret(), &plan.Secret{
		Data:        v.material.WithNewCA(v.State, authority),
		Annotations: v.rotated(),
		Version:     before.Version,
	})
}

// removePreviousCA removes the previous CA and its key: no Secret of members and clients holds it any more.
func (r *Reconciler) removePreviousCA(ctx context.Context, v *view) error {
	before := v.material.CA
	data := maps.Clone(before.Data)
	delete(data, plan.PreviousCACertKey)
	delete(data, plan.PreviousCAKeyKey)
	return r.update(ctx, v, v.CASecret(), &plan.Secret{Data: data, Annotations: before.Annotations, Version: before.Version})
}

// rotated records which request for a new CA was carried out.
func (v *view) rotated() map[string]string {
	return map[string]string{v1beta2.AnnotationRotateCA: v.material.Rotate}
}

// writeCertificates writes what differs of the Secrets that members and clients use.
func (r *Reconciler) writeCertificates(ctx context.Context, v *view, step plan.WriteCertificates) error {
	for _, u := range plan.Usages {
		after, err := v.material.NewSecret(v.State, u, step)
		if err != nil {
			return err
		}
		before := v.material.HandedOut[u.Name]
		switch {
		case after == nil: // not issued yet
		case before == nil:
			err = r.create(ctx, v, v.newSecret(v.Name+u.Suffix, after))
		case !before.Same(after):
			after.Version = before.Version
			err = r.update(ctx, v, v.Name+u.Suffix, after)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// update replaces a Secret of the cluster. It fails if the Secret was changed since it was read.
func (r *Reconciler) update(ctx context.Context, v *view, name string, after *plan.Secret) error {
	var object corev1.Secret
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &object); err != nil {
		return fmt.Errorf("read Secret %s: %w", name, err)
	}
	object.ResourceVersion = after.Version
	object.Data = after.Data
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	maps.Copy(object.Annotations, after.Annotations)
	return wrap("update", &object, r.Client.Update(ctx, &object))
}

func (v *view) newSecret(name string, content *plan.Secret) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   v.Namespace,
			Name:        name,
			Labels:      map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: v.Name},
			Annotations: content.Annotations,
		},
		Data: content.Data,
	}
}

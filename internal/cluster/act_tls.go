package cluster

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// actTLS does the steps of certificates. Each Secret is written as it was read, or not at all.
func (r *Reconciler) actTLS(ctx context.Context, v *view, step Step) error {
	switch step := step.(type) {
	case MakeAuthority:
		return r.makeAuthority(ctx, v)
	case ReplaceAuthority:
		return r.replaceAuthority(ctx, v)
	case ForgetAuthority:
		return r.forgetAuthority(ctx, v)
	case RequestCertificates:
		return r.requestCertificates(ctx, v)
	case HandOutCertificates:
		return r.handOut(ctx, v, step)
	case LoadCertificates:
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: step.Name}}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationLoaded, step.Loaded)
		return wrap("mark", pod, r.Client.Patch(ctx, pod, client.RawPatch("application/merge-patch+json", patch)))
	}
	return nil
}

func (r *Reconciler) newAuthority(v *view) (*pki.Authority, error) {
	return pki.NewAuthority(v.Name+"."+v.Namespace+" etcd", r.Now(), v.validity().caDuration)
}

// makeAuthority makes the first authority. One that another pass made meanwhile stays.
func (r *Reconciler) makeAuthority(ctx context.Context, v *view) error {
	authority, err := r.newAuthority(v)
	if err != nil {
		return err
	}
	return r.create(ctx, v, v.newSecret(v.authoritySecret(), &secret{
		data:        map[string][]byte{authorityCert: authority.Cert, authorityKey: authority.Key},
		annotations: v.rotated(),
	}))
}

// replaceAuthority adds another authority; the one before stays beside it, with its key, in the same write.
func (r *Reconciler) replaceAuthority(ctx context.Context, v *view) error {
	authority, err := r.newAuthority(v)
	if err != nil {
		return err
	}
	before := v.material.authority
	return r.update(ctx, v, v.authoritySecret(), &secret{
		data: map[string][]byte{
			authorityCert: authority.Cert, authorityKey: authority.Key,
			previousCert: before.get(authorityCert), previousKey: before.get(authorityKey),
		},
		annotations: v.rotated(),
		version:     before.version,
	})
}

// forgetAuthority removes the previous authority and its key: no Secret of members and clients holds it any more.
func (r *Reconciler) forgetAuthority(ctx context.Context, v *view) error {
	before := v.material.authority
	data := maps.Clone(before.data)
	delete(data, previousCert)
	delete(data, previousKey)
	return r.update(ctx, v, v.authoritySecret(), &secret{data: data, annotations: before.annotations, version: before.version})
}

// rotated keeps which wish for another authority has been fulfilled.
func (v *view) rotated() map[string]string {
	return map[string]string{v1beta2.AnnotationRotateCA: v.material.rotate}
}

// handOut writes what differs of the Secrets that members and clients use.
func (r *Reconciler) handOut(ctx context.Context, v *view, step HandOutCertificates) error {
	for _, u := range usages {
		after, err := v.material.handOut(v.State, u, step)
		if err != nil {
			return err
		}
		before := v.material.handed[u.name]
		if before == nil {
			err = r.create(ctx, v, v.newSecret(v.Name+u.suffix, after))
		} else if !maps.EqualFunc(before.data, after.data, func(a, b []byte) bool { return string(a) == string(b) }) {
			after.version = before.version
			err = r.update(ctx, v, v.Name+u.suffix, after)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// update replaces a Secret of the cluster's, provided that nobody changed it since it was read.
func (r *Reconciler) update(ctx context.Context, v *view, name string, after *secret) error {
	var object corev1.Secret
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &object); err != nil {
		return fmt.Errorf("read Secret %s: %w", name, err)
	}
	object.ResourceVersion = after.version
	object.Data = after.data
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	maps.Copy(object.Annotations, after.annotations)
	return wrap("update", &object, r.Client.Update(ctx, &object))
}

func (v *view) newSecret(name string, content *secret) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   v.Namespace,
			Name:        name,
			Labels:      map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: v.Name},
			Annotations: content.annotations,
		},
		Data: content.data,
	}
}

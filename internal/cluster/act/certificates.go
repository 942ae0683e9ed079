package act

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// actOnCertificates does the steps of certificates. Each Secret is written as it was read, or not at all.
func (a *certificateActs) actOnCertificates(ctx context.Context, v *view.View, step steps.Step) error {
	switch step := step.(type) {
	case steps.CreateCA:
		return a.createCA(ctx, v)
	case steps.ReplaceCA:
		return a.replaceCA(ctx, v)
	case steps.RemovePreviousCA:
		return a.removePreviousCA(ctx, v)
	case steps.HandOutCA:
		return a.update(ctx, v, material.CASecret(v.State), v.Material.CompletedCA(v.State))
	case steps.RequestCertificates:
		return a.requestCertificates(ctx, v)
	case steps.WriteCertificates:
		return a.writeCertificates(ctx, v, step)
	case steps.WriteUserCertificates:
		return a.writeUserCertificates(ctx, v, step)
	case steps.RequestUserCertificates:
		return a.requestUsers(ctx, v)
	case steps.WithdrawUserCertificates:
		return a.withdrawUsers(ctx, v)
	default:
		return fmt.Errorf("step %T is not about certificates", step)
	}
}

// createCA creates the first CA. If another pass has created one before, that one is kept.
func (a *certificateActs) createCA(ctx context.Context, v *view.View) error {
	authority, err := material.NewCA(v.State)
	if err != nil {
		return err
	}
	return a.create(ctx, v, newSecret(v, material.CASecret(v.State), &material.Secret{
		Data:        v.Material.NewAuthority(authority),
		Annotations: rotated(v),
	}))
}

// replaceCA adds a new CA. One before it is kept with its key, in the same write.
func (a *certificateActs) replaceCA(ctx context.Context, v *view.View) error {
	authority, err := material.NewCA(v.State)
	if err != nil {
		return err
	}
	before := v.Material.CA
	return a.update(ctx, v, material.CASecret(v.State), &material.Secret{
		Data:        v.Material.WithNewCA(v.State, authority),
		Annotations: rotated(v),
		Version:     before.Version,
	})
}

// removePreviousCA removes the previous CA and its key: no Secret of members and clients holds it any more.
func (a *certificateActs) removePreviousCA(ctx context.Context, v *view.View) error {
	before := v.Material.CA
	data := maps.Clone(before.Data)
	delete(data, material.PreviousCACertKey)
	delete(data, material.PreviousCAKeyKey)
	return a.update(ctx, v, material.CASecret(v.State), &material.Secret{Data: data, Annotations: before.Annotations, Version: before.Version})
}

// rotated records which request for a new CA was carried out.
func rotated(v *view.View) map[string]string {
	return map[string]string{v1beta2.AnnotationRotateCA: v.Material.Rotate}
}

// writeCertificates writes what differs of the Secrets that members and clients use.
func (a *certificateActs) writeCertificates(ctx context.Context, v *view.View, step steps.WriteCertificates) error {
	for _, u := range state.Usages {
		after, err := v.Material.NewSecret(v.State, u, step)
		if err != nil {
			return err
		}
		before := v.Material.HandedOut[u.Name]
		switch {
		case after == nil: // not issued yet
		case before == nil:
			err = a.create(ctx, v, newSecret(v, v.Name+u.Suffix, after))
		case !before.Same(after):
			after.Version = before.Version
			err = a.update(ctx, v, v.Name+u.Suffix, after)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// update replaces a Secret of the cluster. It fails if the Secret was changed since it was read.
func (w *writer) update(ctx context.Context, v *view.View, name string, after *material.Secret) error {
	err := kube.UpdateSecret(ctx, w.Client, client.ObjectKey{Namespace: v.Namespace, Name: name}, func(object *corev1.Secret) error {
		data := maps.Clone(after.Data)
		for key := range data {
			if !slices.Contains(secrets.SecretKeys, key) {
				data[key] = object.Data[key] // a key of others, of which the view has only the name
			}
		}
		object.ResourceVersion, object.Data = after.Version, data
		if object.Annotations == nil {
			object.Annotations = map[string]string{}
		}
		maps.Copy(object.Annotations, after.Annotations)
		return nil
	})
	if err != nil {
		return fmt.Errorf("update Secret %s: %w", name, err)
	}
	return nil
}

func newSecret(v *view.View, name string, content *material.Secret) *corev1.Secret {
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

// requestCertificates creates or corrects the Certificates (server-side apply).
func (a *certificateActs) requestCertificates(ctx context.Context, v *view.View) error {
	if refused := certificates.RefusedIssuer(v.State); refused != "" {
		return errors.New(refused)
	}
	for _, u := range state.Usages {
		if v.Material.Withheld(u) {
			continue
		}
		if err := a.applyCertificate(ctx, v, secrets.Certificate(v.State, u), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

func (a *certificateActs) applyCertificate(ctx context.Context, v *view.View, certificate *unstructured.Unstructured, options ...client.ApplyOption) error {
	if err := controllerutil.SetControllerReference(v.Cluster, certificate, a.Client.Scheme()); err != nil {
		return fmt.Errorf("set the owner of Certificate %s: %w", certificate.GetName(), err)
	}
	if err := a.keepMetadata(ctx, v, certificate); err != nil {
		return err
	}
	configuration := client.ApplyConfigurationFromUnstructured(certificate)
	if err := a.Client.Apply(ctx, configuration, append(options, client.FieldOwner(view.Name))...); err != nil {
		return fmt.Errorf("apply Certificate %s: %w", certificate.GetName(), err)
	}
	return nil
}

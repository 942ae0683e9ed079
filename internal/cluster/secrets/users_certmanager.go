package secrets

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// observeIssued reads the Certificate of a user, and what cert-manager has issued for it. It returns false if another owner has one of them: cert-manager
// would overwrite a Secret of a person.
func (u users) observeIssued(ctx context.Context, user string) (bool, error) {
	want := UserCertificate(u.view.State, user)
	have, err := u.certificateOf(ctx, u.view, want)
	switch {
	case meta.IsNoMatchError(err), apierrors.IsForbidden(err):
		return true, nil // observeCertManager reports it
	case err != nil && !apierrors.IsNotFound(err):
		return false, fmt.Errorf("read Certificate %s: %w", want.GetName(), err)
	case err == nil && !metav1.IsControlledBy(have, u.view.Cluster):
		u.taken("Certificate "+want.GetName(), have, want.GetName())
		return false, nil
	case err != nil:
		have = nil
	}
	name := want.GetName() + issuedSuffix
	found, err := u.secretOf(ctx, u.view, name)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read Secret %s: %w", name, err)
	}
	if err == nil && found.Annotations[kube.AnnotationIssuedFor] != want.GetName() {
		u.taken("Secret "+name, found, name)
		return false, nil
	}
	if have == nil {
		u.view.UserCertificates.Requests = append(u.view.UserCertificates.Requests, user)
	} else {
		services.NoteMetadata(&u.view.State, "Certificate", have.GetName(), have)
		if !requests(have, want) {
			u.view.UserCertificates.Requests = append(u.view.UserCertificates.Requests, user)
		}
		if err := u.noteIssued(user, have, found); err != nil {
			return false, err
		}
	}
	return true, nil
}

// noteIssued records what cert-manager has issued for a user, or why that cannot be used. Then it is read again with the next judgement.
func (u users) noteIssued(user string, certificate *unstructured.Unstructured, found *corev1.Secret) error {
	why := ""
	if found != nil && len(found.Data[material.IssuedCertKey]) > 0 {
		data, err := u.held.hold(found.Name, found.Data)
		if err != nil {
			return err
		}
		u.view.Material.UsersIssued[user] = &material.Secret{Data: data}
		if why = material.UnfitForUser(u.view.Material, u.view.State, user); why != "" {
			delete(u.view.Material.UsersIssued, user)
		}
	}
	if ready, message := certificateReady(certificate); !ready && why == "" {
		why = message
	}
	if why == "" {
		return nil
	}
	u.view.UserCertificates.Unissued = append(u.view.UserCertificates.Unissued, "Certificate "+certificate.GetName()+" is not used: "+why+".")
	u.Memory.OfView(u.view).drop(certificate, client.ObjectKeyFromObject(certificate))
	u.Memory.OfView(u.view).drop(&corev1.Secret{}, client.ObjectKey{Namespace: u.view.Namespace, Name: certificate.GetName() + issuedSuffix})
	return nil
}

// observeLeft reads which users that have left the spec still have a Certificate.
func (u users) observeLeft(ctx context.Context) error {
	certified := u.view.Spec.Auth.Certified()
	for _, user := range u.view.RequestedUsers[:min(len(u.view.RequestedUsers), 2*certificates.MaxRequested)] { // an earlier version had no limit
		if u.view.Spec.TLS.CertManager == nil || slices.Contains(certified, user) {
			continue
		}
		want := UserCertificate(u.view.State, user)
		have, err := u.certificateOf(ctx, u.view, want)
		switch {
		case ctx.Err() != nil:
			return err
		case slices.ContainsFunc(state.Usages, func(usage state.Usage) bool { return want.GetName() == u.view.Name+usage.Certificate }):
			u.view.UserCertificates.Gone = append(u.view.UserCertificates.Gone, user) // somebody wrote the status
		case apierrors.IsNotFound(err), err == nil && !metav1.IsControlledBy(have, u.view.Cluster):
			u.view.UserCertificates.Gone = append(u.view.UserCertificates.Gone, user)
		case err == nil:
			u.view.UserCertificates.Left = append(u.view.UserCertificates.Left, user)
		}
	}
	return nil
}

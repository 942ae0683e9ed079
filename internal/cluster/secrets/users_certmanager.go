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
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// observeUserIssued reads the Certificate of a user, and what cert-manager has issued for it. It returns false if another owner has one of them: cert-manager
// would overwrite a Secret of a person.
func (s *Secrets) observeUserIssued(ctx context.Context, v *view.View, user string) (bool, error) {
	want := UserCertificate(v.State, user)
	have, err := s.certificateOf(ctx, v, want)
	switch {
	case meta.IsNoMatchError(err), apierrors.IsForbidden(err):
		return true, nil // observeCertManager reports it
	case err != nil && !apierrors.IsNotFound(err):
		return false, fmt.Errorf("read Certificate %s: %w", want.GetName(), err)
	case err == nil && !metav1.IsControlledBy(have, v.Cluster):
		s.takenOfUser(v, "Certificate "+want.GetName(), have, want.GetName())
		return false, nil
	case err != nil:
		have = nil
	}
	name := want.GetName() + issuedSuffix
	found, err := s.secretOf(ctx, v, name)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read Secret %s: %w", name, err)
	}
	if err == nil && found.Annotations[kube.AnnotationIssuedFor] != want.GetName() {
		s.takenOfUser(v, "Secret "+name, found, name)
		return false, nil
	}
	if have == nil {
		v.UserCertificates.Requests = append(v.UserCertificates.Requests, user)
	} else {
		services.NoteMetadata(&v.State, "Certificate", have.GetName(), have)
		if !requests(have, want) {
			v.UserCertificates.Requests = append(v.UserCertificates.Requests, user)
		}
		s.noteUserIssued(v, user, have, found)
	}
	return true, nil
}

// noteUserIssued records what cert-manager has issued for a user, or why that cannot be used. Then it is read again with the next judgement.
func (s *Secrets) noteUserIssued(v *view.View, user string, certificate *unstructured.Unstructured, found *corev1.Secret) {
	why := ""
	if found != nil && len(found.Data[material.IssuedCertKey]) > 0 {
		v.Material.UsersIssued[user] = &material.Secret{Data: found.Data}
		if why = material.UnfitForUser(v.Material, v.State, user); why != "" {
			delete(v.Material.UsersIssued, user)
		}
	}
	if ready, message := certificateReady(certificate); !ready && why == "" {
		why = message
	}
	if why == "" {
		return
	}
	v.UserCertificates.Unissued = append(v.UserCertificates.Unissued, "Certificate "+certificate.GetName()+" is not used: "+why+".")
	s.Memory.OfView(v).drop(certificate, client.ObjectKeyFromObject(certificate))
	s.Memory.OfView(v).drop(&corev1.Secret{}, client.ObjectKey{Namespace: v.Namespace, Name: certificate.GetName() + issuedSuffix})
}

// observeLeft reads which users that have left the spec still have a Certificate.
func (s *Secrets) observeLeft(ctx context.Context, v *view.View) error {
	certified := v.Spec.Auth.Certified()
	for _, user := range v.RequestedUsers[:min(len(v.RequestedUsers), 2*certificates.MaxRequested)] { // an earlier version had no limit
		if v.Spec.TLS.CertManager == nil || slices.Contains(certified, user) {
			continue
		}
		want := UserCertificate(v.State, user)
		have, err := s.certificateOf(ctx, v, want)
		switch {
		case ctx.Err() != nil:
			return err
		case slices.ContainsFunc(state.Usages, func(u state.Usage) bool { return want.GetName() == v.Name+u.Certificate }):
			v.UserCertificates.Gone = append(v.UserCertificates.Gone, user) // somebody wrote the status
		case apierrors.IsNotFound(err), err == nil && !metav1.IsControlledBy(have, v.Cluster):
			v.UserCertificates.Gone = append(v.UserCertificates.Gone, user)
		case err == nil:
			v.UserCertificates.Left = append(v.UserCertificates.Left, user)
		}
	}
	return nil
}

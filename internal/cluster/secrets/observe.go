package secrets

import (
	"context"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ObserveSecrets reads all Secrets of the cluster's certificates: those of the user, or those that the operator writes.
func (s *Secrets) ObserveSecrets(ctx context.Context, v *view.View) error {
	if !v.Spec.TLS.Issued() {
		return s.observeStatic(ctx, v)
	}
	v.Material = material.Material{HandedOut: map[string]*material.Secret{}, Rotate: v.Cluster.Annotations[v1beta2.AnnotationRotateCA]}
	for _, u := range state.Usages {
		held, ours, err := s.ownSecret(ctx, v, v.Name+u.Suffix)
		if err != nil {
			return noteSecret(v, err)
		}
		if !ours {
			noteTaken(v, u, "Secret "+v.Name+u.Suffix)
		}
		if held != nil {
			v.Material.HandedOut[u.Name] = held
		}
	}
	v.ClientName, v.NamedClients = v.Material.ClientName(v.State), v.Material.NamedClients(v.State) || state.MembersCheckClients(v.State)
	if err := s.observeIssuer(ctx, v); err != nil {
		return noteSecret(v, err)
	}
	if v.SecretProblem = v.Material.TooMany(v.State); v.SecretProblem != "" {
		return nil
	}
	if err := (users{s, v, &heldContents{by: map[uint64][]byte{}}}).observe(ctx); err != nil {
		return noteSecret(v, err)
	}
	if v.Certificates = v.Material.Judge(v.State, v.Certificates); v.Certificates.Unjudged {
		v.SecretProblem = material.TooManySignatures
		return nil
	}
	if !v.Certificates.Missing && v.Certificates.Foreign == "" {
		name := v.Spec.TLS.ClientSecret(v.Name)
		if v.Certificates.Operator {
			name = v.Spec.TLS.OperatorSecret(v.Name)
		}
		useClientSecret(v, name, v.Material.Operator(v.State).Data)
	}
	return nil
}

func (s *Secrets) observeIssuer(ctx context.Context, v *view.View) (err error) {
	if v.Spec.TLS.Managed == nil {
		return s.observeCertManager(ctx, v)
	}
	authority, ours, err := s.ownSecret(ctx, v, material.CASecret(v.State))
	if !ours {
		v.Certificates.Foreign = certificates.TakenByAnother("Secret " + material.CASecret(v.State))
	}
	v.Material.CA = authority
	return err
}

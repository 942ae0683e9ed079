package secrets

import (
	"cmp"
	"context"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

// checkSecret reads a Secret of the user and records what is missing.
func (s *Secrets) checkSecret(ctx context.Context, v *view.View, name string, keys tlssecret.Keys) (map[string][]byte, error) {
	data, err := s.SecretData(ctx, v, name)
	if err != nil {
		return nil, noteSecret(v, err)
	}
	contents := keys.Of(data)
	if v.SecretProblem == "" {
		v.SecretProblem = cmp.Or(keys.Problem(name, data), material.TooManyCAs(name, keys.CAName(data), contents[keys.CA]))
	}
	return contents, nil
}

// observeStatic checks that the user's Secrets exist and are complete.
func (s *Secrets) observeStatic(ctx context.Context, v *view.View) error {
	policy := v.Spec.TLS
	var peer, server, data map[string][]byte
	var err error
	if policy.SecurePeer() {
		if peer, err = s.checkSecret(ctx, v, policy.PeerSecret(v.Name), tlssecret.Peer); err != nil {
			return err
		}
	}
	if policy.SecureClient() {
		if policy.ServerSecret(v.Name) == "" {
			// Stored before the schema refused it.
			v.SecretProblem = "spec.TLS.static has an operatorSecret and no member.serverSecret. Set both or neither."
			return nil
		}
		if server, err = s.checkSecret(ctx, v, policy.ServerSecret(v.Name), tlssecret.Server); err != nil {
			return err
		}
		data, err = s.checkSecret(ctx, v, policy.ClientSecret(v.Name), tlssecret.Client)
		if err != nil {
			return err
		}
		if v.SecretProblem == "" {
			useClientSecret(v, policy.ClientSecret(v.Name), data)
		}
	}
	v.Certificates.SetExpiry(peer[v1beta2.PeerCertKey], server[v1beta2.ServerCertKey], data[v1beta2.ClientCertKey])
	v.Certificates.PeerLacksName = state.LacksPeerName(v.State, peer[v1beta2.PeerCertKey])
	v.Certificates.ClientsLackName = state.LacksClientName(v.State, data[v1beta2.ClientCertKey])
	v.Certificates.Trust = state.TrustOf(peer[v1beta2.PeerCAKey], server[v1beta2.ServerCAKey])
	if v.Certificates.Trust != "" {
		v.Certificates.Loaded = pki.Fingerprint(peer[v1beta2.PeerCertKey], peer[v1beta2.PeerCAKey], server[v1beta2.ServerCertKey], server[v1beta2.ServerCAKey])
	}
	return nil
}

// Package secrets reads the Secrets and the Certificates of an EtcdCluster, keeps what was read, and judges the certificates.
package secrets

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// SecretKeys are the keys of Secrets whose contents this operator reads.
var SecretKeys = []string{
	material.CACertKey, material.CAKeyKey, material.PreviousCACertKey, material.PreviousCAKeyKey, material.IssuedCertKey, material.IssuedKeyKey, material.IssuedCAKey,
	v1beta2.PeerCertKey, v1beta2.PeerKeyKey, v1beta2.PeerCAKey, v1beta2.ServerCertKey, v1beta2.ServerKeyKey, v1beta2.ServerCAKey,
	v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey,
	material.BindingTypeKey, material.BindingHostKey, material.BindingPortKey, material.BindingEndpointsKey,
}

// secretOf returns a Secret that is kept, or reads and keeps it. The caller may only read it, because other passes use the same one. A missing Secret is
// read each time.
func (s *Secrets) secretOf(ctx context.Context, v *view.View, name string) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: v.Namespace, Name: name}
	if have := s.keptSecret(v, key); have != nil {
		return have, nil
	}
	read, err := kube.ReadSecret(ctx, s.Client, key, SecretKeys...)
	if err != nil {
		return nil, err
	}
	s.keep(v, nameOfKept(read, key), read)
	return cmp.Or(s.keptSecret(v, key), read), nil
}

// SecretData returns the data of a Secret as secretOf does. If name is empty, it returns nil and no error.
func (s *Secrets) SecretData(ctx context.Context, v *view.View, name string) (map[string][]byte, error) {
	if name == "" {
		return nil, nil
	}
	secret, err := s.secretOf(ctx, v, name)
	return kube.DataOf(secret, client.ObjectKey{Namespace: v.Namespace, Name: name}, err)
}

// Secret returns a Secret as secretOf does. The error is kube.ErrSecretMissing if there is none.
func (s *Secrets) Secret(ctx context.Context, v *view.View, name string) (*corev1.Secret, error) {
	secret, err := s.secretOf(ctx, v, name)
	_, err = kube.DataOf(secret, client.ObjectKey{Namespace: v.Namespace, Name: name}, err)
	return secret, err
}

func (s *Secrets) keptSecret(v *view.View, key client.ObjectKey) *corev1.Secret {
	have, _ := s.Memory.OfView(v).objects[nameOfKept(&corev1.Secret{}, key)].(*corev1.Secret)
	return have
}

// ownSecret reads a Secret that the operator writes. It returns nil if there is none. If another owner has it, ours is
// false.
func (s *Secrets) ownSecret(ctx context.Context, v *view.View, name string) (held *material.Secret, ours bool, err error) {
	found, err := s.secretOf(ctx, v, name)
	if apierrors.IsNotFound(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("read Secret %s: %w", name, err)
	}
	if !metav1.IsControlledBy(found, v.Cluster) {
		return nil, false, nil
	}
	services.NoteMetadata(&v.State, "Secret", name, found)
	return &material.Secret{Data: found.Data, Annotations: found.Annotations, Version: found.ResourceVersion}, true, nil
}

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// sessions is how many TLS sessions with members are kept to be resumed. A session that resumes saves both sides the check of
// certificates.
const sessions = 8

// observeSecrets reads all Secrets of the cluster's certificates: those of the user, or those that the operator writes.
func (r *Reconciler) observeSecrets(ctx context.Context, v *view) error {
	if !v.Spec.TLS.Issued() {
		return r.observeStatic(ctx, v)
	}
	v.material = plan.Material{HandedOut: map[string]*plan.Secret{}, Rotate: v.cluster.Annotations[v1beta2.AnnotationRotateCA]}
	for _, u := range plan.Usages {
		held, ours, err := r.ownSecret(ctx, v, v.Name+u.Suffix)
		if err != nil {
			return err
		}
		if !ours {
			v.noteTaken(u, "Secret "+v.Name+u.Suffix)
		}
		if held != nil {
			v.material.HandedOut[u.Name] = held
		}
	}
	v.ClientName, v.NamedClients = v.material.ClientName(v.State), v.material.NamedClients(v.State) || v.MembersCheckClients()
	if err := r.observeIssuer(ctx, v); err != nil {
		return err
	}
	if v.SecretProblem = v.material.TooMany(v.State); v.SecretProblem != "" {
		return nil
	}
	if v.Certificates = v.material.Judge(v.State, v.Certificates); v.Certificates.Unjudged {
		v.SecretProblem = plan.TooManySignatures
		return nil
	}
	if !v.Certificates.Missing && v.Certificates.Foreign == "" {
		name := v.Spec.TLS.ClientSecret(v.Name)
		if v.Certificates.Operator {
			name = v.Spec.TLS.OperatorSecret(v.Name)
		}
		v.useClientSecret(name, v.material.Operator().Data)
	}
	return nil
}

func (r *Reconciler) observeIssuer(ctx context.Context, v *view) (err error) {
	if v.Spec.TLS.Managed == nil {
		return r.observeCertManager(ctx, v)
	}
	authority, ours, err := r.ownSecret(ctx, v, v.CASecret())
	if !ours {
		v.Certificates.Foreign = plan.TakenByAnother("Secret " + v.CASecret())
	}
	v.material.CA = authority
	return err
}

// noteTaken records that another owner has the Secret or the Certificate of a usage. The cluster needs all but the operator's.
func (v *view) noteTaken(u plan.Usage, object string) {
	if u.Vital() {
		v.Certificates.Foreign = plan.TakenByAnother(object)
		return
	}
	v.material.Taken = object
}

// ownSecret reads a Secret that the operator writes. It returns nil if there is none. If another owner has it, ours is
// false.
func (r *Reconciler) ownSecret(ctx context.Context, v *view, name string) (held *plan.Secret, ours bool, err error) {
	found, err := r.secretOf(ctx, v, name)
	if apierrors.IsNotFound(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("read Secret %s: %w", name, err)
	}
	if !metav1.IsControlledBy(found, v.cluster) {
		return nil, false, nil
	}
	return &plan.Secret{Data: found.Data, Annotations: found.Annotations, Version: found.ResourceVersion}, true, nil
}

// observeStatic checks that the user's Secrets exist and are complete.
func (r *Reconciler) observeStatic(ctx context.Context, v *view) error {
	policy := v.Spec.TLS
	var peer, server, data map[string][]byte
	var err error
	if policy.SecurePeer() {
		if peer, err = r.checkSecret(ctx, v, policy.PeerSecret(v.Name), v1beta2.PeerCertKey, v1beta2.PeerKeyKey, v1beta2.PeerCAKey); err != nil {
			return err
		}
	}
	if policy.SecureClient() {
		if policy.ServerSecret(v.Name) == "" {
			// Stored before the schema refused it.
			v.SecretProblem = "spec.TLS.static has an operatorSecret and no member.serverSecret. Set both or neither."
			return nil
		}
		if server, err = r.checkSecret(ctx, v, policy.ServerSecret(v.Name), v1beta2.ServerCertKey, v1beta2.ServerKeyKey, v1beta2.ServerCAKey); err != nil {
			return err
		}
		data, err = r.checkSecret(ctx, v, policy.ClientSecret(v.Name), v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey)
		if err != nil {
			return err
		}
		if v.SecretProblem == "" {
			v.useClientSecret(policy.ClientSecret(v.Name), data)
		}
	}
	v.Certificates.SetExpiry(peer[v1beta2.PeerCertKey], server[v1beta2.ServerCertKey], data[v1beta2.ClientCertKey])
	v.Certificates.PeerLacksName = v.LacksPeerName(peer[v1beta2.PeerCertKey])
	v.Certificates.ClientsLackName = v.LacksClientName(data[v1beta2.ClientCertKey])
	v.Certificates.Trust = plan.TrustOf(peer[v1beta2.PeerCAKey], server[v1beta2.ServerCAKey])
	if v.Certificates.Trust != "" {
		v.Certificates.Loaded = pki.Fingerprint(peer[v1beta2.PeerCertKey], peer[v1beta2.PeerCAKey], server[v1beta2.ServerCertKey], server[v1beta2.ServerCAKey])
	}
	return nil
}

// useClientSecret makes the operator connect to the members with the certificate in a Secret.
func (v *view) useClientSecret(name string, data map[string][]byte) {
	config, err := etcd.TLSConfig(data[v1beta2.ClientCertKey], data[v1beta2.ClientKeyKey], data[v1beta2.ClientCAKey])
	if err != nil {
		v.SecretProblem = fmt.Sprintf("Secret %s (keys %s, %s, %s) is invalid: %v.", name, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, err)
		return
	}
	config.ClientSessionCache = tls.NewLRUClientSessionCache(sessions)
	v.tls = config
}

// observeShown reads which certificates the members serve with. The plan needs it only while a CA is replaced.
func (r *Reconciler) observeShown(ctx context.Context, v *view) {
	if !v.Certificates.Superseded || v.Certificates.Outdated {
		return
	}
	var looking sync.WaitGroup
	for i := range v.Members {
		m := &v.Members[i]
		if address := v.addresses[m.Name]; address != "" && m.Pod == plan.PodRunning {
			looking.Go(panics.Caught(func() {
				m.ShowsNew = r.shows(ctx, v, address, v1beta2.PeerPort, "peer") && r.shows(ctx, v, address, v1beta2.ClientPort, "server")
			}, func(error) {})) // as if it shows the old one
		}
	}
	looking.Wait()
}

// shows says whether a member serves one of its ports with the certificate that its Secret holds.
func (r *Reconciler) shows(ctx context.Context, v *view, address string, port int32, usage string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, u := range plan.Usages {
		if u.Name != usage {
			continue
		}
		held, err := v.material.Pair(u).Leaf()
		if err != nil {
			return false
		}
		shown, err := r.Shown(ctx, net.JoinHostPort(address, strconv.Itoa(int(port))))
		return err == nil && bytes.Equal(shown.Raw, held.Raw)
	}
	return false
}

// Package clients reads the Secrets and objects that the work for an EtcdBackup needs, and opens its store and its members.
package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

// Clients reads Secrets and objects of Kubernetes, and opens the store and the members. Tests replace its functions.
type Clients struct {
	Secrets client.Reader
	// Identity says which namespaces may use the operator's own identity, and below which paths.
	Identity grant.List
	Probe    func(context.Context, []string, ask.Access) []ask.Answer
	Source   func(url string, by ask.Access) save.Source
	Open     func(context.Context, connect.Access) (objstore.Store, error)
	Now      func() time.Time
}

// tls returns the TLS configuration for the members, and nil if the spec names no Secret.
func (t *Clients) tls(ctx context.Context, o state.JobSpec) (*tls.Config, error) {
	data, err := t.Secret(ctx, o.Namespace, o.TLSSecret, tlssecret.Client.Read()...)
	if err != nil || o.TLSSecret == "" {
		return nil, err
	}
	contents := tlssecret.Client.Of(data)
	config, err := etcd.TLSConfig(contents[v1beta2.ClientCertKey], contents[v1beta2.ClientKeyKey], contents[v1beta2.ClientCAKey])
	if err != nil {
		return nil, failure.New(v1beta2.ReasonSecretMissing, fmt.Sprintf("Secret %s has no usable %s: %v. Correct the Secret.",
			o.TLSSecret, tlssecret.Client.Names(data), err))
	}
	return config, nil
}

// Secret reads a Secret, and returns the contents of the keys in wanted. It returns nil for an empty name, and an empty map for a Secret without data.
func (t *Clients) Secret(ctx context.Context, namespace, name string, wanted ...string) (map[string][]byte, error) {
	data, err := kube.SecretData(ctx, t.Secrets, namespace, name, wanted...)
	if err != nil && !errors.Is(err, kube.ErrSecretMissing) {
		return nil, failure.New(v1beta2.ReasonRetrying, err.Error())
	}
	if data == nil && name != "" {
		// The API gives an empty Secret as nil, which stands for the operator's own identity.
		data = map[string][]byte{}
	}
	if err == nil {
		err = keep(ctx, data)
	}
	return data, err
}

// Tool names the writer of a snapshot in its manifest.
func Tool() string { return state.Operator + " " + operator.Version }

// New returns the clients of the real members and stores. now is the clock of the API server.
func New(secrets client.Reader, identity grant.List, now func() time.Time) *Clients {
	return &Clients{
		Secrets: secrets, Identity: identity, Probe: ask.Members,
		Source: func(url string, by ask.Access) save.Source { return ask.Snapshot{URL: url, By: by} }, Open: connect.Open, Now: now,
	}
}

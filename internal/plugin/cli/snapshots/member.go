package snapshots

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// fromMember opens the data of a member, through the API server. It needs no store, and the member serves meanwhile.
func fromMember(ctx context.Context, p *session.Session, w *session.World, name string, d downloading) (remote, error) {
	cluster, err := w.Cluster(ctx, []string{name})
	if err != nil {
		return remote{}, err
	}
	pods, err := w.Pods(ctx, cluster.Name)
	if err != nil {
		return remote{}, err
	}
	pod, err := core.MemberPod(pods, d.member)
	if err != nil {
		return remote{}, err
	}
	security, login, err := AsClient(ctx, w, cluster)
	if err != nil {
		return remote{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	t, err := w.Tunnel(ctx, pod.Name, 0, io.Discard)
	if err != nil {
		cancel()
		return remote{}, fmt.Errorf("%w. No file was written", err)
	}
	client, err := etcd.Open(etcd.Endpoint{URL: core.ClientURL(pod), Address: fmt.Sprintf("localhost:%d", t.Port), Login: login}, security)
	if err != nil {
		cancel()
		return remote{}, fmt.Errorf("%w. No file was written", err)
	}
	return remote{
		store: sender{client, pod.Name}, key: pod.Name, what: "the data of member " + pod.Name, file: backups.FileName(cluster.Name, backups.Stamp(p.Now())),
		close: func() { client.Close(); cancel() },
	}, nil
}

// AsClient returns how etcd is asked: with the certificate of the operators, or of clients, and as the user of the operators if the cluster has one.
func AsClient(ctx context.Context, w *session.World, c v1beta2.EtcdCluster) (security *tls.Config, login *etcd.Login, err error) {
	if c.Spec.TLS.SecureClient() {
		secret, err := certificate(ctx, w, c)
		if err != nil {
			return nil, nil, err
		}
		files, err := core.ClientFiles(c, secret)
		if err != nil {
			return nil, nil, err
		}
		if security, err = etcd.TLSConfig(files[v1beta2.ClientCertKey], files[v1beta2.ClientKeyKey], files[v1beta2.ClientCAKey]); err != nil {
			return nil, nil, fmt.Errorf("the client's certificate in Secret %s cannot be used: %w. No file was written", secret.Name, err)
		}
	}
	name := c.Spec.Auth.OperatorSecretName()
	if name == "" {
		return security, nil, nil
	}
	secret, err := secret(ctx, w, name)
	if err != nil {
		return nil, nil, err
	}
	login, err = etcd.NewLogin(secret.Data[v1beta2.AuthUsernameKey], secret.Data[v1beta2.AuthPasswordKey])
	if err != nil {
		return nil, nil, fmt.Errorf("the user in Secret %s cannot be used: %w. No file was written", secret.Name, err)
	}
	return security, login, nil
}

// certificate reads the Secret with the certificate of the operators, whose user may do everything if authentication is on. A person who may not read it gets that of clients,
// which is enough without authentication.
func certificate(ctx context.Context, w *session.World, c v1beta2.EtcdCluster) (*corev1.Secret, error) {
	found, err := secret(ctx, w, c.Spec.TLS.OperatorSecret(c.Name))
	if c.Spec.TLS.Issued() && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)) {
		return secret(ctx, w, c.Spec.TLS.ClientSecret(c.Name))
	}
	return found, err
}

func secret(ctx context.Context, w *session.World, name string) (*corev1.Secret, error) {
	secret, err := w.Core.CoreV1().Secrets(w.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("Secret %s cannot be read: %w. Nothing was written. You need the right to read it", name, err) //nolint:staticcheck // a kind
	}
	return secret, nil
}

// sender is a store whose one object is the data of a member.
type sender struct {
	client *etcd.Client
	name   string
}

// Get streams the data of the member. It has no manifest.
func (s sender) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if key != s.name {
		return nil, fs.ErrNotExist
	}
	stream, _, err := s.client.Snapshot(ctx)
	return stream, err
}

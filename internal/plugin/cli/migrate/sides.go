package migrate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/snapshots"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

// answerLimit is how long an endpoint may take to say which version it runs.
const answerLimit = 3 * time.Second

// side is an open connection to one of the clusters.
type side struct {
	*etcd.Client
	close func()
}

// sides connects to the two clusters of a migration.
type sides struct {
	p       *session.Session
	w       *session.World
	request moving.Request
	// backup is the EtcdBackup of the source, whose Secrets open it.
	backup client.ObjectKey
	// via is the address by which this machine reaches the endpoints of the source; empty for the endpoints themselves.
	via string
}

func sidesOf(m *migration) sides {
	return sides{m.p, m.w, m.flags.request, m.backup, m.flags.via}
}

// version returns which version the source runs; empty if that is not known.
func (o sides) version(ctx context.Context) string {
	r := o.request
	if r.From != nil {
		return r.From.Status.CurrentVersion
	}
	if r.Archive != nil && r.Archive.Status.EtcdVersion != "" {
		return r.Archive.Status.EtcdVersion
	}
	source, err := o.openSource(ctx)
	if err != nil {
		return ""
	}
	defer source.close()
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	status, err := source.Status(ctx)
	if err != nil {
		return ""
	}
	return status.Version
}

// authenticationOn reports whether the source has authentication on. It is false if that is not known.
func (o sides) authenticationOn(ctx context.Context) bool {
	if o.request.AuthenticationOn() {
		return true
	}
	source, err := o.openSource(ctx)
	if err != nil {
		return false
	}
	defer source.close()
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	read, err := source.Accounts(ctx, nil, nil)
	return read.Enabled || etcd.RefusalOf(err) != etcd.NotRefused
}

// openSource connects to the source: to a member of an EtcdCluster through the API server, and to endpoints from this machine.
func (o sides) openSource(ctx context.Context) (side, error) {
	r := o.request
	if r.From != nil {
		w := *o.w
		w.Namespace = r.From.Namespace
		return o.openCluster(ctx, &w, *r.From)
	}
	spec := v1beta2.EtcdBackupSpec{EtcdEndpoints: r.Endpoints, ClientTLSSecret: r.TLSSecret, ClientAuthSecret: r.AuthSecret}
	if r.Archive != nil {
		spec = r.Archive.Spec
	}
	security, login, err := o.asOperator(ctx, spec)
	if err != nil {
		return side{}, err
	}
	err = errors.New("no endpoint is named")
	for _, endpoint := range spec.EtcdEndpoints {
		var c *etcd.Client
		if c, err = etcd.Open(etcd.Endpoint{URL: endpoint, Address: o.via, Login: login}, security); err != nil {
			continue
		}
		if err = answers(ctx, c); err == nil {
			return side{c, c.Close}, nil
		}
		c.Close()
	}
	return side{}, err
}

func answers(ctx context.Context, c *etcd.Client) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := c.Status(ctx)
	return err
}

// asOperator returns how backup-operator asks the endpoints of an EtcdBackup.
func (o sides) asOperator(ctx context.Context, spec v1beta2.EtcdBackupSpec) (security *tls.Config, login *etcd.Login, err error) {
	read := func(name string) (map[string][]byte, error) {
		secret, err := o.w.Core.CoreV1().Secrets(o.backup.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("Secret %s cannot be read: %w", name, err) //nolint:staticcheck // a kind
		}
		return secret.Data, nil
	}
	if spec.ClientTLSSecret != "" {
		data, err := read(spec.ClientTLSSecret)
		if err != nil {
			return nil, nil, err
		}
		files := tlssecret.Client.Of(data)
		if security, err = etcd.TLSConfig(files[v1beta2.ClientCertKey], files[v1beta2.ClientKeyKey], files[v1beta2.ClientCAKey]); err != nil {
			return nil, nil, fmt.Errorf("the certificate in Secret %s cannot be used: %w", spec.ClientTLSSecret, err)
		}
	}
	if spec.ClientAuthSecret == "" {
		return security, nil, nil
	}
	data, err := read(spec.ClientAuthSecret)
	if err != nil {
		return nil, nil, err
	}
	if at := passwordRefused(spec, string(data["endpoints"]), o.via); at != "" {
		return nil, nil, fmt.Errorf("the password in Secret %s is not sent from this machine to %s, because whatever answers there could read it without TLS", spec.ClientAuthSecret, at)
	}
	login, err = etcd.NewLogin(data[v1beta2.AuthUsernameKey], data[v1beta2.AuthPasswordKey])
	return security, login, err
}

// passwordRefused returns an endpoint that must not get the password. As for backup-operator, the Secret must name an endpoint without TLS. Its name may mean another server
// on this machine than in Kubernetes, so the user must also name the address.
func passwordRefused(spec v1beta2.EtcdBackupSpec, named, via string) string {
	allowed := strings.FieldsFunc(named, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	for _, endpoint := range spec.EtcdEndpoints {
		parsed, err := url.Parse(endpoint)
		overTLS := err == nil && parsed.Scheme == "https" && spec.ClientTLSSecret != ""
		byName := slices.ContainsFunc(allowed, func(by string) bool { return strings.TrimRight(by, "/") == strings.TrimRight(endpoint, "/") })
		if !overTLS && (via == "" || !byName) {
			return endpoint
		}
	}
	return ""
}

// openCluster connects to a member of an EtcdCluster through the API server.
func (o sides) openCluster(ctx context.Context, w *session.World, c v1beta2.EtcdCluster) (side, error) {
	pods, err := w.Pods(ctx, c.Name)
	if err != nil {
		return side{}, err
	}
	pod, err := core.MemberPod(pods, "")
	if err != nil {
		return side{}, err
	}
	security, login, err := snapshots.AsClient(ctx, w, c)
	if err != nil {
		return side{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	address, err := o.reach(ctx, w, pod)
	if err != nil {
		cancel()
		return side{}, err
	}
	member, err := etcd.Open(etcd.Endpoint{URL: core.ClientURL(pod), Address: address, Login: login}, security)
	if err != nil {
		cancel()
		return side{}, err
	}
	return side{member, func() { member.Close(); cancel() }}, nil
}

func (o sides) reach(ctx context.Context, w *session.World, pod corev1.Pod) (string, error) {
	if o.p.Reach != nil {
		return o.p.Reach(pod), nil
	}
	t, err := w.Tunnel(ctx, pod.Name, 0, io.Discard)
	return fmt.Sprintf("localhost:%d", t.Port), err
}

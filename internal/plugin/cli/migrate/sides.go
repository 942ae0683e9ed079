package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/snapshots"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

const (
	// answerLimit is how long an endpoint may take to say which version it runs.
	answerLimit = 3 * time.Second
	// hashLimit is how long a member may take to read its database.
	hashLimit = 5 * time.Minute
	// pageLimit is how many keys are read at once.
	pageLimit = 1000
)

// side is an open connection to one of the clusters.
type side struct {
	*etcd.Client
	close func()
}

// version returns which version the source runs; empty if that is not known.
func (m *migration) version(ctx context.Context) string {
	r := m.flags.request
	if r.From != nil {
		return r.From.Status.CurrentVersion
	}
	if r.Archive != nil && r.Archive.Status.EtcdVersion != "" {
		return r.Archive.Status.EtcdVersion
	}
	source, err := m.openSource(ctx)
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

// openSource connects to the source: to a member of an EtcdCluster through the API server, and to endpoints from this machine.
func (m *migration) openSource(ctx context.Context) (side, error) {
	r := m.flags.request
	if r.From != nil {
		w := *m.w
		w.Namespace = r.From.Namespace
		return m.openCluster(ctx, &w, *r.From)
	}
	spec := v1beta2.EtcdBackupSpec{EtcdEndpoints: r.Endpoints, ClientTLSSecret: r.TLSSecret, ClientAuthSecret: r.AuthSecret}
	if r.Archive != nil {
		spec = r.Archive.Spec
	}
	security, login, err := m.asOperator(ctx, spec)
	if err != nil {
		return side{}, err
	}
	err = errors.New("no endpoint is named")
	for _, endpoint := range spec.EtcdEndpoints {
		var c *etcd.Client
		if c, err = etcd.Open(etcd.Endpoint{URL: endpoint, Address: m.flags.via, Login: login}, security); err != nil {
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
func (m *migration) asOperator(ctx context.Context, spec v1beta2.EtcdBackupSpec) (security *tls.Config, login *etcd.Login, err error) {
	read := func(name string) (map[string][]byte, error) {
		secret, err := m.w.Core.CoreV1().Secrets(m.backup.Namespace).Get(ctx, name, metav1.GetOptions{})
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
	if at := passwordRefused(spec, string(data["endpoints"])); at != "" {
		return nil, nil, fmt.Errorf("the password in Secret %s is not sent to %s, because the server there could read it", spec.ClientAuthSecret, at)
	}
	login, err = etcd.NewLogin(data[v1beta2.AuthUsernameKey], data[v1beta2.AuthPasswordKey])
	return security, login, err
}

// passwordRefused returns an endpoint that must not get the password, as backup-operator decides: without TLS, the Secret must name it.
func passwordRefused(spec v1beta2.EtcdBackupSpec, named string) string {
	allowed := strings.FieldsFunc(named, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	for _, endpoint := range spec.EtcdEndpoints {
		parsed, err := url.Parse(endpoint)
		overTLS := err == nil && parsed.Scheme == "https" && spec.ClientTLSSecret != ""
		if !overTLS && !slices.ContainsFunc(allowed, func(by string) bool { return strings.TrimRight(by, "/") == strings.TrimRight(endpoint, "/") }) {
			return endpoint
		}
	}
	return ""
}

// openCluster connects to a member of an EtcdCluster through the API server.
func (m *migration) openCluster(ctx context.Context, w *session.World, c v1beta2.EtcdCluster) (side, error) {
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
	address, err := m.reach(ctx, w, pod)
	if err != nil {
		cancel()
		return side{}, err
	}
	client, err := etcd.Open(etcd.Endpoint{URL: core.ClientURL(pod), Address: address, Login: login}, security)
	if err != nil {
		cancel()
		return side{}, err
	}
	return side{client, func() { client.Close(); cancel() }}, nil
}

func (m *migration) reach(ctx context.Context, w *session.World, pod corev1.Pod) (string, error) {
	if m.p.Reach != nil {
		return m.p.Reach(pod), nil
	}
	t, err := w.Tunnel(ctx, pod.Name, 0, io.Discard)
	return fmt.Sprintf("localhost:%d", t.Port), err
}

// measured returns what a side has at a revision, without a digest.
func (s side) measured(ctx context.Context, revision int64) (found moving.Side, err error) {
	ctx, cancel := context.WithTimeout(ctx, hashLimit)
	defer cancel()
	if found.Keys, err = s.Count(ctx, revision); err != nil {
		return found, err
	}
	found.Hash, found.Compacted, err = s.HashKV(ctx, revision)
	return found, err
}

// digest returns the digest of all keys at a revision. It reads them all.
func (s side) digest(ctx context.Context, revision int64) (string, error) {
	sum := sha256.New()
	of := etcd.KeyRange{Begin: []byte{0}, End: []byte{0}, Revision: revision, Limit: pageLimit}
	for more := true; more; {
		page, err := s.page(ctx, of)
		switch {
		case errors.Is(err, etcd.ErrPageTooLong) && of.Limit > 1:
			of.Limit /= 2
			continue
		case errors.Is(err, etcd.ErrPageTooLong) && !of.Large:
			of.Large = true
			continue
		case err != nil:
			return "", err
		}
		for _, pair := range page.Keys {
			add(sum, pair)
			of.Begin = append(bytes.Clone(pair.Key), 0)
		}
		more, of.Large, of.Limit = page.More && len(page.Keys) > 0, false, min(2*of.Limit, pageLimit)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (s side) page(ctx context.Context, of etcd.KeyRange) (etcd.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, hashLimit)
	defer cancel()
	return s.Keys(ctx, of)
}

// add adds a key to a digest. The lengths keep two keys apart that are written one after the other.
func add(sum hash.Hash, pair etcd.KeyValue) {
	fmt.Fprintf(sum, "%d %d %d %t ", len(pair.Key), len(pair.Value), pair.ModRevision, pair.Leased)
	sum.Write(pair.Key)
	sum.Write(pair.Value)
}

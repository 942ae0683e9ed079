package servers

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// EtcdOptions describe the etcd cluster to start. The zero value is one member of 3.6.
type EtcdOptions struct {
	Minor string   // such as "3.6"
	Size  int      // number of members
	Args  []string // further flags of every member
	// ArgsOf returns further flags of one member.
	ArgsOf func(member int) []string
	// PeerTLS makes the peer URLs https. The flags must name the certificates.
	PeerTLS bool
	// Client makes the client URLs https, and connects to them. The flags must name the certificates.
	Client *http.Client
}

// EtcdMember is one running member.
type EtcdMember struct {
	*Process
	Name      string
	ClientURL string
	PeerURL   string
	DataDir   string

	client *http.Client
}

// EtcdCluster is a running etcd cluster.
type EtcdCluster struct {
	Members []*EtcdMember
	Token   string
}

// Etcd starts a cluster and waits until every member is healthy.
func Etcd(t testing.TB, opts EtcdOptions) *EtcdCluster {
	t.Helper()
	if opts.Minor == "" {
		opts.Minor = "3.6"
	}
	if opts.Size == 0 {
		opts.Size = 1
	}
	program, peers, clients := EtcdProgram(t, opts.Minor), "http://", "http://"
	if opts.PeerTLS {
		peers = "https://"
	}
	if opts.Client != nil {
		clients = "https://"
	}
	cluster := &EtcdCluster{Token: "test-" + rand.Text()}
	var initial []string
	for i := range opts.Size {
		member := &EtcdMember{
			Name:      fmt.Sprintf("m%d", i),
			ClientURL: clients + FreeAddress(t),
			PeerURL:   peers + FreeAddress(t),
			DataDir:   filepath.Join(t.TempDir(), "data"),
			client:    opts.Client,
		}
		cluster.Members = append(cluster.Members, member)
		initial = append(initial, member.Name+"="+member.PeerURL)
	}
	for i, member := range cluster.Members {
		args := opts.Args
		if opts.ArgsOf != nil {
			args = slices.Concat(args, opts.ArgsOf(i))
		}
		member.Process = member.process(t, program, cluster.Token, strings.Join(initial, ","), args)
		member.Start()
	}
	for _, member := range cluster.Members {
		member.AwaitHealthy()
	}
	return cluster
}

// EtcdFromDataDir starts one member on a restored data directory, with further flags. name, peerURL and
// token must be those of the restore.
func EtcdFromDataDir(t testing.TB, minor, dataDir, name, peerURL, token string, more ...string) *EtcdMember {
	t.Helper()
	member := &EtcdMember{
		Name: name, PeerURL: peerURL, DataDir: dataDir,
		ClientURL: "http://" + FreeAddress(t),
	}
	member.Process = member.process(t, EtcdProgram(t, minor), token, name+"="+peerURL, more)
	member.Start()
	member.AwaitHealthy()
	return member
}

// PeerURL returns a loopback peer URL with a free port.
func PeerURL(t testing.TB) string {
	t.Helper()
	return "http://" + FreeAddress(t)
}

// Endpoints returns the client URLs of all members.
func (c *EtcdCluster) Endpoints() []string {
	var endpoints []string
	for _, member := range c.Members {
		endpoints = append(endpoints, member.ClientURL)
	}
	return endpoints
}

// AwaitHealthy waits until the member has a leader and serves a linearizable read.
func (m *EtcdMember) AwaitHealthy() {
	m.t.Helper()
	m.await("become healthy", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.ClientURL+"/health", nil)
		if err != nil {
			return err
		}
		resp, err := m.http().Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", resp.Status, body)
		}
		return nil
	})
}

// http is the client with which requests reach the member.
func (m *EtcdMember) http() *http.Client { return cmp.Or(m.client, http.DefaultClient) }

func (m *EtcdMember) process(t testing.TB, program, token, initialCluster string, more []string) *Process {
	args := []string{
		"--name", m.Name, "--data-dir", m.DataDir,
		"--listen-client-urls", m.ClientURL, "--advertise-client-urls", m.ClientURL,
		"--listen-peer-urls", m.PeerURL, "--initial-advertise-peer-urls", m.PeerURL,
		"--initial-cluster", initialCluster, "--initial-cluster-token", token,
	}
	return newProcess(t, "etcd-"+m.Name, program, nil, append(args, more...)...)
}

// Become restarts the member with another minor version on the same data. It does not wait until the member is healthy.
func (m *EtcdMember) Become(minor string) {
	m.t.Helper()
	m.Stop()
	m.program = EtcdProgram(m.t, minor)
	m.Start()
}

// AwaitEnd waits until the member ends by itself and returns the end of its log.
func (m *EtcdMember) AwaitEnd() string {
	m.t.Helper()
	select {
	case <-m.ended:
	case <-time.After(startDeadline):
		m.t.Fatalf("%s did not end within %s:\n%s", m.name, startDeadline, m.tail())
	}
	return string(m.tail())
}

// Join starts a further member. Its peer URL must already be in the cluster's member list.
func (c *EtcdCluster) Join(t testing.TB, minor, peerURL string) *EtcdMember {
	t.Helper()
	member := &EtcdMember{
		Name:      fmt.Sprintf("m%d", len(c.Members)),
		ClientURL: "http://" + FreeAddress(t),
		PeerURL:   peerURL,
		DataDir:   filepath.Join(t.TempDir(), "data"),
	}
	c.Members = append(c.Members, member)
	var initial []string
	for _, m := range c.Members {
		initial = append(initial, m.Name+"="+m.PeerURL)
	}
	member.Process = member.process(t, EtcdProgram(t, minor), c.Token, strings.Join(initial, ","), []string{"--initial-cluster-state=existing"})
	member.Start()
	return member
}

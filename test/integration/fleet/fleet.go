package fleet

import (
	"context"
	"crypto/tls"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Fleet is all faked members.
type Fleet struct {
	client client.Reader
	secure bool
	server *grpc.Server
	// health serves the port for metrics and probes.
	health *http.Server

	mu      sync.Mutex
	last    netip.Addr
	members map[string]*member // by IP address
	groups  map[client.ObjectKey]*group
	certs   map[client.ObjectKey]*tls.Certificate
}

// firstAddress is the first of the members. The addresses of package podrunner are below it.
var firstAddress = netip.AddrFrom4([4]byte{127, 100, 0, 1})

// newFleet starts the server. It ends with the test. c reads the Secrets with the members' certificates.
func newFleet(t testing.TB, c client.Reader, secure bool) *Fleet {
	f := &Fleet{
		client: c, secure: secure, last: firstAddress,
		members: map[string]*member{}, groups: map[client.ObjectKey]*group{}, certs: map[client.ObjectKey]*tls.Certificate{},
	}
	var options []grpc.ServerOption
	if secure {
		options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: f.certificate})))
	}
	f.server = grpc.NewServer(options...)
	answers := &etcdServer{fleet: f}
	etcdserverpb.RegisterKVServer(f.server, answers)
	etcdserverpb.RegisterClusterServer(f.server, answers)
	etcdserverpb.RegisterMaintenanceServer(f.server, answers)
	t.Cleanup(f.server.Stop)
	f.health = &http.Server{Handler: http.HandlerFunc(f.serveHealth), ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = f.health.Close() })
	return f
}

func (f *Fleet) scheme() string {
	if f.secure {
		return "https"
	}
	return "http"
}

// certificate reads the certificate of the member that a client dialled.
func (f *Fleet) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	m := f.at(hello.Conn.LocalAddr())
	if m == nil {
		return nil, fmt.Errorf("no member has the address %s", hello.Conn.LocalAddr())
	}
	key := client.ObjectKey{Namespace: m.group.namespace, Name: m.group.cluster + v1beta2.ServerSecretSuffix}
	f.mu.Lock()
	known := f.certs[key]
	f.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var secret corev1.Secret
	if err := f.client.Get(hello.Context(), key, &secret); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	}
	pair, err := tls.X509KeyPair(secret.Data[v1beta2.ServerCertKey], secret.Data[v1beta2.ServerKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read the certificate in Secret %s: %w", key, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.certs[key] = &pair
	return &pair, nil
}

// at returns the member with an address.
func (f *Fleet) at(address net.Addr) *member {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[host]
}

// start starts the member of a Pod, and returns its address.
func (f *Fleet) start(ctx context.Context, pod *corev1.Pod) (string, error) {
	f.mu.Lock()
	f.last = f.last.Next()
	address := f.last.String()
	key := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[v1beta2.LabelCluster]}
	g := f.groups[key]
	if g == nil {
		g = &group{namespace: key.Namespace, cluster: key.Name, id: hash(key.String()), entries: map[string]*entry{}, running: map[string]*member{}}
		f.groups[key] = g
	}
	f.mu.Unlock()
	tcp, err := new(net.ListenConfig).Listen(ctx, "tcp4", fmt.Sprintf("%s:%d", address, v1beta2.ClientPort))
	if err != nil {
		return "", fmt.Errorf("start member %s: %w", pod.Name, err)
	}
	probes, err := new(net.ListenConfig).Listen(ctx, "tcp4", fmt.Sprintf("%s:%d", address, v1beta2.MetricsPort))
	if err != nil {
		return "", fmt.Errorf("start member %s: %w", pod.Name, err)
	}
	_, tag, _ := strings.Cut(pod.Spec.Containers[0].Image, ":v")
	m := &member{name: pod.Name, address: address, group: g, version: tag, probes: probes}
	l := &listener{Listener: tcp, member: m}
	m.listener = l
	g.join(m, initialCluster(pod))
	f.mu.Lock()
	f.members[address] = m
	f.mu.Unlock()
	go func() { _ = f.server.Serve(l) }() // until the listener is closed
	go func() { _ = f.health.Serve(probes) }()
	return address, nil
}

// serveHealth answers /health as etcd does.
func (f *Fleet) serveHealth(w http.ResponseWriter, request *http.Request) {
	local, _ := request.Context().Value(http.LocalAddrContextKey).(net.Addr)
	m := f.at(local)
	switch {
	case request.URL.Path != "/health":
		http.NotFound(w, request)
	case m == nil || m.silent.Load():
		<-request.Context().Done()
	default:
		m.group.checked()
		if m.group.leader() == "" {
			http.Error(w, `{"health":"false","reason":"RAFT NO LEADER"}`, http.StatusServiceUnavailable)
		}
	}
}

// join adds a member that has started. peers are the members of a new cluster, and its first ones are all voters.
func (g *group) join(m *member, peers []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.entries) == 0 {
		for _, name := range append(peers, m.name) {
			g.entries[name] = &entry{id: hash(name)}
		}
	}
	if e := g.entries[m.name]; e != nil {
		e.started = true
	}
	g.running[m.name] = m
}

// stop ends the member with an address.
func (f *Fleet) stop(address string) {
	f.mu.Lock()
	m := f.members[address]
	delete(f.members, address)
	f.mu.Unlock()
	if m == nil {
		return
	}
	m.group.mu.Lock()
	if m.group.running[m.name] == m {
		delete(m.group.running, m.name)
	}
	m.group.mu.Unlock()
	_ = m.listener.Close()
	_ = m.probes.Close()
}

// Silence makes one member of each cluster silent, or lets it answer again.
func (f *Fleet) Silence(cluster client.ObjectKey, silent bool) {
	f.mu.Lock()
	g := f.groups[cluster]
	f.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	last := ""
	for name := range g.running {
		last = max(last, name)
	}
	g.running[last].silent.Store(silent)
}

// Looks are what the operator did to the members of all clusters.
type Looks struct {
	// Dials are connections for clients, Asked are requests for a status, and Checked are requests for the health.
	Dials, Asked, Checked int
}

// Count returns the Looks since the start.
func (f *Fleet) Count() Looks {
	f.mu.Lock()
	defer f.mu.Unlock()
	var total Looks
	for _, g := range f.groups {
		g.mu.Lock()
		total.Dials, total.Asked, total.Checked = total.Dials+g.dials, total.Asked+g.looks, total.Checked+g.checks
		g.mu.Unlock()
	}
	return total
}

// NotLookedAt returns the clusters of which no member was asked since a time.
func (f *Fleet) NotLookedAt(since time.Time) []client.ObjectKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	var missed []client.ObjectKey
	for key, g := range f.groups {
		g.mu.Lock()
		if g.looked.Before(since) {
			missed = append(missed, key)
		}
		g.mu.Unlock()
	}
	return missed
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

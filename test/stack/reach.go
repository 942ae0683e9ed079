package stack

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Address returns an address at which this machine reaches a Service's port: the cluster IP on the local Kubernetes, a
// forwarded port on another one. The address is valid until ctx ends.
func (s *Stack) Address(ctx context.Context, namespace, service string, port int32) (string, error) {
	if s.Local == nil {
		return s.forward(ctx, namespace, service, port)
	}
	var found corev1.Service
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: service}, &found); err != nil {
		return "", fmt.Errorf("read Service %s/%s: %w", namespace, service, err)
	}
	return found.Spec.ClusterIP + ":" + strconv.Itoa(int(port)), nil
}

var forwarding = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+)`)

func (s *Stack) forward(ctx context.Context, namespace, service string, port int32) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(s.bin, "kubectl"), "-n", namespace, "port-forward", "svc/"+service, fmt.Sprintf(":%d", port))
	command.Env = s.env
	output, err := command.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("forward to %s: %w", service, err)
	}
	if err := command.Start(); err != nil {
		return "", fmt.Errorf("forward to %s: %w", service, err)
	}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if found := forwarding.FindStringSubmatch(lines.Text()); found != nil {
			go func() { _ = command.Wait() }()
			return found[1], nil
		}
	}
	return "", fmt.Errorf("forward to %s: kubectl printed no address: %w", service, command.Wait())
}

// Etcd returns a client of the cluster behind a client Service. A nil config means plain HTTP.
func (s *Stack) Etcd(ctx context.Context, namespace, cluster string, config *tls.Config) (*clientv3.Client, error) {
	return s.EtcdAs(ctx, namespace, cluster, config, "", "")
}

// ClientTLS reads the Secret that a cluster with TLS.managed has for its clients.
func (s *Stack) ClientTLS(ctx context.Context, namespace, cluster string) (*tls.Config, error) {
	var secret corev1.Secret
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster + v1beta2.ClientSecretSuffix}, &secret); err != nil {
		return nil, fmt.Errorf("read the certificate of clients: %w", err)
	}
	config, err := etcd.TLSConfig(secret.Data[v1beta2.ClientCertKey], secret.Data[v1beta2.ClientKeyKey], secret.Data[v1beta2.ClientCAKey])
	if err != nil {
		return nil, fmt.Errorf("use Secret %s: %w", secret.Name, err)
	}
	return config, nil
}

// EtcdAs is Etcd for a user with a password, if the name is not empty.
func (s *Stack) EtcdAs(ctx context.Context, namespace, cluster string, config *tls.Config, user, password string) (*clientv3.Client, error) {
	address, err := s.Address(ctx, namespace, cluster+"-client", 2379)
	if err != nil {
		return nil, err
	}
	scheme := "http"
	if config != nil {
		scheme = "https"
	}
	connected, err := clientv3.New(clientv3.Config{
		// TLS verifies the certificate against this name; the dialer below connects to the address.
		Endpoints: []string{scheme + "://" + cluster + "-client." + namespace + ".svc:2379"},
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}),
			// The kernel accepts connections for a member that hangs. gRPC would wait 20 s for it, and then choose again.
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 3 * time.Second})},
		TLS:                  config,
		Username:             user,
		Password:             password,
		DialTimeout:          5 * time.Second,
		DialKeepAliveTime:    2 * time.Second,
		DialKeepAliveTimeout: 2 * time.Second,
		Logger:               zap.NewNop(),
		Context:              ctx,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", address, err)
	}
	return connected, nil
}

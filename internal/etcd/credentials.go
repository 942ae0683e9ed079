package etcd

import (
	"context"
	"crypto/tls"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// Credentials are those for an endpoint, as in etcd's client, whose errors have no names of the server's certificate.
func Credentials(endpoint string, config *tls.Config) credentials.TransportCredentials {
	if config == nil || !strings.HasPrefix(endpoint, "https:") {
		return insecure.NewCredentials()
	}
	return legibly{credentials.NewTLS(config)}
}

type legibly struct {
	credentials.TransportCredentials
}

func (l legibly) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := l.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if about := legible.Certificate(err); about != nil {
		err = about
	}
	return secured, info, err
}

func (l legibly) Clone() credentials.TransportCredentials {
	return legibly{l.TransportCredentials.Clone()}
}

package command

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

const (
	// PeerTLSDir is where the certificates for peers are mounted.
	PeerTLSDir = "/etc/etcdtls/member/peer-tls"
	// ServerTLSDir is where the certificates for clients are mounted.
	ServerTLSDir = "/etc/etcdtls/member/server-tls"
	// PeerCertFlag is the flag with the certificate for peers.
	PeerCertFlag = "--peer-cert-file="
	// PeerNameFlag is the flag with the name that certificates of peers must have.
	PeerNameFlag = "--peer-cert-allowed-hostname="
	// ClientNameFlag is the flag with the name that certificates of clients must have.
	ClientNameFlag = "--client-cert-allowed-hostname="
	// ServerCertFlag is the flag with the certificate for clients.
	ServerCertFlag = "--cert-file="
)

// TLSOf reads from a container's command whether its etcd talks TLS to members and to clients.
func TLSOf(command []string) (peer, client bool) {
	for _, arg := range command {
		peer = peer || strings.HasPrefix(arg, PeerCertFlag)
		client = client || strings.HasPrefix(arg, ServerCertFlag)
	}
	return peer, client
}

// ChecksName reads from a container's command whether its etcd checks a name in certificates, as the operator asks for.
func ChecksName(command []string, flag string) bool {
	return slices.ContainsFunc(command, func(arg string) bool { return strings.HasPrefix(arg, flag) })
}

func tlsArgs(s state.State, incarnation int32) []string {
	var args []string
	if s.Spec.TLS.SecurePeer() {
		args = append(args,
			"--peer-client-cert-auth=true",
			"--peer-trusted-ca-file="+PeerTLSDir+"/"+v1beta2.PeerCAKey,
			PeerCertFlag+PeerTLSDir+"/"+v1beta2.PeerCertKey,
			"--peer-key-file="+PeerTLSDir+"/"+v1beta2.PeerKeyKey,
		)
	}
	if certificates.ChecksPeers(s, incarnation) {
		args = append(args, PeerNameFlag+state.PeerHostname(s))
	}
	if s.Spec.TLS.SecureClient() {
		args = append(args,
			"--client-cert-auth=true",
			"--trusted-ca-file="+ServerTLSDir+"/"+v1beta2.ServerCAKey,
			ServerCertFlag+ServerTLSDir+"/"+v1beta2.ServerCertKey,
			"--key-file="+ServerTLSDir+"/"+v1beta2.ServerKeyKey,
		)
	}
	if certificates.ChecksClients(s) {
		args = append(args, ClientNameFlag+state.ClientHostname(s))
	}
	return args
}

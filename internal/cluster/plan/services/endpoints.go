package services

import (
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// MaxOutside is how many addresses of a load balancer the operator reads. Most have one or two.
const MaxOutside = 16

// Endpoints are the addresses of the client Service, for clients in this Kubernetes and outside; nil if it does not exist.
func Endpoints(s state.State) *v1beta2.EndpointsStatus {
	if !s.Services.ClientExists {
		return nil
	}
	out := &v1beta2.EndpointsStatus{
		Internal: []string{endpoint(s, s.ClientService()+"."+s.Namespace+".svc")},
		NodePort: s.Services.NodePort,
	}
	var unnamed []string
	for _, address := range s.Services.Outside {
		if named(s, address) {
			out.External = append(out.External, endpoint(s, address))
		} else {
			unnamed = append(unnamed, address)
		}
	}
	if len(s.Services.Outside) > 0 {
		out.External = append(out.External, namesOutside(s)...)
	}
	if len(unnamed) > 0 && len(out.External) == 0 {
		out.Message = fmt.Sprintf("The load balancer has the address %s, but the certificates of members do not: write it, or a DNS name for it, into %s.",
			strings.Join(unnamed, ", "), extraNamesField(s))
	}
	return out
}

// named reports whether clients outside can connect to an address: without TLS, or if the certificates that the operator writes have it.
// The operator does not know for which names your own certificate is good.
func named(s state.State, address string) bool {
	if extraNamesField(s) == "" {
		return true
	}
	usage := state.Usages[slices.IndexFunc(state.Usages, func(u state.Usage) bool { return u.Name == "server" })]
	asked := state.CertificateRequest(s, usage)
	certificate := x509.Certificate{DNSNames: asked.DNSNames, IPAddresses: asked.Addresses}
	return certificate.VerifyHostname(address) == nil
}

// namesOutside are the endpoints with the DNS names that the spec adds to the certificates. A wildcard is no address.
func namesOutside(s state.State) (out []string) {
	for _, name := range s.Spec.TLS.ExtraNames() {
		if net.ParseIP(name) == nil && !strings.HasPrefix(name, "*") && !slices.Contains(s.Services.Outside, name) {
			out = append(out, endpoint(s, name))
		}
	}
	return out
}

// extraNamesField is where the spec adds names to the certificates that the operator writes; empty if it writes none.
func extraNamesField(s state.State) string {
	switch tls := s.Spec.TLS; {
	case tls != nil && tls.Managed != nil:
		return "spec.TLS.managed.extraNames"
	case tls != nil && tls.CertManager != nil:
		return "spec.TLS.certManager.extraNames"
	}
	return ""
}

func endpoint(s state.State, host string) string {
	scheme := "http"
	if s.Spec.TLS.SecureClient() {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(v1beta2.ClientPort)))
}

package state

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// SetExpiry sets when the first of the certificates in PEM texts expires.
func (c *Certificates) SetExpiry(texts ...[]byte) {
	c.Expires, c.Lifetime = time.Time{}, 0
	if first := pki.FirstToExpire(texts...); first != nil {
		c.Expires, c.Lifetime = first.NotAfter, first.NotAfter.Sub(first.NotBefore)
	}
}

// Usages are all of them.
var Usages = []Usage{
	{"peer", v1beta2.PeerSecretSuffix, v1beta2.PeerCertKey, v1beta2.PeerKeyKey, v1beta2.PeerCAKey, "-peer"},
	{"server", v1beta2.ServerSecretSuffix, v1beta2.ServerCertKey, v1beta2.ServerKeyKey, v1beta2.ServerCAKey, "-server"},
	{"client", v1beta2.ClientSecretSuffix, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, "-client"},
	{OperatorUsage, v1beta2.OperatorSecretSuffix, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, "-operator"},
}

const (
	// OperatorUsage is the usage of the certificate with which the operators connect.
	OperatorUsage = "operator"
	// RootUser may do everything if etcd's authentication is on. etcd takes the common name of a certificate as the user.
	RootUser = "root"
	// DefaultClientName is the common name of the clients' certificate, as api/v1beta2 documents it.
	DefaultClientName = "client"
)

// Vital says whether a cluster cannot start without the certificate. Clusters of an earlier release have none of the operator.
func (u Usage) Vital() bool { return u.Name != OperatorUsage }

// CertificateRequest says what the certificate of a usage must hold.
func CertificateRequest(s State, u Usage) pki.Request {
	domain := CertifiedDomain(s)
	members := "*." + s.Name + "." + s.Namespace + ".svc"
	service := s.ClientService() + "." + s.Namespace + ".svc"
	local := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	switch u.Name {
	case "peer":
		return pki.Request{CommonName: s.Name + "-peer", DNSNames: []string{members, members + domain}, Server: true, Client: true}
	case "server":
		names, addresses := extraNames(s)
		return pki.Request{
			CommonName: s.Name + "-server",
			DNSNames: append([]string{
				members, members + domain, service, service + domain,
				s.ClientService(), s.ClientService() + "." + s.Namespace, "localhost",
			}, names...),
			Addresses: append(local, addresses...),
			// etcd's own gateway is a client of its server, with the server's certificate.
			Server: true, Client: true,
		}
	}
	client := pki.Request{CommonName: cmp.Or(s.ClientName, s.Spec.TLS.ClientCommonName(), DefaultClientName), Client: true}
	if u.Name == OperatorUsage {
		client.CommonName = RootUser
	}
	if s.NamedClients || WantsClientNames(s) {
		client.DNSNames = []string{ClientHostname(s)}
	}
	return client
}

// UserRequest is what the certificate of a user must hold: what that of clients has, with the name of the user.
func UserRequest(s State, user string) pki.Request {
	request := CertificateRequest(s, Usage{Name: "client"})
	request.CommonName = user
	return request
}

// extraNames are the DNS names and addresses at which clients outside of Kubernetes reach the members, as the spec says.
func extraNames(s State) (names []string, addresses []net.IP) {
	for _, name := range s.Spec.TLS.ExtraNames() {
		if address := net.ParseIP(name); address != nil {
			addresses = append(addresses, address)
		} else {
			names = append(names, name)
		}
	}
	return names, addresses
}

// Defaults of TLS.managed and TLS.certManager, as api/v1beta2 documents them.
const (
	defaultDuration      = 90 * 24 * time.Hour
	defaultRenewBefore   = 30 * 24 * time.Hour
	defaultCADuration    = 10 * 365 * 24 * time.Hour
	defaultCARenewBefore = 365 * 24 * time.Hour
	DefaultCAOverlap     = 24 * time.Hour
)

// Validity returns for how long certificates and CAs are valid, and when they are renewed.
func Validity(s State) validity {
	v := validity{defaultDuration, defaultRenewBefore, defaultCADuration, defaultCARenewBefore, DefaultCAOverlap}
	if s.Spec.TLS.Managed == nil {
		if c := s.Spec.TLS.CertManager; c != nil && c.CAOverlap != nil {
			v.CaOverlap = c.CAOverlap.Duration
		}
		return v
	}
	m := s.Spec.TLS.Managed
	if m.Duration != nil {
		v.Duration = m.Duration.Duration
	}
	if m.RenewBefore != nil {
		v.RenewBefore = m.RenewBefore.Duration
	}
	if m.CADuration != nil {
		v.CADuration = m.CADuration.Duration
	}
	if m.CARenewBefore != nil {
		v.CaRenewBefore = m.CARenewBefore.Duration
	}
	if m.CAOverlap != nil {
		v.CaOverlap = m.CAOverlap.Duration
	}
	return v
}

// DueBy says why a certificate must be replaced because of its age, or returns an empty text. A certificate that expires
// together with its CA is kept: a new one would expire at the same time.
func (v validity) DueBy(end, authority, now time.Time) string {
	if now.Before(end.Add(-v.RenewBefore)) || !authority.After(end.Add(pki.Backdate)) {
		return ""
	}
	return fmt.Sprintf("it expires at %s", end.UTC().Format(time.RFC3339))
}

// TrustOf is the fingerprint of what members trust: peers and clients may have different CAs.
func TrustOf(peer, server []byte) string {
	prints := []string{pki.ParseBundle(peer).Fingerprint(), pki.ParseBundle(server).Fingerprint()}
	if prints[0] == prints[1] {
		return prints[0]
	}
	return strings.Join(prints, "-")
}

// ClocksDiffer reports whether the clock of the operator and that of the API server differ.
func ClocksDiffer(s State) bool { return s.ServerAhead != 0 }

// ServerNow is the time of the API server if the clocks differ. Otherwise these three are all Now.
func ServerNow(s State) time.Time { return s.Now.Add(s.ServerAhead) }

// EarlierNow is the time of the clock that is behind.
func EarlierNow(s State) time.Time { return s.Now.Add(min(s.ServerAhead, 0)) }

// LaterNow is the time of the clock that is ahead.
func LaterNow(s State) time.Time { return s.Now.Add(max(s.ServerAhead, 0)) }

// Stamp is the time that is recorded as the beginning of a wait after which something is removed. It is never before the true time if one of the
// clocks is right.
func Stamp(s State) time.Time { return LaterNow(s) }

// FromEarlier is a validity that begins at earlierNow, and lasts as long as it should by the clock of the API server.
func FromEarlier(s State, validity time.Duration) time.Duration {
	return validity + max(s.ServerAhead, 0)
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// WhyExpired says that a certificate in use has expired, and why no other one replaces it, as sentences that follow others. It is empty if none has.
func WhyExpired(s State) string {
	c := s.Certificates
	if c.Expires.IsZero() || EarlierNow(s).Before(c.Expires) {
		return ""
	}
	said := " A certificate in the TLS Secrets expired at " + c.Expires.UTC().Format(time.RFC3339) + ". Members, clients and operators that use it are refused when they connect."
	if !s.Spec.TLS.Issued() {
		return said + " Put valid certificates into the Secrets."
	}
	for _, why := range []string{c.CA.Broken, c.Unissued, c.IssuerRefused} {
		if why != "" {
			said += " " + why
		}
	}
	return said
}

// ReportEarly records a message of earlyIssued, unless a certificate is missing altogether.
func (c *Certificates) ReportEarly(message string) { c.Report(message, v1beta2.ReasonClockSkew) }

// Report records why a certificate that cert-manager has issued is not used.
func (c *Certificates) Report(message, reason string) {
	if message != "" && c.Unissued == "" {
		c.Unissued, c.UnissuedReason = message, reason
	}
}

// TrustsOldCA says whether a member was started with other CAs than its Secrets hold now.
func TrustsOldCA(s State, m Member) bool {
	return s.Certificates.Trust != "" && m.Trust != s.Certificates.Trust
}

// Guarded says whether a quorum serves, and tells the operator nothing because etcd's authentication is on.
func Guarded(s State) bool {
	return s.Formed() && !s.MembershipKnown && slices.ContainsFunc(s.Current(), func(m Member) bool { return m.Guarded && m.InService })
}

// Refusal is why members of an incarnation refuse the operator.
func Refusal(s State, incarnation int32) etcd.Refusal {
	for _, m := range OfIncarnation(s, incarnation) {
		if m.Refusal != etcd.NotRefused && !m.Learner {
			return m.Refusal
		}
	}
	return etcd.NotRefused
}

package plan

import (
	"cmp"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Certificates is how the certificates of a cluster stand. It holds no key and no certificate.
type Certificates struct {
	// Trust is the fingerprint of the CAs in the Secrets that members mount. It is empty without TLS. etcd reads the CAs
	// only when it starts.
	Trust string
	// Loaded is the fingerprint of the certificates in those Secrets, which etcd reads for each connection.
	Loaded string
	// Refusing are the fingerprints of CAs in the Secrets that did not sign the certificate of the operator, with spaces between. A member that
	// was started with one of these sets refuses it. Wanted is the fingerprint of the CAs that sign now.
	Refusing, Wanted string
	// RefusingExpired: all of those CAs have expired, so to put them back would not help.
	RefusingExpired bool
	// PeerLacksName: the certificate of peers does not cover PeerHostname. That is so for static certificates only.
	PeerLacksName bool
	// ClientsLackName: a certificate of clients does not cover ClientHostname. CheckClientsAfter is when clients have had the time to load
	// one that does. It is zero if they need none.
	ClientsLackName   bool
	CheckClientsAfter time.Time
	// Expires is when the first of the certificates of members and clients expires, and Lifetime how long that one is valid in
	// all. They are zero without TLS.
	Expires  time.Time
	Lifetime time.Duration

	// The fields below are for certificates that the operator writes (TLS.managed, TLS.certManager).

	// Foreign is the message about a Secret or Certificate of the same name that another owner has.
	Foreign string
	// Taken is the Secret or Certificate for the operator's own certificate, if another owner has it.
	Taken string
	// CA is the cluster's own certificate authority, for TLS.managed.
	CA CertificateAuthority
	// Requested: the Certificates of cert-manager are as they should be.
	Requested bool
	// Unissued is the message about a certificate that cert-manager has not issued, with the API's reason.
	Unissued, UnissuedReason string
	// IssuerRefused is the message about an issuer of cert-manager that the administrator does not allow. The operator then creates and
	// changes no Certificate.
	IssuerRefused string
	// Operator: the operator has a certificate of its own. Without one it uses that of clients.
	Operator bool
	// Missing: not all Secrets of members and clients are there. Lacking: the certificate of one that is missing is not issued, so it
	// cannot be written now.
	Missing, Lacking bool
	// Due names a certificate that must be replaced now, and the cause. It is empty if there is none.
	Due string
	// Urgent: the clocks differ, and certificates cannot wait until they agree.
	Urgent bool
	// Unknown: a CA that signs certificates is not in the members' Secrets yet.
	Unknown bool
	// Outdated: certificates are signed by a CA that is being replaced. They may be replaced after SwitchAfter.
	Outdated    bool
	SwitchAfter time.Time
	// Unjudged means that the certificates would need more checks of signatures than one pass does. The other fields may be wrong.
	Unjudged bool
	// Superseded: the members' Secrets hold CAs that sign no certificate any more. They may be removed after DropAfter.
	Superseded bool
	DropAfter  time.Time
}

// SetExpiry sets when the first of the certificates in PEM texts expires.
func (c *Certificates) SetExpiry(texts ...[]byte) {
	c.Expires, c.Lifetime = time.Time{}, 0
	if first := pki.FirstToExpire(texts...); first != nil {
		c.Expires, c.Lifetime = first.NotAfter, first.NotAfter.Sub(first.NotBefore)
	}
}

// CertificateAuthority is the state of the cluster's own CA.
type CertificateAuthority struct {
	// Exists: its Secret exists. Broken is the message about an invalid one.
	Exists bool
	Broken string
	// ReplaceCause says why a new CA must replace it. It is empty if that is not needed.
	ReplaceCause string
	// Invalid: no member or client accepts what it signs now, because it has expired or is not valid yet. The same is true of the previous one.
	Invalid bool
	// Previous: the one before it is still kept.
	Previous bool
}

// Usage is one of the four things that certificates are for.
type Usage struct {
	Name string
	// suffix of the Secret's name after the cluster's, and the keys in it.
	Suffix, certKey, keyKey, caKey string
	// certificate is the suffix of the name of cert-manager's Certificate.
	Certificate string
}

// Usages are all of them.
var Usages = []Usage{
	{"peer", v1beta2.PeerSecretSuffix, v1beta2.PeerCertKey, v1beta2.PeerKeyKey, v1beta2.PeerCAKey, "-peer"},
	{"server", v1beta2.ServerSecretSuffix, v1beta2.ServerCertKey, v1beta2.ServerKeyKey, v1beta2.ServerCAKey, "-server"},
	{"client", v1beta2.ClientSecretSuffix, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, "-client"},
	{operatorUsage, v1beta2.OperatorSecretSuffix, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, "-operator"},
}

const (
	operatorUsage = "operator"
	// rootUser may do everything if etcd's authentication is on. etcd takes the common name of a certificate as the user.
	rootUser = "root"
	// defaultClientName is the common name of the clients' certificate, as api/v1beta2 documents it.
	defaultClientName = "client"
)

// Vital says whether a cluster cannot start without the certificate. Clusters of an earlier release have none of the operator.
func (u Usage) Vital() bool { return u.Name != operatorUsage }

// TakenByAnother is the message about an object with a name that the cluster needs.
func TakenByAnother(object string) string {
	return object + " exists, but this EtcdCluster does not own it. The operator does not change it. Delete or rename it."
}

// CertificateRequest says what the certificate of a usage must hold.
func (s State) CertificateRequest(u Usage) pki.Request {
	domain := s.certifiedDomain()
	members := "*." + s.Name + "." + s.Namespace + ".svc"
	service := s.ClientService() + "." + s.Namespace + ".svc"
	local := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	switch u.Name {
	case "peer":
		return pki.Request{CommonName: s.Name + "-peer", DNSNames: []string{members, members + domain}, Server: true, Client: true}
	case "server":
		names, addresses := s.extraNames()
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
	client := pki.Request{CommonName: cmp.Or(s.ClientName, s.Spec.TLS.ClientCommonName(), defaultClientName), Client: true}
	if u.Name == operatorUsage {
		client.CommonName = rootUser
	}
	if s.NamedClients || s.wantsClientNames() {
		client.DNSNames = []string{s.ClientHostname()}
	}
	return client
}

// extraNames are the DNS names and addresses at which clients outside of Kubernetes reach the members, as the spec says.
func (s State) extraNames() (names []string, addresses []net.IP) {
	for _, name := range s.Spec.TLS.ExtraNames() {
		if address := net.ParseIP(name); address != nil {
			addresses = append(addresses, address)
		} else {
			names = append(names, name)
		}
	}
	return names, addresses
}

// operatorSecret is the Secret with which the operators connect to members.
func (s State) operatorSecret() string {
	if s.Spec.TLS.Issued() && !s.Certificates.Operator {
		return ""
	}
	return s.Spec.TLS.OperatorSecret(s.Name)
}

// Defaults of TLS.managed and TLS.certManager, as api/v1beta2 documents them.
const (
	defaultDuration      = 90 * 24 * time.Hour
	defaultRenewBefore   = 30 * 24 * time.Hour
	defaultCADuration    = 10 * 365 * 24 * time.Hour
	defaultCARenewBefore = 365 * 24 * time.Hour
	defaultCAOverlap     = 24 * time.Hour
)

// validity is how long certificates of TLS.managed are good for, and when they are replaced.
type validity struct{ duration, renewBefore, CADuration, caRenewBefore, caOverlap time.Duration }

func (s State) Validity() validity {
	v := validity{defaultDuration, defaultRenewBefore, defaultCADuration, defaultCARenewBefore, defaultCAOverlap}
	if s.Spec.TLS.Managed == nil {
		if c := s.Spec.TLS.CertManager; c != nil && c.CAOverlap != nil {
			v.caOverlap = c.CAOverlap.Duration
		}
		return v
	}
	m := s.Spec.TLS.Managed
	if m.Duration != nil {
		v.duration = m.Duration.Duration
	}
	if m.RenewBefore != nil {
		v.renewBefore = m.RenewBefore.Duration
	}
	if m.CADuration != nil {
		v.CADuration = m.CADuration.Duration
	}
	if m.CARenewBefore != nil {
		v.caRenewBefore = m.CARenewBefore.Duration
	}
	if m.CAOverlap != nil {
		v.caOverlap = m.CAOverlap.Duration
	}
	return v
}

// dueBy says why a certificate must be replaced because of its age, or returns an empty text. A certificate that expires
// together with its CA is kept: a new one would expire at the same time.
func (v validity) dueBy(end, authority, now time.Time) string {
	if now.Before(end.Add(-v.renewBefore)) || !authority.After(end.Add(pki.Backdate)) {
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

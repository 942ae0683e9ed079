package state

import (
	"fmt"
	"time"
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
	// Incomplete says why the keys of its Secret that are for others must be written. It is empty if that is not needed.
	Incomplete string
}

// Usage is one of the four things that certificates are for.
type Usage struct {
	Name string
	// suffix of the Secret's name after the cluster's, and the keys in it.
	Suffix, CertKey, KeyKey, CaKey string
	// certificate is the suffix of the name of cert-manager's Certificate.
	Certificate string
}

// validity is how long certificates of TLS.managed are good for, and when they are replaced.
type validity struct{ Duration, RenewBefore, CADuration, CaRenewBefore, CaOverlap time.Duration }

// CertManagerGroup is the API group of cert-manager.
const CertManagerGroup = "cert-manager.io"

// everyName is the name of an AllowedIssuer that allows all issuers of its kind.
const everyName = "*"

// AllowedIssuer is an issuer of cert-manager that EtcdClusters may name.
type AllowedIssuer struct{ Kind, Group, Name string }

func (i AllowedIssuer) Allows(other AllowedIssuer) bool {
	return i.Kind == other.Kind && i.Group == other.Group && (i.Name == everyName || i.Name == other.Name)
}

func (i AllowedIssuer) String() string {
	if i.Group == CertManagerGroup {
		return i.Kind + "/" + i.Name
	}
	return i.Kind + "." + i.Group + "/" + i.Name
}

// UntilExpiry says how long a cluster continues if no certificate is issued.
func (c Certificates) UntilExpiry() string {
	return fmt.Sprintf(" The cluster continues with the certificates that it has. The first of them expires at %s.", c.Expires.UTC().Format(time.RFC3339))
}

// UserCertificates are those of users of spec.auth. Due must be written, and Outdated when all members trust the CA that signed the next one. Taken are
// the Secrets and Certificates that another owner has. Unread says of Secrets why they could not be read.
type UserCertificates struct {
	Due, Outdated []UserCertificate
	Taken, Unread []string
	// Requests are the users whose Certificate of cert-manager is missing or differs from the spec. Left are those that left the spec and still have
	// one, and Gone those that have none any more. Unissued says why cert-manager has issued no certificate that can be used.
	Requests, Left, Gone, Unissued []string
	// Urgent: the clocks differ, and one of Due cannot wait until they agree.
	Urgent bool
}

// UserCertificate is a certificate of a user that must be written. Cause says why.
type UserCertificate struct{ User, Cause string }

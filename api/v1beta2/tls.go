package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TLSPolicy decides where the certificates of members and clients come from. Write at most one of static, managed and
// certManager. Without any of them all traffic is plain text.
//
// +kubebuilder:validation:XValidation:rule="[has(self.static), has(self.managed), has(self.certManager)].filter(given, given).size() <= 1",message="certificates can have only one source: write one of static, managed and certManager"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptClients) || has(self.managed) || has(self.certManager) || has(self.static) && has(self.static.operatorSecret) && self.static.operatorSecret.size() > 0",message="acceptClients needs TLS for clients: write managed, certManager, or static with operatorSecret"
type TLSPolicy struct {
	// Certificates in Secrets that you provide and renew. An empty name of a Secret means no Secret.
	// +optional
	Static *StaticTLS `json:"static,omitempty"`
	// Certificates that the operator issues and rotates with a CA of this cluster only. All keys are ECDSA P-256.
	// Write {} to use all defaults. Lifetimes have the units h, m and s.
	// +optional
	Managed *ManagedTLS `json:"managed,omitempty"`
	// Certificates that cert-manager issues and renews, and that the operator passes to the members. The operator
	// creates the Certificates <cluster>-peer, -server, -client and -operator. The issuer must write one
	// CA for all of them into ca.crt of the Secrets. CA, Vault and Venafi issuers do that. SelfSigned and ACME issuers do
	// not.
	// +optional
	CertManager *CertManagerTLS `json:"certManager,omitempty"`
	// Which client certificates members accept. CA: each one that a CA of theirs signed. Cluster: only those that also
	// have the DNS name client.<cluster>.<namespace>.svc. Use Cluster if the CA signs for other clusters or services, too.
	// The certificates of managed and certManager get the name. If the cluster serves already, clients have caOverlap to load
	// their new certificate, and then the operator restarts the members one by one. Add the name to certificates that you
	// issue yourself before you write Cluster. Default: CA.
	// +optional
	// +kubebuilder:validation:Enum=CA;Cluster
	AcceptClients ClientAcceptance `json:"acceptClients,omitempty"`
}

// ClientAcceptance says which client certificates members accept.
type ClientAcceptance string

// The values of TLSPolicy.AcceptClients.
const (
	AcceptClientsOfCA      ClientAcceptance = "CA"
	AcceptClientsOfCluster ClientAcceptance = "Cluster"
)

// ManagedTLS holds the lifetimes of the certificates that the operator issues.
//
// +kubebuilder:validation:XValidation:rule="duration(has(self.renewBefore) ? self.renewBefore : '720h') < duration(has(self.duration) ? self.duration : '2160h')",message="renewBefore must be shorter than duration, or certificates would be renewed again and again: lower renewBefore or raise duration"
// +kubebuilder:validation:XValidation:rule="duration(has(self.caRenewBefore) ? self.caRenewBefore : '8760h') < duration(has(self.caDuration) ? self.caDuration : '87600h')",message="caRenewBefore must be shorter than caDuration, or the CA would be replaced again and again: lower caRenewBefore or raise caDuration"
// +kubebuilder:validation:XValidation:rule="duration(has(self.duration) ? self.duration : '2160h') + duration(has(self.caOverlap) ? self.caOverlap : '24h') + duration(has(self.caOverlap) ? self.caOverlap : '24h') <= duration(has(self.caRenewBefore) ? self.caRenewBefore : '8760h')",message="duration plus twice caOverlap must not exceed caRenewBefore, or a certificate would outlive its CA: lower duration or caOverlap, or raise caRenewBefore"
// +kubebuilder:validation:XValidation:rule="duration(has(self.renewBefore) ? self.renewBefore : '720h') >= duration('1m')",message="renewBefore must be at least 1m, because members need time to load a new certificate: write for example 720h"
type ManagedTLS struct {
	// Lifetime of the peer, server and client certificates. Default: 2160h (90 days).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	Duration *metav1.Duration `json:"duration,omitempty"`
	// How long before expiry a certificate is renewed, at least 1m. Members load the new one without a restart.
	// Default: 720h (30 days).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
	// Lifetime of the CA certificate. Default: 87600h (10 years).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	CADuration *metav1.Duration `json:"caDuration,omitempty"`
	// How long before expiry the CA is replaced. The operator restarts one member at a time for it, without an outage.
	// Default: 8760h (1 year).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	CARenewBefore *metav1.Duration `json:"caRenewBefore,omitempty"`
	// How long clients have to load the new CA before it signs any certificate. They have the same time again to load
	// their new certificate before the old CA is removed. The value 0s does not wait for clients. Default: 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	CAOverlap *metav1.Duration `json:"caOverlap,omitempty"`
	// Common name of the certificate in <cluster>-client-tls. If etcd's authentication is on, it is the user of the
	// clients. Default: client. A cluster of an earlier release
	// keeps root until you set this field.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ClientCommonName string `json:"clientCommonName,omitempty"`
	// More names in the certificate of the members for clients, at most 16: the DNS names and IP addresses at which clients outside of this Kubernetes
	// cluster reach it, for example those of a load balancer. Members load the new certificate without a restart. Names of Services
	// (".svc") are refused. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(n, n.matches('^[0-9a-f]*:[0-9a-f:]*:[0-9a-f:.]*$') || n.matches('^([*][.])?([a-z0-9]([-a-z0-9]*[a-z0-9])?[.])*[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && !n.matches('[.]svc([.]|$)'))",message="extraNames must be IP addresses or DNS names in lower case that are not names of Services: write for example etcd.example.com or 192.0.2.10"
	ExtraNames []string `json:"extraNames,omitempty"`
}

// CertManagerTLS configures the Certificates of cert-manager.
//
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || duration(self.duration) >= duration('1h')",message="duration must be at least 1h, as cert-manager requires: write for example 2160h"
// +kubebuilder:validation:XValidation:rule="!has(self.renewBefore) || (duration(self.renewBefore) >= duration('5m') && duration(self.renewBefore) < duration(has(self.duration) ? self.duration : '2160h'))",message="renewBefore must be at least 5m, as cert-manager requires, and shorter than duration: write for example 720h"
type CertManagerTLS struct {
	// Issuer of all four Certificates.
	// +required
	IssuerRef IssuerRef `json:"issuerRef"`
	// Lifetime of a certificate, at least 1h. Default: that of cert-manager, 2160h (90 days).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	Duration *metav1.Duration `json:"duration,omitempty"`
	// How long before expiry cert-manager renews a certificate, at least 5m. Default: that of cert-manager, one third
	// of the lifetime.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
	// How long clients have to load a new CA before the members use certificates signed by it. They have the same time
	// again before the old CA is removed. The value 0s does not wait for clients. Default: 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	CAOverlap *metav1.Duration `json:"caOverlap,omitempty"`
	// Common name of the certificate in <cluster>-client-tls. If etcd's authentication is on, it is the user of the
	// clients. It has lower-case letters, digits, dots, hyphens and underscores. So it is neither an email address
	// nor a name with a colon, such as system:admin. Default: client. A cluster of an earlier release
	// keeps root until you set this field.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$') || oldSelf.hasValue() && oldSelf.value() == self",optionalOldSelf=true,message="clientCommonName must have only lower-case letters, digits, dots, hyphens and underscores, because other services may trust the same CA: write for example client"
	ClientCommonName string `json:"clientCommonName,omitempty"`
	// More DNS names in the certificate of the members for clients, at most 16: those at which clients outside of this Kubernetes cluster reach it, for
	// example that of a load balancer. The chart's value clusterOperator.certificateDomains must have their domain, because the
	// issuer may sign for others, too. Names of Services (".svc") are refused. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(n, !n.matches('^[0-9.]+$') && n.matches('^([*][.])?([a-z0-9]([-a-z0-9]*[a-z0-9])?[.])*[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && !n.matches('[.]svc([.]|$)'))",message="extraNames must be DNS names in lower case that are not names of Services: write for example etcd.example.com"
	ExtraNames []string `json:"extraNames,omitempty"`
}

// IssuerRef names an issuer of cert-manager.
type IssuerRef struct {
	// Name of the issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Kind of the issuer: Issuer (in the namespace of the EtcdCluster), ClusterIssuer, or the kind of an external
	// issuer. Default: Issuer.
	// +optional
	// +kubebuilder:default=Issuer
	// +kubebuilder:validation:MaxLength=253
	Kind string `json:"kind,omitempty"`
	// API group of the issuer. Default: cert-manager.io.
	// +optional
	// +kubebuilder:default=cert-manager.io
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
}

// StaticTLS names Secrets in the namespace of the EtcdCluster. Their keys are those of coreos/etcd-operator, or tls.crt, tls.key and ca.crt,
// as in Secrets of the type kubernetes.io/tls. If a Secret has one of the former, the latter do not count.
//
// +kubebuilder:validation:XValidation:rule="(has(self.operatorSecret) && self.operatorSecret.size() > 0) == (has(self.member) && has(self.member.serverSecret) && self.member.serverSecret.size() > 0)",message="operatorSecret and member.serverSecret require each other: write both to turn on TLS for clients, or neither"
type StaticTLS struct {
	// Secrets of the members.
	// +optional
	Member *MemberSecret `json:"member,omitempty"`
	// Name of the Secret with which the operators connect to the members, with the keys etcd-client.crt,
	// etcd-client.key and etcd-client-ca.crt, or tls.crt, tls.key and ca.crt. It requires member.serverSecret. Default: no TLS for clients.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	OperatorSecret string `json:"operatorSecret,omitempty"`
}

// MemberSecret names the Secrets that are mounted into every member.
type MemberSecret struct {
	// Name of the Secret for traffic between members, with the keys peer.crt, peer.key and peer-ca.crt, or tls.crt,
	// tls.key and ca.crt. The certificate must cover *.<cluster>.<namespace>.svc and the same name with the cluster's domain, for example
	// *.<cluster>.<namespace>.svc.cluster.local, because etcd looks up the DNS name of each peer's address. It must be
	// valid for servers and for clients. Default: no TLS between members.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PeerSecret string `json:"peerSecret,omitempty"`
	// Name of the Secret for traffic with clients, with the keys server.crt, server.key and server-ca.crt, or tls.crt,
	// tls.key and ca.crt. The certificate must cover *.<cluster>.<namespace>.svc, <cluster>-client.<namespace>.svc and localhost. It must be
	// valid for servers and for clients. It requires operatorSecret. Default: no TLS for clients.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerSecret string `json:"serverSecret,omitempty"`
}

// Keys of the TLS Secrets, as coreos/etcd-operator defined them.
const (
	PeerCertKey   = "peer.crt"
	PeerKeyKey    = "peer.key"
	PeerCAKey     = "peer-ca.crt"
	ServerCertKey = "server.crt"
	ServerKeyKey  = "server.key"
	ServerCAKey   = "server-ca.crt"
	ClientCertKey = "etcd-client.crt"
	ClientKeyKey  = "etcd-client.key"
	ClientCAKey   = "etcd-client-ca.crt"
)

// Suffixes of the Secrets that the operator writes for TLS.managed and TLS.certManager. Their names begin with the
// cluster's name. They have the keys above, and the Secret of the CA (managed only) has ca.crt and ca.key.
const (
	AuthoritySecretSuffix = "-ca"
	PeerSecretSuffix      = "-peer-tls"
	ServerSecretSuffix    = "-server-tls"
	ClientSecretSuffix    = "-client-tls"
	OperatorSecretSuffix  = "-operator-tls"
)

// AnnotationRotateCA on an EtcdCluster with TLS.managed replaces its CA, once for each new value:
// kubectl annotate etcdcluster NAME --overwrite etcd.database.coreos.com/rotate-ca="$(date +%s)".
const AnnotationRotateCA = Group + "/rotate-ca"

// Issued returns whether the operator writes the members' Secrets itself.
func (t *TLSPolicy) Issued() bool {
	return t != nil && (t.Managed != nil || t.CertManager != nil)
}

// SecurePeer returns whether members use TLS between each other.
func (t *TLSPolicy) SecurePeer() bool {
	return t.Issued() || (t != nil && t.Static != nil && t.Static.Member != nil && t.Static.Member.PeerSecret != "")
}

// SecureClient returns whether members use TLS towards clients.
func (t *TLSPolicy) SecureClient() bool {
	return t.Issued() || (t != nil && t.Static != nil && t.Static.OperatorSecret != "")
}

// PeerSecret returns the name of the Secret for traffic between members. It is empty without TLS.
func (t *TLSPolicy) PeerSecret(cluster string) string {
	switch {
	case t.Issued():
		return cluster + PeerSecretSuffix
	case t.SecurePeer():
		return t.Static.Member.PeerSecret
	}
	return ""
}

// ServerSecret returns the name of the Secret with which members serve clients. It is empty without TLS.
func (t *TLSPolicy) ServerSecret(cluster string) string {
	switch {
	case t.Issued():
		return cluster + ServerSecretSuffix
	case t.SecureClient() && t.Static.Member != nil:
		return t.Static.Member.ServerSecret
	}
	return ""
}

// ClientCommonName returns the common name that the spec asks for in the clients' certificate. It is empty if there is none.
func (t *TLSPolicy) ClientCommonName() string {
	switch {
	case t != nil && t.Managed != nil:
		return t.Managed.ClientCommonName
	case t != nil && t.CertManager != nil:
		return t.CertManager.ClientCommonName
	}
	return ""
}

// ExtraNames returns the names of load balancers and the like in the members' certificate for clients.
func (t *TLSPolicy) ExtraNames() []string {
	switch {
	case t != nil && t.Managed != nil:
		return t.Managed.ExtraNames
	case t != nil && t.CertManager != nil:
		return t.CertManager.ExtraNames
	}
	return nil
}

// OperatorSecret returns the name of the Secret with which the operators connect to members. It is empty without TLS.
func (t *TLSPolicy) OperatorSecret(cluster string) string {
	if t.Issued() {
		return cluster + OperatorSecretSuffix
	}
	return t.ClientSecret(cluster)
}

// UserSecret returns the name of the Secret with the certificate of a user of spec.auth.
func UserSecret(cluster, user string) string { return cluster + "-" + user + "-tls" }

// ClientSecret returns the name of the Secret that clients use. It is empty without TLS.
func (t *TLSPolicy) ClientSecret(cluster string) string {
	switch {
	case t.Issued():
		return cluster + ClientSecretSuffix
	case t.SecureClient():
		return t.Static.OperatorSecret
	}
	return ""
}

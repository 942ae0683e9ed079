package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TLSPolicy says how members and clients of a cluster prove who they are. One of static, managed and certManager says
// where certificates come from; none of them means plain traffic.
//
// +kubebuilder:validation:XValidation:rule="[has(self.static), has(self.managed), has(self.certManager)].filter(given, given).size() <= 1",message="certificates come from one place: write one of static, managed and certManager"
type TLSPolicy struct {
	// static names Secrets that the user provides.
	// +optional
	Static *StaticTLS `json:"static,omitempty"`
	// managed has the operator issue and rotate all certificates from an authority of the cluster's own: write {}.
	// +optional
	Managed *ManagedTLS `json:"managed,omitempty"`
	// certManager has cert-manager issue and renew the certificates; the operator hands them to the members.
	// +optional
	CertManager *CertManagerTLS `json:"certManager,omitempty"`
}

// ManagedTLS says how long certificates are good for that the operator issues. All of them are ECDSA P-256.
//
// +kubebuilder:validation:XValidation:rule="duration(has(self.renewBefore) ? self.renewBefore : '720h') < duration(has(self.duration) ? self.duration : '2160h')",message="renewBefore must be shorter than duration: certificates would be renewed without end"
// +kubebuilder:validation:XValidation:rule="duration(has(self.caRenewBefore) ? self.caRenewBefore : '8760h') < duration(has(self.caDuration) ? self.caDuration : '87600h')",message="caRenewBefore must be shorter than caDuration: the authority would be replaced without end"
// +kubebuilder:validation:XValidation:rule="duration(has(self.duration) ? self.duration : '2160h') + duration(has(self.caOverlap) ? self.caOverlap : '24h') + duration(has(self.caOverlap) ? self.caOverlap : '24h') <= duration(has(self.caRenewBefore) ? self.caRenewBefore : '8760h')",message="duration and twice caOverlap must not be longer than caRenewBefore: no certificate may outlive the authority that signed it"
// +kubebuilder:validation:XValidation:rule="!has(self.caOverlap) || duration(self.caOverlap) >= duration('0s')",message="caOverlap is a time, for example 24h, or 0s"
// +kubebuilder:validation:XValidation:rule="duration(has(self.renewBefore) ? self.renewBefore : '720h') >= duration('1m')",message="renewBefore must be a minute or more: members need time to load a new certificate"
type ManagedTLS struct {
	// duration of a certificate of peers, servers and clients. Default: 2160h (90 days).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	Duration *metav1.Duration `json:"duration,omitempty"`
	// renewBefore its end a certificate is replaced; members load it without a restart. Default: 720h (30 days).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
	// caDuration is how long the authority's own certificate is good for. Default: 87600h (10 years).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	CADuration *metav1.Duration `json:"caDuration,omitempty"`
	// caRenewBefore its end the authority is replaced, member by member and without an outage. Default: 8760h (1 year).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	CARenewBefore *metav1.Duration `json:"caRenewBefore,omitempty"`
	// caOverlap is the time that clients have, when the authority is replaced, to load the new one before any
	// certificate is signed by it, and again to load their new certificate before the old one is no longer trusted.
	// Default: 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	CAOverlap *metav1.Duration `json:"caOverlap,omitempty"`
}

// CertManagerTLS says who issues the certificates of peers, servers and clients: three Certificates of cert-manager,
// named <cluster>-peer, <cluster>-server and <cluster>-client. The issuer must put its authority into ca.crt of the
// Secrets, as CA, Vault and Venafi issuers do, and SelfSigned and ACME issuers do not.
//
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || duration(self.duration) >= duration('1h')",message="duration must be an hour or more, as cert-manager asks"
// +kubebuilder:validation:XValidation:rule="!has(self.renewBefore) || (duration(self.renewBefore) >= duration('5m') && duration(self.renewBefore) < duration(has(self.duration) ? self.duration : '2160h'))",message="renewBefore must be 5m or more, as cert-manager asks, and shorter than duration"
// +kubebuilder:validation:XValidation:rule="!has(self.caOverlap) || duration(self.caOverlap) >= duration('0s')",message="caOverlap is a time, for example 24h, or 0s"
type CertManagerTLS struct {
	// issuerRef is the issuer of all three.
	// +required
	IssuerRef IssuerRef `json:"issuerRef"`
	// duration of a certificate. Default: that of cert-manager, 90 days.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	Duration *metav1.Duration `json:"duration,omitempty"`
	// renewBefore its end a certificate is replaced. Default: that of cert-manager, a third of duration.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
	// caOverlap as in managed. Default: 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
	// +kubebuilder:validation:MaxLength=20
	CAOverlap *metav1.Duration `json:"caOverlap,omitempty"`
}

// IssuerRef names an issuer of cert-manager.
type IssuerRef struct {
	// name of the issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// kind of the issuer: Issuer (in the cluster's namespace) or ClusterIssuer, or that of an external one.
	// +optional
	// +kubebuilder:default=Issuer
	// +kubebuilder:validation:MaxLength=253
	Kind string `json:"kind,omitempty"`
	// group of the issuer.
	// +optional
	// +kubebuilder:default=cert-manager.io
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
}

// StaticTLS names Secrets in the cluster's namespace. The keys inside are those of coreos/etcd-operator. An empty
// name is none, so that a template may leave one empty.
//
// +kubebuilder:validation:XValidation:rule="(has(self.operatorSecret) && self.operatorSecret.size() > 0) == (has(self.member) && has(self.member.serverSecret) && self.member.serverSecret.size() > 0)",message="operatorSecret and member.serverSecret go together: write both (TLS for clients) or neither"
type StaticTLS struct {
	// member names the Secrets of the members themselves.
	// +optional
	Member *MemberSecret `json:"member,omitempty"`
	// operatorSecret holds etcd-client.crt, etcd-client.key and etcd-client-ca.crt, with which the operators
	// talk to the members.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	OperatorSecret string `json:"operatorSecret,omitempty"`
}

// MemberSecret names the Secrets mounted into every member.
type MemberSecret struct {
	// peerSecret holds peer.crt, peer.key and peer-ca.crt for the traffic between members. The certificate
	// must cover *.<cluster>.<namespace>.svc and, because members look each other's addresses up, the same with the
	// cluster's domain: *.<cluster>.<namespace>.svc.cluster.local.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PeerSecret string `json:"peerSecret,omitempty"`
	// serverSecret holds server.crt, server.key and server-ca.crt for the traffic with clients. The certificate
	// must cover *.<cluster>.<namespace>.svc, <cluster>-client.<namespace>.svc and localhost.
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

// Secrets that the operator writes where certificates are managed or come from cert-manager are named after the
// cluster with these endings. They have the keys above; that of the authority (managed) has ca.crt and ca.key.
const (
	AuthoritySecretSuffix = "-ca"
	PeerSecretSuffix      = "-peer-tls"
	ServerSecretSuffix    = "-server-tls"
	ClientSecretSuffix    = "-client-tls"
)

// AnnotationRotateCA on an EtcdCluster with TLS.managed replaces its authority, once for each new value:
// kubectl annotate etcdcluster NAME --overwrite etcd.database.coreos.com/rotate-ca="$(date +%s)".
const AnnotationRotateCA = Group + "/rotate-ca"

// Issued says whether the operator writes the members' Secrets itself.
func (t *TLSPolicy) Issued() bool {
	return t != nil && (t.Managed != nil || t.CertManager != nil)
}

// SecurePeer says whether members talk TLS to each other.
func (t *TLSPolicy) SecurePeer() bool {
	return t.Issued() || (t != nil && t.Static != nil && t.Static.Member != nil && t.Static.Member.PeerSecret != "")
}

// SecureClient says whether members talk TLS to clients.
func (t *TLSPolicy) SecureClient() bool {
	return t.Issued() || (t != nil && t.Static != nil && t.Static.OperatorSecret != "")
}

// PeerSecret is the Secret that the members of a cluster use among each other; empty without TLS.
func (t *TLSPolicy) PeerSecret(cluster string) string {
	switch {
	case t.Issued():
		return cluster + PeerSecretSuffix
	case t.SecurePeer():
		return t.Static.Member.PeerSecret
	}
	return ""
}

// ServerSecret is the Secret that the members of a cluster serve clients with; empty without TLS.
func (t *TLSPolicy) ServerSecret(cluster string) string {
	switch {
	case t.Issued():
		return cluster + ServerSecretSuffix
	case t.SecureClient() && t.Static.Member != nil:
		return t.Static.Member.ServerSecret
	}
	return ""
}

// ClientSecret is the Secret that clients of a cluster use; empty without TLS.
func (t *TLSPolicy) ClientSecret(cluster string) string {
	switch {
	case t.Issued():
		return cluster + ClientSecretSuffix
	case t.SecureClient():
		return t.Static.OperatorSecret
	}
	return ""
}

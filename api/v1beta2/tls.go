package v1beta2

// TLSPolicy says how members and clients of a cluster prove who they are.
type TLSPolicy struct {
	// static names Secrets that the user provides.
	// +optional
	Static *StaticTLS `json:"static,omitempty"`
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

// SecurePeer says whether members talk TLS to each other.
func (t *TLSPolicy) SecurePeer() bool {
	return t != nil && t.Static != nil && t.Static.Member != nil && t.Static.Member.PeerSecret != ""
}

// SecureClient says whether members talk TLS to clients.
func (t *TLSPolicy) SecureClient() bool {
	return t != nil && t.Static != nil && t.Static.OperatorSecret != ""
}

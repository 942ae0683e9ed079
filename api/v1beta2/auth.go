package v1beta2

// AuthPolicy names the user of the operators if etcd's authentication is on. You turn it on yourself, with etcdctl auth
// enable.
type AuthPolicy struct {
	// Name of a Secret with the keys username and password, such as one of type kubernetes.io/basic-auth. The user needs
	// the role root in etcd. Operators authenticate as this user if a member demands it, also if they have a client
	// certificate. With TLS.managed and TLS.certManager no Secret is needed: the operators' certificate has the common
	// name root.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	OperatorSecret string `json:"operatorSecret"`
}

// Keys of the Secret with the user of the operators, as in Secrets of type kubernetes.io/basic-auth.
const (
	AuthUsernameKey = "username"
	AuthPasswordKey = "password"
)

// OperatorSecretName returns the name of the Secret with the user of the operators. It is empty without one.
func (a *AuthPolicy) OperatorSecretName() string {
	if a == nil {
		return ""
	}
	return a.OperatorSecret
}

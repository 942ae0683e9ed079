package v1beta2

// AuthPolicy is etcd's authentication: the user of the operators, and the users and roles that cluster-operator keeps in etcd. They need etcd 3.5.
// Without enabled, roles and users you manage all of that yourself, with etcdctl.
// +kubebuilder:validation:XValidation:rule="!has(self.users) || !has(self.operatorSecret) || self.users.all(u, !has(u.passwordSecret) || u.passwordSecret != self.operatorSecret)",message="A user of spec.auth.users cannot have the password of the operators: name another Secret in passwordSecret."
type AuthPolicy struct {
	// Name of a Secret with the keys username and password, such as one of type kubernetes.io/basic-auth. The user needs
	// the role root in etcd. With enabled: true, cluster-operator gives it that role and this password. Operators authenticate as this user if a
	// member demands it, also if they have a client certificate. With TLS.managed and TLS.certManager no Secret is needed: the operators'
	// certificate has the common name root.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	OperatorSecret string `json:"operatorSecret,omitempty"`
	// Whether etcd's authentication is on. cluster-operator turns it on after all users and roles are there. Without a value it turns it neither
	// on nor off.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Roles that cluster-operator keeps in etcd with exactly these permissions.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=250
	Roles []AuthRole `json:"roles,omitempty"`
	// Users that cluster-operator keeps in etcd with exactly these roles.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1500
	// +kubebuilder:validation:XValidation:rule="self.filter(u, has(u.certificate)).size() <= 100",message="At most 100 users may have a certificate. Issue those of others with cert-manager."
	// +kubebuilder:validation:XValidation:rule="self.filter(u, has(u.passwordSecret)).size() <= 50",message="At most 50 users may have a passwordSecret. The others authenticate by the common name of a certificate."
	Users []AuthUser `json:"users,omitempty"`
	// What becomes of a user or a role that left the spec: Delete removes it from etcd, Retain keeps it. Those that were never in the spec are
	// kept. Default: Delete.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Retain
	RemovalPolicy string `json:"removalPolicy,omitempty"`
}

// AuthRole is a role of etcd.
type AuthRole struct {
	// Name of the role, without control characters. root is the role that etcd has.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\p{C}\p{Zl}\p{Zp}]+$`
	// +kubebuilder:validation:XValidation:rule="self != 'root'",message="etcd has the role root itself: choose another name."
	Name string `json:"name"`
	// Permissions of the role. Without any, its users may do nothing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Permissions []AuthPermission `json:"permissions,omitempty"`
}

// AuthPermission is a permission for keys. Write one of prefix, key and range.
// +kubebuilder:validation:XValidation:rule="[has(self.prefix), has(self.key), has(self.range)].filter(b, b).size() == 1",message="Write one of prefix, key and range."
type AuthPermission struct {
	// All keys that begin with it. An empty prefix is all keys.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Prefix *string `json:"prefix,omitempty"`
	// One key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key,omitempty"`
	// All keys from one to before another.
	// +optional
	Range *AuthRange `json:"range,omitempty"`
	// What the role may do with the keys.
	// +required
	// +kubebuilder:validation:Enum=Read;Write;ReadWrite
	Access string `json:"access"`
}

// AuthRange is a range of keys.
// +kubebuilder:validation:XValidation:rule="self.from < self.to",message="from must come before to."
type AuthRange struct {
	// First key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	From string `json:"from"`
	// Key after the last one.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	To string `json:"to"`
}

// AuthUser is a user of etcd.
// +kubebuilder:validation:XValidation:rule="!has(self.certificate) || self.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$') && !['peer', 'server', 'client', 'operator'].exists(n, self.name == n || self.name.endsWith('-' + n))",message="A user with a certificate has a name of lower-case letters, digits and hyphens, and does not end with peer, server, client or operator as a word, because a Secret of this or another EtcdCluster has that name."
type AuthUser struct {
	// Name of the user, without control characters. A client with a certificate is the user with the common name of that certificate. root is the user of the operators.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\p{C}\p{Zl}\p{Zp}]+$`
	// +kubebuilder:validation:XValidation:rule="self != 'root'",message="root is the user of the operators: choose another name."
	Name string `json:"name"`
	// Roles of the user. Each is one of spec.auth.roles, a role that you made in etcd, or root.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Roles []string `json:"roles,omitempty"`
	// Write certificate: {} to get a certificate of the user in Secret <cluster>-<user>-tls. Needs TLS.managed or TLS.certManager.
	// +optional
	Certificate *AuthCertificate `json:"certificate,omitempty"`
	// Name of a Secret with the password of the user in the key password. Without it the user has no password, and needs a certificate.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PasswordSecret string `json:"passwordSecret,omitempty"`
}

// AuthCertificate asks for a certificate of a user. It is renewed like those of the cluster.
type AuthCertificate struct{}

// Values of AuthPermission.Access.
const (
	AccessRead      = "Read"
	AccessWrite     = "Write"
	AccessReadWrite = "ReadWrite"
)

// Values of AuthPolicy.RemovalPolicy.
const (
	AuthRemovalDelete = "Delete"
	// AuthRemovalRetain keeps users and roles that left the spec. They belong to a person from then on.
	AuthRemovalRetain = "Retain"
)

// AuthStatus is what cluster-operator knows of users and roles in etcd. It is empty if spec.auth has neither enabled nor roles nor users.
type AuthStatus struct {
	// Whether authentication is on, as etcd last answered.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// Incarnation of the cluster in which etcd last had all of spec.auth, as far as that was possible.
	// +optional
	Incarnation int32 `json:"incarnation,omitempty"`
	// Names of the roles of spec.auth that are in etcd, and of those that are to be removed from it.
	// +optional
	// +listType=atomic
	Roles []string `json:"roles,omitempty"`
	// Users of spec.auth that are in etcd, or are about to be, and those that are to be removed from it.
	// +optional
	// +listType=atomic
	Users []AuthUserStatus `json:"users,omitempty"`
	// The last 500 roles that the operator removed. If a restore brings one back, the operator removes it again.
	// +optional
	// +listType=atomic
	RemovedRoles []string `json:"removedRoles,omitempty"`
	// The last 500 users that the operator removed. If a restore brings one back, the operator removes it again.
	// +optional
	// +listType=atomic
	RemovedUsers []string `json:"removedUsers,omitempty"`
	// Roles in etcd that spec.auth never had, at most 20 of them. They are kept.
	// +optional
	// +listType=atomic
	OtherRoles []string `json:"otherRoles,omitempty"`
	// Users in etcd that spec.auth never had, at most 20 of them. They are kept.
	// +optional
	// +listType=atomic
	OtherUsers []string `json:"otherUsers,omitempty"`
	// What the last restore or recovery had brought back and the operator has changed, so that etcd has what the spec asks for.
	// +optional
	AfterRestore *AuthAfterRestore `json:"afterRestore,omitempty"`
}

// AuthAfterRestore is what the operator has changed after a restore, or a recovery from a lost quorum. Each list has at most 20 names. A user that was
// recreated with the same roles, so that it has the password of its Secret again, is in none of them.
type AuthAfterRestore struct {
	// Incarnation of the cluster that was changed.
	Incarnation int32 `json:"incarnation"`
	// Users and roles of the spec that the snapshot did not have.
	// +optional
	// +listType=atomic
	Added []string `json:"added,omitempty"`
	// Users and roles of the snapshot that the operator had removed before.
	// +optional
	// +listType=atomic
	Removed []string `json:"removed,omitempty"`
	// Users that had other roles, and roles that had other permissions.
	// +optional
	// +listType=atomic
	Changed []string `json:"changed,omitempty"`
}

// AuthUserStatus is a user of spec.auth that is in etcd.
type AuthUserStatus struct {
	// Name of the user.
	Name string `json:"name"`
	// Incarnation of the cluster in which the operator made the user, and name and resource version of the Secret with its password. Before
	// that, the word pending or changing.
	// +optional
	Version string `json:"version,omitempty"`
}

// ServiceBinding names a Secret from which clients connect, as Service Binding (servicebinding.io) defines it.
type ServiceBinding struct {
	// Name of the Secret.
	Name string `json:"name"`
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

// Certified are the users that get a certificate.
func (a *AuthPolicy) Certified() (names []string) {
	if a == nil {
		return nil
	}
	for _, u := range a.Users {
		if u.Certificate != nil {
			names = append(names, u.Name)
		}
	}
	return names
}

// Manages reports whether cluster-operator keeps users, roles, or whether authentication is on.
func (a *AuthPolicy) Manages() bool {
	return a != nil && (a.Enabled != nil || len(a.Roles) > 0 || len(a.Users) > 0)
}

package moving

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// auth returns spec.auth of the new EtcdCluster. The standby has the users and roles of the source in its data, but the certificates of users are issued, and later changes are
// made, only for those in the spec. operators is the Secret of a user of the operators, if they need one.
func (r Request) auth(operators string) *v1beta2.AuthPolicy {
	var policy *v1beta2.AuthPolicy
	if r.From != nil {
		policy = r.From.Spec.Auth.DeepCopy()
	}
	if policy == nil {
		if operators == "" {
			return nil
		}
		policy = &v1beta2.AuthPolicy{}
	}
	policy.OperatorSecret = operators
	if r.PlainText { // without TLS there are no certificates
		for i := range policy.Users {
			policy.Users[i].Certificate = nil
		}
	}
	return policy
}

// passwords returns the Secrets with the passwords of users of the source. The new EtcdCluster reads those of its own namespace.
func (r Request) passwords() (names []string) {
	if r.From == nil || r.From.Spec.Auth == nil {
		return nil
	}
	for _, user := range r.From.Spec.Auth.Users {
		if user.PasswordSecret != "" && !slices.Contains(names, user.PasswordSecret) {
			names = append(names, user.PasswordSecret)
		}
	}
	return names
}

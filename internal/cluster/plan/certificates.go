package plan

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"

// TakenByAnother is the message about an object with a name that the cluster needs.
func TakenByAnother(object string) string {
	return object + " exists, but this EtcdCluster does not own it. The operator does not change it. Delete or rename it."
}

// operatorSecret is the Secret with which the operators connect to members.
func operatorSecret(s state.State) string {
	if s.Spec.TLS.Issued() && !s.Certificates.Operator {
		return ""
	}
	return s.Spec.TLS.OperatorSecret(s.Name)
}

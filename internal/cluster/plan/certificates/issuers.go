package certificates

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// cert-manager sees the operator as the requester of each Certificate, and not the user who wrote the EtcdCluster. So the operator would
// lend its rights for every issuer that an EtcdCluster names. An Issuer is in the namespace of the EtcdCluster. All other issuers may sign
// for more than that namespace, and the administrator allows them by name.

const (
	localIssuer = "Issuer"
)

// ParseIssuers parses issuers of the form kind/name or kind.group/name. The name * means all of the kind. It returns those that are valid
// together with an error about the others.
func ParseIssuers(texts []string) ([]state.AllowedIssuer, error) {
	var issuers []state.AllowedIssuer
	var wrong []string
	for _, text := range texts {
		of, name, found := strings.Cut(text, "/")
		kind, group, _ := strings.Cut(of, ".")
		if !found || kind == "" || name == "" {
			wrong = append(wrong, fmt.Sprintf("%q", text))
			continue
		}
		issuers = append(issuers, state.AllowedIssuer{Kind: kind, Group: cmp.Or(group, state.CertManagerGroup), Name: name})
	}
	if len(wrong) > 0 {
		return issuers, fmt.Errorf("%s: write kind/name, for example ClusterIssuer/etcd, or kind.group/name", strings.Join(wrong, ", "))
	}
	return issuers, nil
}

// RefusedIssuer is the message about the issuer of the spec if it is not allowed, or about the names that the spec asks it to sign. It is empty
// otherwise.
func RefusedIssuer(s state.State) string {
	if s.Spec.TLS == nil || s.Spec.TLS.CertManager == nil {
		return ""
	}
	ref := s.Spec.TLS.CertManager.IssuerRef
	asked := state.AllowedIssuer{Kind: cmp.Or(ref.Kind, localIssuer), Group: cmp.Or(ref.Group, state.CertManagerGroup), Name: ref.Name}
	if asked.Kind == localIssuer && asked.Group == state.CertManagerGroup {
		return cmp.Or(refusedDomain(s), refusedNames(s))
	}
	for _, allowed := range s.AllowedIssuers {
		if allowed.Allows(asked) {
			return cmp.Or(refusedDomain(s), refusedNames(s))
		}
	}
	return fmt.Sprintf("spec.TLS.certManager names the issuer %s, which the administrator of the operator does not allow. The operator creates and changes no Certificate for it. "+
		"Use an Issuer of namespace %s, or ask the administrator to add %[1]s to the value clusterOperator.certManagerIssuers of the chart.", asked, s.Namespace)
}

// refusedDomain is the message about a domain of the spec that is not that of this Kubernetes. The user chooses it, and the operator would request
// certificates for servers of another domain.
func refusedDomain(s state.State) string {
	asked, own := state.CertifiedDomain(s), cmp.Or(state.Dotted(s.ClusterDomain), state.DefaultDomain)
	if asked == own {
		return ""
	}
	return fmt.Sprintf("spec.TLS.certManager would sign names in the domain %s of spec.pod.ClusterDomain, and the domain of this Kubernetes is %s. The operator creates and changes no Certificate for it. "+
		"Remove spec.pod.ClusterDomain, or use TLS.managed.", asked[1:], own[1:])
}

// refusedNames is the message about a name of the spec outside of the domains that the administrator allows: an issuer may sign for servers of others.
func refusedNames(s state.State) string {
	for _, name := range s.Spec.TLS.ExtraNames() {
		below := func(domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }
		if !slices.ContainsFunc(s.CertificateDomains, below) {
			return fmt.Sprintf("spec.TLS.certManager.extraNames has %s, which is in no domain that the administrator of the operator allows. The operator creates and changes no Certificate for it. "+
				"Remove the name, or ask the administrator to add its domain to the value clusterOperator.certificateDomains of the chart.", name)
		}
	}
	return ""
}

// AdviseOfIssuer reports a running cluster whose issuer is not allowed. It continues with the certificates that it has.
func AdviseOfIssuer(s state.State) steps.Step {
	c := s.Certificates
	switch {
	case c.IssuerRefused == "":
		return nil
	case c.Requested:
		return steps.Advice{Reason: v1beta2.ReasonIssuerNotAllowed, Message: c.IssuerRefused + " The cluster continues with the Certificates that it has, and cert-manager renews them."}
	}
	return steps.Advice{Reason: v1beta2.ReasonIssuerNotAllowed, Message: c.IssuerRefused + " A Certificate is missing or differs from the spec." + c.UntilExpiry()}
}

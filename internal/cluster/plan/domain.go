package plan

import (
	"cmp"
	"strings"
)

// defaultDomain is the domain of most Kubernetes clusters. Members look each other's addresses up and compare the
// full names with those in the certificate.
const defaultDomain = ".cluster.local"

// dotted is a DNS suffix with its dot in front; empty stays empty.
func dotted(domain string) string {
	if domain == "" {
		return ""
	}
	return "." + strings.Trim(domain, ".")
}

// certifiedDomain is the suffix of the members' full names: that of the spec, or else that of the Kubernetes cluster.
func (s State) certifiedDomain() string {
	return cmp.Or(dotted(s.PodPolicy().ClusterDomain), dotted(s.ClusterDomain), defaultDomain)
}

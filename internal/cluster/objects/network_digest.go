package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// digestPrefix begins a policy type that stands for a whole spec. The API server accepts only Ingress and Egress, so no user can write one.
const digestPrefix = "sha256:"

// Digest returns the digest of a spec, or the one that stands for it. Specs that mean the same have the same JSON: an empty list is omitted there, as
// a missing one is.
func Digest(spec networkingv1.NetworkPolicySpec) networkingv1.PolicyType {
	if len(spec.PolicyTypes) == 1 && strings.HasPrefix(string(spec.PolicyTypes[0]), digestPrefix) {
		return spec.PolicyTypes[0]
	}
	content, err := json.Marshal(spec)
	if err != nil {
		return digestPrefix // that of no spec of the operator, which all have JSON
	}
	sum := sha256.Sum256(content)
	return networkingv1.PolicyType(digestPrefix + hex.EncodeToString(sum[:]))
}

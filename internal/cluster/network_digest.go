package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// digestPrefix begins a policy type that stands for a whole spec. The API server accepts only Ingress and Egress, so no user can write one.
const digestPrefix = "sha256:"

// withDigest returns what the cache holds of a NetworkPolicy that may belong to an EtcdCluster. The spec may be long, and a pass only compares it, so
// its digest takes its place. The rule of OpenPeers is kept, because a pass reads whether the NetworkPolicy has it.
func withDigest(policy *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
	kept := &networkingv1.NetworkPolicy{ObjectMeta: withOwner(policy)}
	kept.UID, kept.Generation = types.UID(cutName(string(policy.UID))), policy.Generation
	kept.Labels = map[string]string{}
	for _, key := range []string{v1beta2.LabelApp, v1beta2.LabelCluster} {
		if value, has := policy.Labels[key]; has {
			kept.Labels[key] = value
		}
	}
	kept.Spec.PolicyTypes = []networkingv1.PolicyType{digest(policy.Spec)}
	if opensPeers(policy) {
		kept.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{openedPeers}
	}
	shareMeta(kept)
	return kept
}

// digest returns the digest of a spec, or the one that stands for it. Specs that mean the same have the same JSON: an empty list is omitted there, as
// a missing one is.
func digest(spec networkingv1.NetworkPolicySpec) networkingv1.PolicyType {
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

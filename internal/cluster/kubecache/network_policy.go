package kubecache

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
)

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
	keepRecord(policy, kept)
	kept.Spec.PolicyTypes = []networkingv1.PolicyType{objects.Digest(policy.Spec)}
	if objects.OpensPeers(policy) {
		kept.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{objects.OpenedPeers}
	}
	ShareMeta(kept)
	return kept
}

// keepRecord keeps what an object was given of spec.metadata. A longer record is not the operator's.
func keepRecord(of, kept client.Object) {
	if record := of.GetAnnotations()[metadata.Annotation]; record != "" && len(record) <= metadata.MaxRecord {
		kept.SetAnnotations(map[string]string{metadata.Annotation: strings.Clone(record)})
	}
}

package objects

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// annotationService holds spec.service as it was applied to the client Service. It shows that a setting was removed from
// the spec: the Service alone does not tell whether the operator or somebody else set what it has.
const annotationService = v1beta2.Group + "/service"

// addSettings adds what the spec asks of the client Service. It sets no field that the spec does not have, so that
// Kubernetes and the controllers of clouds keep theirs: node ports, addresses and health checks.
func addSettings(service *corev1.Service, policy *v1beta2.ServicePolicy) {
	if policy == nil || pods.Text(policy) == "{}" {
		return
	}
	service.Labels = merged(policy.Labels, service.Labels)
	service.Annotations = merged(policy.Annotations, service.Annotations)
	service.Annotations[annotationService] = pods.Text(policy)
	service.Spec.Type = policy.Type
	service.Spec.LoadBalancerClass = policy.LoadBalancerClass
	service.Spec.LoadBalancerSourceRanges = policy.LoadBalancerSourceRanges
	service.Spec.TrafficDistribution = policy.TrafficDistribution
	service.Spec.ExternalTrafficPolicy = policy.ExternalTrafficPolicy
}

// SettingsOf are the settings that were last applied to a client Service; nil for none.
func SettingsOf(service *corev1.Service) *v1beta2.ServicePolicy {
	var policy v1beta2.ServicePolicy
	if err := json.Unmarshal([]byte(service.Annotations[annotationService]), &policy); err != nil {
		return nil
	}
	return &policy
}

// merged is a new map with the entries of both; those of the operator win.
func merged(users, own map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, users)
	maps.Copy(all, own)
	return all
}

package pods

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// nonRoot is the user of every container without a security context of the user's.
const nonRoot int64 = 65532

func podSecurity(policy v1beta2.PodPolicy) *corev1.PodSecurityContext {
	if policy.SecurityContext != nil {
		return policy.SecurityContext
	}
	return &corev1.PodSecurityContext{
		RunAsNonRoot:        ptr.To(true),
		RunAsUser:           ptr.To(nonRoot),
		RunAsGroup:          ptr.To(nonRoot),
		FSGroup:             ptr.To(nonRoot),
		FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

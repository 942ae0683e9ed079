package v1beta2

import corev1 "k8s.io/api/core/v1"

// ImagePolicy decides which image the members run.
type ImagePolicy struct {
	// Image of etcd without its tag, for example registry.k8s.io/etcd. If you write it, remove spec.repository. The image
	// must have etcd at /usr/local/bin/etcd. Default: spec.repository.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Repository string `json:"repository,omitempty"`
	// Tag of the image. "{version}" stands for spec.version without a leading "v", and must occur once, so that another
	// version is another image. For registry.k8s.io/etcd:3.6.16-0 write "{version}-0", or put the -0 into spec.version.
	// Default: "v{version}".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^([A-Za-z0-9_][A-Za-z0-9_.-]*)?[{]version[}][A-Za-z0-9_.-]*$')",message="tag must contain {version} once, beside letters, digits, '_', '.' and '-': write for example \"{version}-0\""
	Tag string `json:"tag,omitempty"`
	// Digest of the image of spec.version, for example sha256: and 64 hex digits. Nodes then run this image, whatever its
	// tag refers to. Change it together with spec.version. While the operator keeps members on another version, they
	// keep their image. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^sha256:[0-9a-f]{64}$')",message="digest must be sha256: and 64 hex digits in lower case"
	Digest string `json:"digest,omitempty"`
	// When a node pulls the image: Always, IfNotPresent or Never. A change restarts members one at a time. Default:
	// IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

const (
	versionInTag = "{version}"
	defaultTag   = "v" + versionInTag
)

package pods

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

const (
	// AnnotationPromote tells a standby to become the cluster. The kubelet writes it into a file of the init container.
	AnnotationPromote = seed.AnnotationPromote
	// AnnotationInitialCluster holds the --initial-cluster of a Pod that makes its data. Once the member has started, it holds RejoinOnly.
	AnnotationInitialCluster = v1beta2.Group + "/initial-cluster"
	// AnnotationInitialSize holds with how many members a cluster is bootstrapped.
	AnnotationInitialSize = v1beta2.Group + "/initial-size"
	// AnnotationStart holds how the member's etcd comes up.
	AnnotationStart = v1beta2.Group + "/start"
	// annotationImage holds the image that the operator asked for. Admission may set another one: that of a mirror, or a
	// digest.
	annotationImage = v1beta2.Group + "/image"
	// annotationTrust holds the fingerprint of the authorities that the member was started with.
	annotationTrust = v1beta2.Group + "/trust"
	// AnnotationLoaded holds the fingerprint of the certificates that the Pod was last marked with; see loadCertificates.
	AnnotationLoaded = v1beta2.Group + "/certificates"
	// LabelVoter is set once a member votes; the client Service selects it.
	LabelVoter = v1beta2.Group + "/voter"
	// annotationMetadata holds the labels and annotations of the spec that a Pod was given.
	annotationMetadata = v1beta2.Group + "/metadata"
	// SeedContainer is the container that restores a snapshot.
	SeedContainer = "restore"
	// AnnotationTemplate holds the hash of what of the spec a member's Pod was made for.
	AnnotationTemplate = v1beta2.Group + "/template"
	// AnnotationRestartedAt is the one annotation whose change restarts members, as with kubectl rollout restart.
	AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"
	// DataVolume is the volume of a Pod that has the data of etcd.
	DataVolume = "etcd-data"
	// AnnotationUnused is on a volume that was made for a member before it was added: no etcd has run on it.
	AnnotationUnused = v1beta2.Group + "/unused"
	// AnnotationAdded is on a Pod that waited until etcd had added its member, and does so no longer.
	AnnotationAdded = v1beta2.Group + "/added"
)

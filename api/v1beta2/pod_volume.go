package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// PodVolume is a volume for containers beside etcd. It has the fields of a Pod's volume that such containers need. A
// schema with all of them would be too large for kubectl apply.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.csi), has(self.persistentVolumeClaim)].filter(set, set).size() == 1",message="a volume needs one source: write one of configMap, secret, emptyDir, csi and persistentVolumeClaim"
type PodVolume struct {
	// Name of the volume, which a container mounts.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// ConfigMap to mount, as in a Pod.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`
	// Secret to mount, as in a Pod.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`
	// Empty directory that is deleted with the Pod, as in a Pod.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
	// Volume of a CSI driver, as in a Pod, for example one that mounts secrets.
	// +optional
	CSI *corev1.CSIVolumeSource `json:"csi,omitempty"`
	// PersistentVolumeClaim that all members share, as in a Pod.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
}

// Volume returns the volume of a Pod.
func (v PodVolume) Volume() corev1.Volume {
	return corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{
		ConfigMap: v.ConfigMap, Secret: v.Secret, EmptyDir: v.EmptyDir, CSI: v.CSI, PersistentVolumeClaim: v.PersistentVolumeClaim,
	}}
}

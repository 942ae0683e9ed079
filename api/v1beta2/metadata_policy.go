package v1beta2

// MetadataPolicy holds the labels and annotations of every object that the operator creates for the cluster. The operator
// changes them in place, and no member restarts. If an entry is removed here, the operator removes it from the objects. It
// keeps what others set on them.
type MetadataPolicy struct {
	// Labels to add to every object, at most 32. On Pods, those of pod.labels win, and on the client Service, those of
	// service.labels. Reserved are the keys app and etcd_*, and the domains etcd.database.coreos.com, cert-manager.io,
	// kubernetes.io and k8s.io, except app.kubernetes.io. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && !key.startsWith('etcd_'))",message="the label keys app and etcd_* are reserved for the operator: choose other keys"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.startsWith('app.kubernetes.io/') || !key.matches('^(.*[.])?(kubernetes[.]io|k8s[.]io|cert-manager[.]io|etcd[.]database[.]coreos[.]com)/'))",message="the domains kubernetes.io, k8s.io, cert-manager.io and etcd.database.coreos.com are reserved: choose keys of another domain, of app.kubernetes.io, or without one. What is for Pods only belongs into pod.labels, and what is for the client Service into service.labels"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",message="a key is a name of at most 63 characters, after a domain and a slash if it has one: write for example cost-center or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'))",message="the value of a label has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
	Labels map[string]LabelValue `json:"labels,omitempty"`
	// Annotations to add to every object except Secrets, at most 32, with at most 512 characters each. On Pods, those of
	// pod.annotations win, and on the client Service, those of service.annotations. The reserved keys are etcd.version and
	// the domains of labels. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'etcd.version')",message="the annotation key etcd.version is reserved for the operator: choose another key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.startsWith('app.kubernetes.io/') || !key.matches('^(.*[.])?(kubernetes[.]io|k8s[.]io|cert-manager[.]io|etcd[.]database[.]coreos[.]com)/'))",message="the domains kubernetes.io, k8s.io, cert-manager.io and etcd.database.coreos.com are reserved: choose keys of another domain, of app.kubernetes.io, or without one. What is for Pods only belongs into pod.annotations, and what is for the client Service into service.annotations"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",message="a key is a name of at most 63 characters, after a domain and a slash if it has one: write for example cost-center or example.com/team"
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=512
type AnnotationValue string

// Package metadata puts the labels and annotations of spec.metadata of an EtcdCluster onto the objects of the cluster. An annotation
// of each object records what it was given, so that an entry is removed from the object when it is removed from the spec.
package metadata

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Annotation holds, on each object of a cluster with spec.metadata, the labels and annotations that the object was given. An object
// without the annotation was given none.
const Annotation = v1beta2.Group + "/cluster-metadata"

// MaxRecord is how many bytes the record of an object has at most, for all that the API accepts in spec.metadata.
const MaxRecord = 128 << 10

// Object is what has labels and annotations.
type Object interface {
	GetLabels() map[string]string
	SetLabels(map[string]string)
	GetAnnotations() map[string]string
	SetAnnotations(map[string]string)
}

// Given are labels and annotations that an object gets, or that it got.
type Given struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Of returns what spec.metadata asks for.
func Of(spec v1beta2.EtcdClusterSpec) Given {
	if spec.Metadata == nil {
		return Given{}
	}
	return Given{Labels: texts(spec.Metadata.Labels), Annotations: texts(spec.Metadata.Annotations)}
}

// ForbiddenOfSecret are labels that no Secret gets: by them, Argo CD takes a Secret for one of its settings, such as a repository.
var ForbiddenOfSecret = Given{Labels: map[string]string{"argocd.argoproj.io/secret-type": ""}}

// ForSecret returns the entries that a Secret gets: no annotations. Controllers such as reflector and kubernetes-replicator copy a Secret to other
// namespaces if it has theirs, and the user may not be one who may create Secrets.
func (g Given) ForSecret() Given { return Given{Labels: g.Without(ForbiddenOfSecret).Labels} }

func texts[T ~string](values map[string]T) map[string]string {
	if len(values) == 0 {
		return nil
	}
	all := make(map[string]string, len(values))
	for key, value := range values {
		all[key] = string(value)
	}
	return all
}

// Recorded returns what an object was given. It is nothing if the record cannot be read.
func Recorded(object Object) Given {
	var given Given
	if err := json.Unmarshal([]byte(object.GetAnnotations()[Annotation]), &given); err != nil {
		return Given{}
	}
	return given
}

// Tracking are the keys by which GitOps tools find what they have deployed. Such a tool deletes an object with the key of its application that is
// not in Git and that no other object owns.
var Tracking = Given{
	Labels:      map[string]string{"app.kubernetes.io/instance": "", "argocd.argoproj.io/instance": "", "kapp.k14s.io/app": "", "tanka.dev/environment": ""},
	Annotations: map[string]string{"argocd.argoproj.io/tracking-id": ""},
}

// Without returns the entries whose keys another setting does not have.
func (g Given) Without(other Given) Given {
	return Given{Labels: without(g.Labels, other.Labels), Annotations: without(g.Annotations, other.Annotations)}
}

func without(all, other map[string]string) map[string]string {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(key, _ string) bool { _, is := other[key]; return is })
	return kept
}

// Text returns the record of what an object is given. It is empty for nothing.
func (g Given) Text() string {
	if len(g.Labels)+len(g.Annotations) == 0 {
		return ""
	}
	text, err := json.Marshal(g)
	if err != nil {
		return "" // never: these are texts
	}
	return string(text)
}

// Due reports whether an object was given something else.
func (g Given) Due(object Object) bool { return object.GetAnnotations()[Annotation] != g.Text() }

// Stamp gives a new object the entries. What the object has under the same key is kept.
func (g Given) Stamp(object Object) {
	if g.Text() == "" {
		return
	}
	object.SetLabels(added(g.Labels, object.GetLabels()))
	annotations := added(g.Annotations, object.GetAnnotations())
	annotations[Annotation] = g.Text()
	object.SetAnnotations(annotations)
}

func added(entries, own map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, entries)
	maps.Copy(all, own)
	return all
}

// Keep gives an object that is about to be applied what the live object was given, so that the application changes none of it.
func Keep(live, object Object) { Recorded(live).Stamp(object) }

// Update changes an object as Patch does.
func (g Given) Update(object Object, others Given) {
	labels, annotations := g.Patch(object, others)
	object.SetLabels(patched(object.GetLabels(), labels))
	object.SetAnnotations(patched(object.GetAnnotations(), annotations))
}

func patched(entries map[string]string, patch map[string]any) map[string]string {
	all := map[string]string{}
	maps.Copy(all, entries)
	for key, value := range patch {
		if text, is := value.(string); is {
			all[key] = text
		} else {
			delete(all, key)
		}
	}
	return all
}

// Patch returns the merge patches of the labels and of the annotations that bring an object to these entries. An entry that the
// object was given and that is not among them is removed, unless another setting has its key.
func (g Given) Patch(object Object, others Given) (labels, annotations map[string]any) {
	given := Recorded(object)
	labels = difference(given.Labels, g.Labels, others.Labels)
	annotations = difference(given.Annotations, g.Annotations, others.Annotations)
	if text := g.Text(); text != "" {
		annotations[Annotation] = text
	} else if object.GetAnnotations()[Annotation] != "" {
		annotations[Annotation] = nil
	}
	return labels, annotations
}

// difference is the merge patch from given to want. It removes no key that is reserved: whoever can write the record could
// otherwise have the operator remove its own labels.
func difference(given, want, others map[string]string) map[string]any {
	patch := map[string]any{}
	for key := range given {
		if _, other := others[key]; !other && !Reserved(key) {
			patch[key] = nil
		}
	}
	for key, value := range want {
		patch[key] = value
	}
	return patch
}

var reservedDomain = regexp.MustCompile(`^(.*[.])?(kubernetes[.]io|k8s[.]io|cert-manager[.]io|etcd[.]database[.]coreos[.]com)/`)

// Reserved reports whether the API refuses a key in spec.metadata.
func Reserved(key string) bool {
	return key == v1beta2.LabelApp || strings.HasPrefix(key, "etcd_") || key == v1beta2.AnnotationVersion ||
		reservedDomain.MatchString(key) && !strings.HasPrefix(key, "app.kubernetes.io/")
}

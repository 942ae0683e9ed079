package kubecache

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ShareMeta has the metadata of an object share its strings with other objects, and within itself.
func ShareMeta(object client.Object) {
	object.SetNamespace(Words.Share(object.GetNamespace()))
	owners := object.GetOwnerReferences()
	own := []string{object.GetName()}
	for i := range owners {
		o := &owners[i]
		o.APIVersion, o.Kind = Words.Share(o.APIVersion), Words.Share(o.Kind)
		o.Controller, o.BlockOwnerDeletion = sharedBool(o.Controller), sharedBool(o.BlockOwnerDeletion)
		own = append(own, string(o.UID), o.Name)
	}
	object.SetLabels(shareMap(object.GetLabels(), own))
	object.SetAnnotations(shareMap(object.GetAnnotations(), own))
}

// shareMap returns a map of the right size, whose keys are shared, and whose values are shared if they are in own.
func shareMap(of map[string]string, own []string) map[string]string {
	if len(of) == 0 {
		return nil
	}
	after := make(map[string]string, len(of))
	for key, value := range of {
		if i := slices.Index(own, value); i >= 0 {
			value = own[i]
		}
		after[Words.Share(key)] = value
	}
	return after
}

func shared(s *string) *string {
	if s == nil {
		return nil
	}
	return Words.pointer(*s)
}

var isTrue, isFalse = true, false

func sharedBool(b *bool) *bool {
	switch {
	case b == nil:
		return nil
	case *b:
		return &isTrue
	}
	return &isFalse
}

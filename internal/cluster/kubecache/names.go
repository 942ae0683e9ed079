package kubecache

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxOwnerText is the longest name that Kubernetes gives an owner. The API server does not check it.
const maxOwnerText = 253

func nameOnly(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName(), ResourceVersion: object.GetResourceVersion()}
}

// withOwner returns the name of an object, its controller, and whether it is being deleted.
func withOwner(object client.Object) metav1.ObjectMeta {
	named := nameOnly(object)
	named.DeletionTimestamp = object.GetDeletionTimestamp()
	if owner := metav1.GetControllerOf(object); owner != nil {
		for _, text := range []*string{&owner.APIVersion, &owner.Kind, &owner.Name, (*string)(&owner.UID)} {
			*text = cutName(*text)
		}
		named.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return named
}

// cutName returns a name or UID of an object without what the API server would not have given it.
func cutName(text string) string { return strings.Clone(text[:min(len(text), maxOwnerText)]) }

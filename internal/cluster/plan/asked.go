package plan

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Asked is what annotations on the EtcdCluster ask for, by names of members.
type Asked struct {
	// RemoveForeign are names or IDs of foreign members that may be removed.
	RemoveForeign []string
}

// NewAsked reads the annotations of an EtcdCluster.
func NewAsked(annotations map[string]string) Asked {
	return Asked{RemoveForeign: names(annotations[v1beta2.AnnotationRemoveForeign])}
}

// names of a list with commas. Spaces and empty names are dropped.
func names(list string) []string {
	named := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(named)
	return slices.Compact(named)
}

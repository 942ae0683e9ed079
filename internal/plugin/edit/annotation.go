package edit

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func setAnnotation(c *v1beta2.EtcdCluster, name, value string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[name] = value
}

// names returns the members that an annotation has.
func names(annotation string) []string {
	return strings.FieldsFunc(annotation, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

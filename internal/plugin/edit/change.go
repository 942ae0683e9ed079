package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/versions"
)

// Upgrade sets the version of a cluster, if the operator would accept the path.
func Upgrade(c *v1beta2.EtcdCluster, version string) error {
	version = strings.TrimPrefix(version, "v")
	lowest, highest := c.Status.CurrentVersion, ""
	for _, m := range c.Status.MemberStatuses {
		if highest == "" || state.Older(highest, m.Version) {
			highest = m.Version
		}
	}
	if lowest != "" {
		if refusal := versions.UpgradeRefusal(lowest, highest, version); refusal != "" {
			return fmt.Errorf("the operator refuses etcd %s. %s Nothing was changed", version, strings.TrimSuffix(refusal, "."))
		}
	}
	if c.Spec.ImagePolicy != nil && c.Spec.ImagePolicy.Digest != "" {
		return fmt.Errorf("spec.image.digest selects the image of one version. Nothing was changed. Change version and digest in one step: kubectl edit etcd %s", c.Name)
	}
	c.Spec.Version = version
	return nil
}

// Ask adds a member to an annotation with names of members.
func Ask(c *v1beta2.EtcdCluster, annotation, member string) error {
	known := slices.ContainsFunc(c.Status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.Name == member })
	if !known {
		var names []string
		for _, m := range c.Status.MemberStatuses {
			names = append(names, m.Name)
		}
		return fmt.Errorf("cluster %s has no member %s. Nothing was changed. Its members are: %s", c.Name, member, strings.Join(names, ", "))
	}
	if asked := names(c.Annotations[annotation]); !slices.Contains(asked, member) {
		setAnnotation(c, annotation, strings.Join(append(asked, member), ","))
	}
	return nil
}

// Unask removes a member from an annotation with names of members. A name of no member can be removed, too.
func Unask(c *v1beta2.EtcdCluster, annotation, member string) error {
	asked := names(c.Annotations[annotation])
	left := slices.DeleteFunc(slices.Clone(asked), func(name string) bool { return name == member })
	switch {
	case len(left) == len(asked) && len(asked) == 0:
		return fmt.Errorf("annotation %s of EtcdCluster %s names no member. Nothing was changed", annotation, c.Name)
	case len(left) == len(asked):
		return fmt.Errorf("annotation %s of EtcdCluster %s does not name member %s. Nothing was changed. It names: %s", annotation, c.Name, member, strings.Join(asked, ", "))
	case len(left) == 0:
		delete(c.Annotations, annotation)
		return nil
	}
	setAnnotation(c, annotation, strings.Join(left, ","))
	return nil
}

// Fenced returns the members for which a fence is asked.
func Fenced(c v1beta2.EtcdCluster) []string { return names(c.Annotations[v1beta2.AnnotationFence]) }

// Leader returns the name of the member that leads, or an empty string.
func Leader(c v1beta2.EtcdCluster) string {
	for _, m := range c.Status.MemberStatuses {
		if m.Role == v1beta2.MemberLeader {
			return m.Name
		}
	}
	return ""
}

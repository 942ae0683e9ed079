package plugin

import (
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Facts are what an installation depends on. A part that could not be read has an error in Unreadable.
type Facts struct {
	Kubernetes string
	Nodes      []corev1.Node
	Classes    []storagev1.StorageClass
	// Groups are the API groups that Kubernetes serves.
	Groups []string
	// Operators are those that lead already.
	Operators []Running
	// Denied are the rights of an administrator that the user does not have.
	Denied []string
	// Unreadable are the reasons by the part: nodes, classes, operators, rights.
	Unreadable map[string]error
}

// A Check is one condition of an installation.
type Check struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	Detail string `json:"detail"`
}

// The results. Only Failed makes the command fail.
const (
	Passed  = "ok"
	Warning = "warning"
	Broken  = "failed"
	Unknown = "unknown"
)

// oldestKubernetes is the oldest version that the suite supports. docs/install.md names it, too.
const oldestKubernetes = "1.30.0"

// Checks judges the facts.
func Checks(f Facts) []Check {
	all := []Check{f.kubernetes(), f.nodes(), f.storage(), f.rights(), f.operators(), f.certManager()}
	for i, part := range []string{"", "nodes", "classes", "rights", "operators", ""} {
		if err := f.Unreadable[part]; err != nil {
			all[i].Result, all[i].Detail = Unknown, "It cannot be read: "+err.Error()
		}
	}
	return all
}

func (f Facts) kubernetes() Check {
	c := Check{Name: "Kubernetes", Result: Passed, Detail: f.Kubernetes}
	_, known := etcdversion.Parse(f.Kubernetes) // Kubernetes writes its versions as etcd does
	switch {
	case !known:
		c.Result, c.Detail = Unknown, fmt.Sprintf("The version %q cannot be read.", f.Kubernetes)
	case etcdversion.Older(f.Kubernetes, oldestKubernetes):
		c.Result, c.Detail = Broken, fmt.Sprintf("It is %s, and the suite needs 1.30 or newer.", f.Kubernetes)
	}
	return c
}

func (f Facts) nodes() Check {
	fits := 0
	for _, n := range f.Nodes {
		info := n.Status.NodeInfo
		if info.OperatingSystem == "linux" && slices.Contains([]string{"amd64", "arm64"}, info.Architecture) && !n.Spec.Unschedulable {
			fits++
		}
	}
	c := Check{Name: "Nodes", Result: Passed, Detail: fmt.Sprintf("%d run Linux on amd64 or arm64 and accept Pods.", fits)}
	switch {
	case fits == 0:
		c.Result, c.Detail = Broken, "No node runs Linux on amd64 or arm64 and accepts Pods."
	case fits < 3:
		c.Result = Warning
		c.Detail += " If a node is lost, a cluster of three members loses its quorum: use three nodes or more."
	}
	return c
}

func (f Facts) storage() Check {
	const byDefault = "storageclass.kubernetes.io/is-default-class"
	for _, class := range f.Classes {
		if class.Annotations[byDefault] != "true" {
			continue
		}
		c := Check{Name: "Storage", Result: Passed, Detail: fmt.Sprintf("StorageClass %s is the default.", class.Name)}
		if class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
			c.Result = Warning
			c.Detail += " It does not allow larger volumes, so a full volume cannot grow: set allowVolumeExpansion."
		}
		return c
	}
	return Check{Name: "Storage", Result: Warning, Detail: "There is no default StorageClass. Mark one, or name one in spec.pod.persistentVolumeClaimSpec.storageClassName of each cluster."}
}

func (f Facts) rights() Check {
	if len(f.Denied) == 0 {
		return Check{Name: "Rights", Result: Passed, Detail: "You may install the chart."}
	}
	return Check{Name: "Rights", Result: Broken, Detail: "You may not: " + strings.Join(f.Denied, ", ") + ". An administrator has to install the chart."}
}

func (f Facts) operators() Check {
	if len(f.Operators) > 0 {
		first := f.Operators[0]
		return Check{Name: "Operators", Result: Warning, Detail: fmt.Sprintf("%s %s runs in namespace %s. A second release must not own the CRDs or the same namespaces: see %s", first.Name, terminal.Or(first.Version), first.Namespace, runbook.PageURL("install.md"))}
	}
	if slices.Contains(f.Groups, "etcd.database.coreos.com") {
		return Check{Name: "Operators", Result: Warning, Detail: "The CRDs of etcd.database.coreos.com exist, and no operator of this suite leads. Another operator may own them: see " + runbook.PageURL("migrating-from-coreos.md")}
	}
	return Check{Name: "Operators", Result: Passed, Detail: "None is installed."}
}

func (f Facts) certManager() Check {
	if slices.Contains(f.Groups, "cert-manager.io") {
		return Check{Name: "cert-manager", Result: Passed, Detail: "It is installed, so TLS.certManager can be used."}
	}
	return Check{Name: "cert-manager", Result: Passed, Detail: "It is not installed. TLS.managed does not need it."}
}

// RenderChecks prints checks for a person. A detail keeps its line, as the rows of all tables.
func RenderChecks(out io.Writer, all []Check) error {
	var rows [][]string
	for _, c := range all {
		rows = append(rows, []string{c.Name, c.Result, terminal.OneLine(c.Detail)})
	}
	return terminal.Table(out, []string{"CHECK", "RESULT", "DETAIL"}, rows)
}

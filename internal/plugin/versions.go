package plugin

import (
	"fmt"
	"io"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Versions are those of the plugin and of the operators that run.
type Versions struct {
	Client    string    `json:"client"`
	Operators []Running `json:"operators,omitempty"`
	// Unknown is why the operators could not be read.
	Unknown string `json:"unknown,omitempty"`
	// Alone means that the operators were not asked.
	Alone bool `json:"-"`
}

// Running is an operator that leads.
type Running struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   string `json:"version"`
	Leader    string `json:"leader"`
}

// OperatorsOf returns the operators that hold a Lease.
func OperatorsOf(leases []coordinationv1.Lease) []Running {
	var found []Running
	for _, l := range leases {
		name, ok := strings.CutSuffix(l.Name, "."+v1beta2.Group)
		if !ok || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			continue
		}
		leader, _, _ := strings.Cut(*l.Spec.HolderIdentity, "_")
		found = append(found, Running{Name: name, Namespace: l.Namespace, Version: l.Labels["app.kubernetes.io/version"], Leader: leader})
	}
	slices.SortStableFunc(found, func(a, b Running) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return found
}

// Render prints versions for a person.
func (v Versions) Render(out io.Writer, style terminal.Style) error {
	fmt.Fprintf(out, "kubectl-etcd %s\n", v.Client)
	switch {
	case v.Alone:
		return nil
	case v.Unknown != "":
		fmt.Fprintln(out, terminal.Wrap(v.Unknown, style.Width, 0))
		return nil
	case len(v.Operators) == 0:
		fmt.Fprintln(out, terminal.Wrap("No operator of the suite runs in this Kubernetes. To install it, see "+runbook.PageURL("install.md"), style.Width, 0))
		return nil
	}
	fmt.Fprintln(out)
	var rows [][]string
	others := false
	for _, o := range v.Operators {
		rows = append(rows, []string{o.Name, o.Namespace, terminal.Or(o.Version), o.Leader})
		others = others || o.Version != v.Client
	}
	if err := terminal.Table(out, []string{"OPERATOR", "NAMESPACE", "VERSION", "LEADER"}, rows); err != nil {
		return err
	}
	if others {
		fmt.Fprintln(out)
		fmt.Fprintln(out, terminal.Wrap("The plugin and the operators have different versions. The plugin may not know a reason or a field. Install the plugin of the operators' release.", style.Width, 0))
	}
	return nil
}

// NextVersions returns how the versions begin that a cluster may change to: those of its minor version, and of the next one.
func NextVersions(c v1beta2.EtcdCluster) []string {
	at, ok := etcdversion.Parse(c.Status.CurrentVersion)
	if !ok {
		return nil
	}
	major, minor := at.Numbers()
	return []string{fmt.Sprintf("%d.%d.", major, minor), fmt.Sprintf("%d.%d.", major, minor+1)}
}

package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
)

// completer is the name by which kubectl asks a plugin for completions. It is a link to the program.
const completer = "kubectl_complete-etcd"

// Arguments returns the arguments of the program. If kubectl runs it as kubectl_complete-etcd, they are a line to complete.
func Arguments(line []string) []string {
	if strings.TrimSuffix(filepath.Base(line[0]), ".exe") == completer {
		return append([]string{cobra.ShellCompRequestCmd}, line[1:]...)
	}
	return line[1:]
}

// completion finds the words that a person may write in a command, in the Kubernetes that the plugin sees.
type completion struct{ *session.Session }

// A source returns the words that fit. It gets the arguments that are written already.
type source func(c *cobra.Command, args []string) []string

// completes sets what the arguments and the flags of a command are completed with: by the words of its usage, and by the flags' names.
func (p completion) completes(c *cobra.Command) {
	places := strings.Fields(c.Use)[1:]
	byPlace := map[string]source{
		"<cluster>": p.clusterNames, "[cluster]": p.clusterNames, "<member>": p.memberNames, "[member]": p.memberNames, "<version>": p.versions,
		"<fenced>": p.fencedMembers, "<backup>": p.seriesNames, "<user>": p.certifiedUsers, "<foreign>": p.foreignMembers, "<reason>": func(*cobra.Command, []string) []string { return runbook.Reasons() },
	}
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) < len(places) && places[len(args)] == "<file>" {
				return nil, cobra.ShellCompDirectiveDefault
			}
			if len(args) >= len(places) || byPlace[places[len(args)]] == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			words, directive := byPlace[places[len(args)]](c, args), cobra.ShellCompDirectiveNoFileComp
			if places[len(args)] == "<version>" {
				directive |= cobra.ShellCompDirectiveNoSpace // the patch level follows
			}
			return words, directive
		}
	}
	byFlag := map[string]source{
		"member": p.memberNames, "backup": p.backupNames, "like": p.backupNames, "snapshot": p.snapshotNames,
		"storage": fixed("S3", "GCS", "ABS"), "output": fixed("json", "yaml", "wide"), "load": fixed("s", "m", "l", "xl"),
	}
	for name, words := range byFlag {
		if flag := c.LocalNonPersistentFlags().Lookup(name); flag != nil && flag.Value.Type() == "string" {
			_ = c.RegisterFlagCompletionFunc(name, words.complete) // fails only for a flag that does not exist
		}
	}
}

// completesConnection sets what the flags of the connection are completed with.
func (p completion) completesConnection(root *cobra.Command) {
	for name, words := range map[string]source{"namespace": p.namespaces, "context": p.contexts, "cluster": p.configClusters, "user": p.users} {
		_ = root.RegisterFlagCompletionFunc(name, words.complete) // fails only for a flag that does not exist
	}
}

func (s source) complete(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s(c, args), cobra.ShellCompDirectiveNoFileComp
}

func fixed(words ...string) source { return func(*cobra.Command, []string) []string { return words } }

// A shell shows no errors of a completion, so a source without an answer returns no words.

func (p completion) clusterNames(c *cobra.Command, _ []string) []string {
	var all v1beta2.EtcdClusterList
	return p.listed(c, &all, func() (names []string) {
		for _, item := range all.Items {
			names = append(names, item.Name)
		}
		return names
	})
}

// certifiedUsers are those with a certificate of the operator.
func (p completion) certifiedUsers(c *cobra.Command, args []string) []string {
	_, cluster, err := p.ConnectTo(c.Context(), args[:min(1, len(args))])
	if err != nil {
		return nil
	}
	return cluster.Spec.Auth.Certified()
}

func (p completion) memberNames(c *cobra.Command, args []string) []string {
	_, cluster, err := p.ConnectTo(c.Context(), args[:min(1, len(args))])
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range cluster.Status.MemberStatuses {
		names = append(names, m.Name)
	}
	return names
}

func (p completion) backupNames(c *cobra.Command, args []string) []string {
	var all v1beta2.EtcdBackupList
	return p.listed(c, &all, func() (names []string) {
		for _, b := range ofFirst(args, all.Items) {
			names = append(names, b.Name)
		}
		return names
	})
}

// seriesNames are those of a namespace: the first argument is one of them, and no cluster.
func (p completion) seriesNames(c *cobra.Command, _ []string) []string { return p.backupNames(c, nil) }

func (p completion) snapshotNames(c *cobra.Command, args []string) []string {
	var all v1beta2.EtcdBackupList
	return p.listed(c, &all, func() (names []string) {
		for _, s := range observed.Snapshots(ofFirst(args, all.Items)) {
			names = append(names, s.Path[strings.LastIndex(s.Path, "/")+1:])
		}
		return names
	})
}

// ofFirst returns the EtcdBackups of the cluster that the first argument names, or all without an argument.
func ofFirst(args []string, all []v1beta2.EtcdBackup) []v1beta2.EtcdBackup {
	if len(args) == 0 {
		return all
	}
	return observed.BackupsOf(args[0], all)
}

// versions returns those that the operator accepts next.
func (p completion) versions(c *cobra.Command, args []string) []string {
	_, cluster, err := p.ConnectTo(c.Context(), args[:1])
	if err != nil {
		return nil
	}
	return core.NextVersions(cluster)
}

func (p completion) listed(c *cobra.Command, into client.ObjectList, names func() []string) []string {
	w, err := p.Connect()
	if err != nil || w.List(c.Context(), into, client.InNamespace(w.Namespace)) != nil {
		return nil
	}
	return names()
}

func (p completion) namespaces(c *cobra.Command, _ []string) []string {
	w, err := p.Connect()
	if err != nil {
		return nil
	}
	var found *corev1.NamespaceList
	if found, err = w.Core.CoreV1().Namespaces().List(c.Context(), metav1.ListOptions{}); err != nil {
		return nil
	}
	var names []string
	for _, n := range found.Items {
		names = append(names, n.Name)
	}
	return names
}

func (p completion) contexts(*cobra.Command, []string) []string {
	config, err := p.Rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

func (p completion) configClusters(*cobra.Command, []string) []string {
	config, err := p.Rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Clusters))
}

func (p completion) users(*cobra.Command, []string) []string {
	config, err := p.Rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.AuthInfos))
}

func (p completion) fencedMembers(c *cobra.Command, args []string) []string {
	_, cluster, err := p.ConnectTo(c.Context(), args[:1])
	if err != nil {
		return nil
	}
	return edit.Fenced(cluster)
}

func (p completion) foreignMembers(c *cobra.Command, args []string) []string {
	_, cluster, err := p.ConnectTo(c.Context(), args[:1])
	if err != nil {
		return nil
	}
	var ids []string
	for _, m := range cluster.Status.ForeignMembers {
		ids = append(ids, m.ID)
	}
	return ids
}

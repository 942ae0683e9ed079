package findings

import (
	"regexp"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
)

// about returns the sentences of a page that are about the kind of an object, or about every kind: "EtcdBackup: nothing is saved."
func about(object, text string) string {
	kind, _, _ := strings.Cut(object, " ")
	if !strings.HasPrefix(kind, "Etcd") {
		return text
	}
	var kept []string
	for _, s := range strings.SplitAfter(text, ". ") {
		kinds := runbook.OfKinds.FindStringSubmatch(s)
		switch {
		case kinds == nil:
			kept = append(kept, s)
		case strings.Contains(kinds[1], kind):
			kept = append(kept, strings.ToUpper(kinds[2][:1])+kinds[2][1:])
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// A Subject is what the commands of the runbook are about.
type Subject struct {
	Namespace string
	Cluster   string
	Members   []string
}

func subjectOf(o observed.Objects) Subject {
	about := Subject{Namespace: o.Cluster.Namespace, Cluster: o.Cluster.Name}
	for _, m := range o.Cluster.Status.MemberStatuses {
		about.Members = append(about.Members, m.Name)
	}
	for _, pod := range o.Pods {
		about.Members = append(about.Members, pod.Name)
	}
	return about
}

var (
	// Placed are the commands that name a namespace already, or all.
	Placed = regexp.MustCompile(` (-n|-A|--namespace|--all-namespaces)\b`)
	// Unfilled is a name that the reader has to replace.
	Unfilled = regexp.MustCompile(`<[a-z][a-z -]*>`)
)

// CommandsFor replaces the names of the examples by those of the user. member is the one that a finding names, and object the one that it is
// about. A command with a name that is not known is left out: the shell reads <member> as a file.
func CommandsFor(commands []string, about Subject, object, member string) []string {
	replace := []string{
		"etcd example", "etcd " + about.Cluster, "etcd_cluster=example", "etcd_cluster=" + about.Cluster, "etcd/example", "etcd/" + about.Cluster,
		"example-client", about.Cluster + "-client", "<cluster>", about.Cluster,
	}
	kind, name, _ := strings.Cut(object, " ")
	if kind == "EtcdBackup" || kind == "EtcdRestore" {
		replace = append(replace, strings.ToLower(kind)+" <name>", strings.ToLower(kind)+" "+name)
	}
	if member != "" {
		replace = append(replace, "<member>", member)
	}
	var named []string
	for _, command := range commands {
		command = strings.NewReplacer(replace...).Replace(command)
		if Unfilled.MatchString(command) {
			continue
		}
		if about.Namespace != "" && !Placed.MatchString(command) {
			command = strings.Replace(command, "kubectl ", "kubectl -n "+about.Namespace+" ", 1)
		}
		named = append(named, command)
	}
	return named
}

// MemberIn returns the first member that a text names.
func (s Subject) MemberIn(text string) string {
	for _, name := range s.Members {
		if strings.Contains(text, name) {
			return name
		}
	}
	return ""
}

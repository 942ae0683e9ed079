package plugin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/etcd-suite/etcd-operator/docs"
)

// A page is what the manual says about one reason. Its commands are those of the check that only read. Those of the fix
// are not shown: some lose data, and the page explains when to use which.
type page struct {
	impact   string
	fix      string
	commands []string
	// body is the whole page.
	body string
}

var (
	heading   = regexp.MustCompile(`(?m)^## (\S+)$`)
	link      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	readsOnly = regexp.MustCompile(`^kubectl (get|describe|logs) `)
	label     = regexp.MustCompile(`(?m)^\*\*(Meaning|Impact|Check|Fix)\.\*\* `)
	example   = regexp.MustCompile(` \(\[(?:example|how|why|details)\]\([^)]*\)\)`)
	listItem  = regexp.MustCompile(`^(- |[0-9]+\. )`)
	ofKinds   = regexp.MustCompile(`^(Etcd[A-Z]\w+(?: and Etcd[A-Z]\w+)*): (.+)`)
)

var runbook = sync.OnceValue(func() map[string]page {
	pages := map[string]page{}
	for _, text := range docs.ReasonPages {
		maps.Copy(pages, parseRunbook(text))
	}
	return pages
})

// parseRunbook returns the parts of a page by their reason.
func parseRunbook(text string) map[string]page {
	pages := map[string]page{}
	heads := heading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		pages[text[h[2]:h[3]]] = parsePage(text[h[1]:end])
	}
	return pages
}

func parsePage(body string) page {
	parts := map[string]string{}
	labels := label.FindAllStringSubmatchIndex(body, -1)
	for i, l := range labels {
		end := len(body)
		if i+1 < len(labels) {
			end = labels[i+1][0]
		}
		parts[body[l[2]:l[3]]] = body[l[1]:end]
	}
	impact, _ := prose(parts["Impact"])
	fix, _ := prose(parts["Fix"])
	_, checks := prose(parts["Check"])
	return page{impact: impact, fix: fix, body: body, commands: slices.DeleteFunc(checks, func(c string) bool { return !readsOnly.MatchString(c) })}
}

// prose returns the first paragraph of a part as one line, and the commands of the part. If the paragraph introduces a list,
// the first sentence of each item follows.
func prose(part string) (line string, commands []string) {
	var paragraph, items []string
	ended := false
	for _, text := range strings.Split(part, "\n") {
		trimmed := strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(text, "    ") && trimmed != "" && ended:
			commands = append(commands, trimmed)
		case trimmed == "":
			ended = len(paragraph) > 0
		case listItem.MatchString(text):
			ended = true
			items = append(items, listItem.ReplaceAllString(trimmed, ""))
		case !ended:
			paragraph = append(paragraph, trimmed)
		case len(items) > 0 && strings.HasPrefix(text, "  "):
			items[len(items)-1] += " " + trimmed
		}
	}
	line = plain(strings.Join(paragraph, " "))
	if strings.HasSuffix(line, ":") && len(items) > 0 {
		for i, item := range items {
			line += fmt.Sprintf(" (%d) %s", i+1, sentence(plain(item)))
		}
	} else if strings.HasSuffix(line, ":") {
		line = strings.TrimSuffix(line, ":") + "."
	}
	return line, commands
}

// plain removes the marks of Markdown.
func plain(text string) string {
	text = example.ReplaceAllString(text, "")
	text = link.ReplaceAllString(text, "$1")
	return strings.NewReplacer("**", "", "`", "").Replace(text)
}

// sentence returns the first sentence of a text.
func sentence(text string) string {
	if end := strings.Index(text, ". "); end >= 0 {
		return text[:end+1]
	}
	if introduces, ok := strings.CutSuffix(text, ":"); ok {
		return introduces + "."
	}
	return text
}

// about returns the sentences of a page that are about the kind of an object, or about every kind: "EtcdBackup: nothing is saved."
func about(object, text string) string {
	kind, _, _ := strings.Cut(object, " ")
	if !strings.HasPrefix(kind, "Etcd") {
		return text
	}
	var kept []string
	for _, s := range strings.SplitAfter(text, ". ") {
		kinds := ofKinds.FindStringSubmatch(s)
		switch {
		case kinds == nil:
			kept = append(kept, s)
		case strings.Contains(kinds[1], kind):
			kept = append(kept, strings.ToUpper(kinds[2][:1])+kinds[2][1:])
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// manual is where the pages are that the plugin names. A user has the program, and not the repository.
const manual = "https://github.com/etcd-suite/etcd-operator/blob/main/docs/"

// PageURL returns the address of a page of the manual.
func PageURL(page string) string { return manual + page }

// ReasonURL returns the address of the page of a reason.
func ReasonURL(reason string) string { return PageURL(docs.ReasonPage(reason)) }

// A subject is what the commands of the runbook are about.
type subject struct {
	namespace string
	cluster   string
	members   []string
}

func subjectOf(o Objects) subject {
	about := subject{namespace: o.Cluster.Namespace, cluster: o.Cluster.Name}
	for _, m := range o.Cluster.Status.MemberStatuses {
		about.members = append(about.members, m.Name)
	}
	for _, pod := range o.Pods {
		about.members = append(about.members, pod.Name)
	}
	return about
}

var (
	// placed are the commands that name a namespace already, or all.
	placed = regexp.MustCompile(` (-n|-A|--namespace|--all-namespaces)\b`)
	// unfilled is a name that the reader has to replace.
	unfilled = regexp.MustCompile(`<[a-z][a-z -]*>`)
)

// commandsFor replaces the names of the examples by those of the user. member is the one that a finding names, and object the one that it is
// about. A command with a name that is not known is left out: the shell reads <member> as a file.
func commandsFor(commands []string, about subject, object, member string) []string {
	replace := []string{
		"etcd example", "etcd " + about.cluster, "etcd_cluster=example", "etcd_cluster=" + about.cluster, "etcd/example", "etcd/" + about.cluster,
		"example-client", about.cluster + "-client", "<cluster>", about.cluster,
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
		if unfilled.MatchString(command) {
			continue
		}
		if about.namespace != "" && !placed.MatchString(command) {
			command = strings.Replace(command, "kubectl ", "kubectl -n "+about.namespace+" ", 1)
		}
		named = append(named, command)
	}
	return named
}

// memberIn returns the first member that a text names.
func (s subject) memberIn(text string) string {
	for _, name := range s.members {
		if strings.Contains(text, name) {
			return name
		}
	}
	return ""
}

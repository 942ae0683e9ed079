package runbook

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
	Impact   string
	Fix      string
	Commands []string
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
	// OfKinds matches a paragraph that holds for some kinds only.
	OfKinds = regexp.MustCompile(`^(Etcd[A-Z]\w+(?: and Etcd[A-Z]\w+)*): (.+)`)
)

// Pages returns the pages of all reasons, by reason.
var Pages = sync.OnceValue(func() map[string]page {
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
		pages[text[h[2]:h[3]]] = ParsePage(text[h[1]:end])
	}
	return pages
}

// ParsePage reads the text of one page.
func ParsePage(body string) page {
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
	return page{Impact: impact, Fix: fix, body: body, Commands: slices.DeleteFunc(checks, func(c string) bool { return !readsOnly.MatchString(c) })}
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
			line += fmt.Sprintf(" (%d) %s", i+1, Sentence(plain(item)))
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

// Sentence returns the first sentence of a text.
func Sentence(text string) string {
	if end := strings.Index(text, ". "); end >= 0 {
		return text[:end+1]
	}
	if introduces, ok := strings.CutSuffix(text, ":"); ok {
		return introduces + "."
	}
	return text
}

package runbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Reasons returns the reasons that the runbook explains.
func Reasons() []string { return slices.Sorted(maps.Keys(Pages())) }

// Explain returns the page of a reason for a terminal, with its address. It ignores the case: people write what they remember.
func Explain(reason string, width int) (string, error) {
	for name, page := range Pages() {
		if !strings.EqualFold(name, reason) {
			continue
		}
		var text strings.Builder
		fmt.Fprintf(&text, "%s\n\n", name)
		text.WriteString(layout(page.body, width))
		fmt.Fprintf(&text, "\nOn the web: %s\n", ReasonURL(name))
		return text.String(), nil
	}
	return "", fmt.Errorf("the manual of this release has no reason %q.%s List all: kubectl etcd explain", reason, similar(reason))
}

// similar names the reasons that contain a text.
func similar(text string) string {
	var found []string
	for _, name := range Reasons() {
		if text != "" && strings.Contains(strings.ToLower(name), strings.ToLower(text)) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return " Similar ones: " + strings.Join(found, ", ") + "."
}

// layout returns Markdown as text: paragraphs, items of lists and rows of tables are wrapped, and commands keep their lines.
func layout(markdown string, width int) string {
	text := &terminalPage{width: width}
	for line := range strings.SplitSeq(strings.TrimSpace(markdown), "\n") {
		trimmed := strings.TrimPrefix(strings.TrimSpace(line), "> ")
		switch {
		case strings.HasPrefix(trimmed, "<!--"), strings.HasPrefix(trimmed, "|---"), strings.HasPrefix(trimmed, "[!"):
		case trimmed == "", strings.HasPrefix(line, "    "):
			text.end()
			text.table = false
			fmt.Fprintln(&text.out, strings.TrimRight(line, " "))
		case strings.HasPrefix(trimmed, "|"):
			text.row(trimmed)
		case listItem.MatchString(trimmed):
			text.begin(trimmed, len(listItem.FindString(trimmed)))
		case text.paragraph != "":
			text.paragraph += " " + trimmed
		default:
			text.begin(trimmed, 0)
		}
	}
	text.end()
	return text.out.String()
}

// terminalPage is a page for a terminal while it is written.
type terminalPage struct {
	width     int
	out       strings.Builder
	paragraph string
	indent    int
	// table means that the header of a table was read. It is not shown: the rows read as items of a list.
	table bool
}

func (p *terminalPage) begin(text string, indent int) {
	p.end()
	p.paragraph, p.indent = text, indent
}

// row begins an item with the cells of a row.
func (p *terminalPage) row(line string) {
	cells := strings.Split(strings.Trim(line, "| "), " | ")
	p.end()
	if !p.table {
		p.table = true
		return
	}
	p.begin("- "+strings.Join(cells, ": "), 2)
}

func (p *terminalPage) end() {
	if p.paragraph != "" {
		fmt.Fprintln(&p.out, terminal.Wrap(plain(p.paragraph), p.width, p.indent))
	}
	p.paragraph = ""
}

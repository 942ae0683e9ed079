package plugin

import (
	"regexp"
	"slices"
	"strings"
)

// A Line is one line of a member's log, with the time that Kubernetes recorded.
type Line struct {
	Member string
	Time   string
	Text   string
}

// ParseLog reads a log with timestamps.
func ParseLog(member, text string) []Line {
	var lines []Line
	for line := range strings.SplitSeq(text, "\n") {
		if at, rest, ok := strings.Cut(line, " "); ok {
			lines = append(lines, Line{Member: member, Time: at, Text: rest})
		}
	}
	return lines
}

// MergeLogs returns the lines of all members by time. Lines of one time keep their order.
func MergeLogs(logs ...[]Line) []Line {
	all := slices.Concat(logs...)
	slices.SortStableFunc(all, func(a, b Line) int { return strings.Compare(padded(a.Time), padded(b.Time)) })
	return all
}

// After returns whether the line is newer than a time of a log. Every line is newer than an empty time.
func (l Line) After(at string) bool { return padded(l.Time) > padded(at) }

// padded makes RFC 3339 times with different numbers of digits comparable as text: kubelets drop trailing zeros.
func padded(at string) string {
	at = strings.TrimSuffix(at, "Z")
	if !strings.Contains(at, ".") {
		at += "."
	}
	return at + strings.Repeat("0", max(0, 30-len(at)))
}

// inNamespace is what the operators write into a line about an object, as JSON or as text.
var inNamespace = regexp.MustCompile(`"namespace":\s*"([^"]+)"`)

// LinesAbout returns the lines of an operator's log without those about objects of other namespaces, which may belong to somebody else.
func LinesAbout(text, namespace string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		others := slices.ContainsFunc(inNamespace.FindAllStringSubmatch(line, -1), func(m []string) bool { return m[1] != namespace })
		if !others {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

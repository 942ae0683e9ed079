package plugin

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A Style decides how reports are printed.
type Style struct {
	Color bool
	Wide  bool
	// Width is the length at which lines of text are wrapped. The value 0 wraps none.
	Width int
}

// Codes of a terminal.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

func (s Style) paint(color, text string) string {
	if !s.Color {
		return text
	}
	return color + text + reset
}

// Render prints a Status for a person.
func (s Status) Render(out io.Writer, style Style) error {
	s.first(out, style)
	if len(s.Findings) > 1 {
		fmt.Fprintln(out, "\nAlso:")
		for _, f := range s.Findings[1:] {
			line := fmt.Sprintf("  %s: %s. %s", f.Object, f.Reason, oneLine(f.Problem))
			fmt.Fprintln(out, Wrap(line, style.Width, 4))
		}
	}
	fmt.Fprintln(out)
	if err := s.table(out, style); err != nil {
		return err
	}
	fmt.Fprintln(out)
	s.snapshots(out)
	for _, c := range s.Certificates {
		fmt.Fprintf(out, "Certificate %s: expires %s (%s)\n", c.Name, c.Expires.UTC().Format(time.RFC3339), ago(s.now, c.Expires))
	}
	if len(s.PlainText) > 0 {
		line := fmt.Sprintf("TLS: off for %s. Every Pod that reaches their ports can read and change all data. See %s", strings.Join(s.PlainText, " and "), PageURL("tls.md"))
		fmt.Fprintln(out, Wrap(line, style.Width, 0))
	}
	if s.SharedCA != "" {
		line := fmt.Sprintf("Clients: members accept each client certificate of the CA of %s. If that CA signs for others, too, set spec.TLS.acceptClients: Cluster. See %s",
			s.SharedCA, PageURL("tls.md"))
		fmt.Fprintln(out, Wrap(line, style.Width, 0))
	}
	return nil
}

// first prints what is wrong, what it means and what to do, with the commands that read more.
func (s Status) first(out io.Writer, style Style) {
	lines := s.FirstLines()
	fmt.Fprintln(out, style.paint(s.color(), Wrap(lines[0], style.Width, labelWidth)))
	for _, line := range lines[1:] {
		fmt.Fprintln(out, Wrap(line, style.Width, labelWidth))
	}
	if len(s.Findings) == 0 {
		return
	}
	for _, command := range s.Findings[0].Commands {
		fmt.Fprintf(out, "         %s\n", command)
	}
	fmt.Fprintf(out, "More:    %s\n", ReasonURL(s.Findings[0].Reason))
}

func (s Status) color() string {
	switch {
	case len(s.Findings) == 0:
		return green
	case s.Findings[0].Severity >= Progress:
		return yellow
	}
	return red
}

func (s Status) table(out io.Writer, style Style) error {
	header := []string{"MEMBER", "ROLE", "READY", "VERSION", "SIZE", "RAFT LAG", "ALARMS", "POD"}
	if style.Wide {
		header = append(header, "IN USE", "QUOTA", "VOLUME", "NODE")
	}
	var rows [][]string
	for _, m := range s.Members {
		row := []string{m.Name, or(m.Role), yes(m.Ready, m.Fenced), or(m.Version), bytes(m.Size), number(m.RaftLag), or(m.Alarms), or(m.Pod)}
		if style.Wide {
			row = append(row, bytes(m.InUse), bytes(m.Quota), bytes(m.Volume), or(m.Node))
		}
		rows = append(rows, row)
	}
	return Table(out, header, rows)
}

func (s Status) snapshots(out io.Writer) {
	switch {
	case s.Snapshots.Series == 0:
		fmt.Fprintln(out, "Snapshots: none. No EtcdBackup saves this cluster.")
		return
	case s.Snapshots.Newest == nil:
		fmt.Fprint(out, "Snapshots: none is verified yet")
	default:
		fmt.Fprintf(out, "Snapshots: newest %s at revision %d", s.Snapshots.Newest.Path, s.Snapshots.Newest.Revision)
		if s.Snapshots.At != nil {
			fmt.Fprintf(out, ", taken %s", ago(s.now, *s.Snapshots.At))
		}
		if s.Snapshots.Newest.RestoreTest != "" {
			fmt.Fprintf(out, ", restore test %s", s.Snapshots.Newest.RestoreTest)
		}
	}
	if s.Snapshots.Next != nil {
		fmt.Fprintf(out, ", next %s", ago(s.now, *s.Snapshots.Next))
	}
	fmt.Fprintln(out, ".")
}

// Table prints rows below their header, as kubectl does.
func Table(out io.Writer, header []string, rows [][]string) error {
	writer := tabwriter.NewWriter(Printable(out), 0, 0, 3, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(writer, strings.Join(row, "\t"))
	}
	return writer.Flush()
}

// oneLine returns a text without line breaks and control characters: messages of etcd and Kubernetes are part of it.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == ' ' }), " ")
}

func or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func yes(ready, fenced bool) string {
	switch {
	case fenced:
		return "fenced"
	case ready:
		return "yes"
	}
	return "no"
}

func bytes(n int64) string {
	if n <= 0 {
		return "-"
	}
	const mib = 1 << 20
	if n < mib {
		return resource.NewQuantity((n+1023)>>10<<10, resource.BinarySI).String()
	}
	return strconv.FormatFloat(float64(n)/mib, 'f', 1, 64) + "Mi"
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

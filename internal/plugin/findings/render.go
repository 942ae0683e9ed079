package findings

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Render prints a Status for a person.
func (s Status) Render(out io.Writer, style terminal.Style) error {
	s.first(out, style)
	if len(s.Findings) > 1 {
		fmt.Fprintln(out, "\nAlso:")
		for _, f := range s.Findings[1:] {
			line := fmt.Sprintf("  %s: %s. %s", f.Object, f.Reason, terminal.OneLine(f.Problem))
			fmt.Fprintln(out, terminal.Wrap(line, style.Width, 4))
		}
	}
	fmt.Fprintln(out)
	if err := s.table(out, style); err != nil {
		return err
	}
	fmt.Fprintln(out)
	s.snapshots(out)
	for _, standby := range s.Standbys {
		fmt.Fprintln(out, terminal.Wrap(standby.line(s.now), style.Width, 0))
	}
	for _, c := range s.Certificates {
		fmt.Fprintf(out, "Certificate %s: expires %s (%s)\n", c.Name, c.Expires.UTC().Format(time.RFC3339), terminal.Ago(s.now, c.Expires))
	}
	if len(s.PlainText) > 0 {
		line := fmt.Sprintf("TLS: off for %s. Every Pod that reaches their ports can read and change all data. See %s", strings.Join(s.PlainText, " and "), runbook.PageURL("tls.md"))
		fmt.Fprintln(out, terminal.Wrap(line, style.Width, 0))
	}
	if s.SharedCA != "" {
		line := fmt.Sprintf("Clients: members accept each client certificate of the CA of %s. If that CA signs for others, too, set spec.TLS.acceptClients: Cluster. See %s",
			s.SharedCA, runbook.PageURL("tls.md"))
		fmt.Fprintln(out, terminal.Wrap(line, style.Width, 0))
	}
	return nil
}

// first prints what is wrong, what it means and what to do, with the commands that read more.
func (s Status) first(out io.Writer, style terminal.Style) {
	lines := s.FirstLines()
	fmt.Fprintln(out, style.Paint(s.color(), terminal.Wrap(lines[0], style.Width, terminal.LabelWidth)))
	for _, line := range lines[1:] {
		fmt.Fprintln(out, terminal.Wrap(line, style.Width, terminal.LabelWidth))
	}
	if len(s.Findings) == 0 {
		return
	}
	for _, command := range s.Findings[0].Commands {
		fmt.Fprintf(out, "         %s\n", command)
	}
	fmt.Fprintf(out, "More:    %s\n", runbook.ReasonURL(s.Findings[0].Reason))
}

func (s Status) color() string {
	switch {
	case len(s.Findings) == 0:
		return terminal.Green
	case s.Findings[0].Severity >= Progress:
		return terminal.Yellow
	}
	return terminal.Red
}

func (s Status) table(out io.Writer, style terminal.Style) error {
	header := []string{"MEMBER", "ROLE", "READY", "VERSION", "SIZE", "RAFT LAG", "ALARMS", "POD"}
	if style.Wide {
		header = append(header, "IN USE", "QUOTA", "VOLUME", "NODE")
	}
	var rows [][]string
	for _, m := range s.Members {
		row := []string{m.Name, terminal.Or(m.Role), yes(m.Ready, m.Fenced), terminal.Or(m.Version), terminal.Bytes(m.Size), terminal.Number(m.RaftLag), terminal.Or(m.Alarms), terminal.Or(m.Pod)}
		if style.Wide {
			row = append(row, terminal.Bytes(m.InUse), terminal.Bytes(m.Quota), terminal.Bytes(m.Volume), terminal.Or(m.Node))
		}
		rows = append(rows, row)
	}
	return terminal.Table(out, header, rows)
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
			fmt.Fprintf(out, ", taken %s", terminal.Ago(s.now, *s.Snapshots.At))
		}
		if s.Snapshots.Newest.RestoreTest != "" {
			fmt.Fprintf(out, ", restore test %s", s.Snapshots.Newest.RestoreTest)
		}
	}
	if s.Snapshots.Next != nil {
		fmt.Fprintf(out, ", next %s", terminal.Ago(s.now, *s.Snapshots.Next))
	}
	fmt.Fprintln(out, ".")
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

package findings

import (
	"io"
	"strconv"

	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Worst returns the severity of the first finding. A cluster without one comes last.
func (s Status) Worst() int {
	if len(s.Findings) == 0 {
		return int(Notice) + 1
	}
	return int(s.Findings[0].Severity)
}

// Overview prints one row for each cluster. Wide also shows what is wrong.
func Overview(out io.Writer, all []Status, style terminal.Style) error {
	header := []string{"NAMESPACE", "CLUSTER", "READY", "AVAILABLE", "VERSION", "LAST SNAPSHOT", "PROBLEMS", "FIRST"}
	var rows [][]string
	for _, s := range all {
		taken, first, problems := "-", "-", 0
		if s.Snapshots.At != nil {
			taken = terminal.Ago(s.now, *s.Snapshots.At)
		}
		for _, f := range s.Findings {
			if f.Severity < Progress {
				problems++
			}
		}
		if len(s.Findings) > 0 {
			f := s.Findings[0]
			first = f.Reason
			if f.Object != "EtcdCluster "+s.Cluster {
				first = f.Object + ": " + f.Reason
			}
			if style.Wide {
				first += ". " + terminal.OneLine(f.Problem)
			}
		}
		rows = append(rows, []string{s.Namespace, s.Cluster, terminal.Or(s.Ready), s.Available, terminal.Or(s.Version), taken, strconv.Itoa(problems), first})
	}
	return terminal.Table(out, header, rows)
}

package plugin

import (
	"io"
	"strconv"
)

// Worst returns the severity of the first finding. A cluster without one comes last.
func (s Status) Worst() int {
	if len(s.Findings) == 0 {
		return int(Notice) + 1
	}
	return int(s.Findings[0].Severity)
}

// Overview prints one row for each cluster. Wide also shows what is wrong.
func Overview(out io.Writer, all []Status, style Style) error {
	header := []string{"NAMESPACE", "CLUSTER", "READY", "AVAILABLE", "VERSION", "LAST SNAPSHOT", "PROBLEMS", "FIRST"}
	var rows [][]string
	for _, s := range all {
		taken, first, problems := "-", "-", 0
		if s.Snapshots.At != nil {
			taken = ago(s.now, *s.Snapshots.At)
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
				first += ". " + oneLine(f.Problem)
			}
		}
		rows = append(rows, []string{s.Namespace, s.Cluster, or(s.Ready), s.Available, or(s.Version), taken, strconv.Itoa(problems), first})
	}
	return Table(out, header, rows)
}

package backups

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// SnapshotTable prints snapshots for a person. everywhere adds the namespace.
func SnapshotTable(out io.Writer, all []observed.Saved, wide, everywhere bool, now time.Time) error {
	header := []string{"TAKEN", "REVISION", "KEYS", "SIZE", "RESTORE TEST", "BACKUP", "SNAPSHOT"}
	if wide {
		header = append(header, "ETCD", "CLUSTER ID", "SHA256", "SIGNED BY")
	}
	if everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	var rows [][]string
	for _, s := range all {
		taken, name := "-", s.Path[strings.LastIndex(s.Path, "/")+1:]
		if at, ok := s.Taken(); ok {
			taken = terminal.Ago(now, at)
		}
		test := terminal.Or(string(s.RestoreTest))
		if s.NoQuorum {
			test += " (no quorum)"
		}
		if wide {
			name = s.Path
		}
		row := []string{taken, strconv.FormatInt(s.Revision, 10), strconv.FormatInt(s.Keys, 10), terminal.Bytes(s.Size), test, s.Backup, name}
		if wide {
			row = append(row, terminal.Or(s.EtcdVersion), terminal.Or(s.ClusterID), terminal.Or(s.SHA256), terminal.Or(s.SignedBy))
		}
		if everywhere {
			row = append([]string{s.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	return terminal.Table(out, header, rows)
}

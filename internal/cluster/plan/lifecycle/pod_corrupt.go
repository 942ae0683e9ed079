package lifecycle

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// corruptRestarts is how often etcd must have exited before the operator takes its data for corrupt.
const corruptRestarts = 3

// corruptSigns are parts of etcd's messages about a damaged write-ahead log, snapshot or database, or about data that
// differs from that of the other members.
var corruptSigns = []string{
	"crc mismatch", "walpb:", "wal: file not found", "wal: max entry size limit exceeded", "wal: slice bounds out of range",
	"snap: no available snapshot", "failed to find database snapshot file", "failed to recover v3 backend from snapshot",
	"invalid database", "invalid freelist page", "failed to get all reachable pages", "unexpected fault address",
	"found data inconsistency with peers",
	// A panic while the database is opened; the words before its stack may not fit into what the kubelet keeps.
	"storage.newBackend(", "go.etcd.io/bbolt.(*DB).freepages", "mvcc.(*store).restore(",
}

// diskFull is no damage, though etcd panics.
const diskFull = "no space left on device"

// SaysCorrupt says whether a container exits repeatedly because its data is corrupt.
func SaysCorrupt(c corev1.ContainerStatus) bool {
	ended := lastEnd(c)
	if ended == nil || ended.ExitCode == 0 || c.RestartCount < corruptRestarts || strings.Contains(ended.Message, diskFull) {
		return false
	}
	for _, sign := range corruptSigns {
		if strings.Contains(ended.Message, sign) {
			return true
		}
	}
	return false
}

// SaysEmpty says whether a container has ended because its volume has no data. A member that has started may not start without its data, so
// its --initial-cluster does not name it, and etcd 3.4 to 3.7 say so.
func SaysEmpty(c corev1.ContainerStatus) bool {
	ended := lastEnd(c)
	return ended != nil && ended.ExitCode != 0 && strings.Contains(ended.Message, "couldn't find local name")
}

// tooOld is what etcd 3.4, 3.5 and 3.6 log before they end on data of a cluster that has reached a higher minor version: the first two as they
// compare it with their own (server/etcdserver/api/membership/downgrade.go), and 3.6 as it reads the schema of the database.
var tooOld = regexp.MustCompile(`lower than determined cluster version(?:: |","current-server-version":"[^"]*","determined-cluster-version":")(\d+\.\d+)|version \\"(\d+\.\d+)\.\d+\\" is not supported`)

// SaysTooOld returns the minor version that the cluster has reached, if a container has ended because its etcd is older.
func SaysTooOld(c corev1.ContainerStatus) string {
	ended := lastEnd(c)
	if ended == nil || ended.ExitCode == 0 {
		return ""
	}
	if parts := tooOld.FindStringSubmatch(ended.Message); parts != nil {
		return parts[1] + parts[2]
	}
	return ""
}

// lastEnd is how a container ended last, nil if it has not.
func lastEnd(c corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if c.State.Terminated != nil {
		return c.State.Terminated
	}
	return c.LastTerminationState.Terminated
}

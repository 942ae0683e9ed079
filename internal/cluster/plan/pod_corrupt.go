package plan

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// corruptRestarts are how often etcd must have ended before its word is believed that its data is corrupt.
const corruptRestarts = 3

// corruptSigns are what etcd says when its log or database is damaged, or differs from that of the others: of its
// write-ahead log, its snapshots, its database and of the comparison when it starts.
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

// SaysCorrupt says whether a container keeps ending because of its data.
func SaysCorrupt(c corev1.ContainerStatus) bool {
	ended := c.LastTerminationState.Terminated
	if c.State.Terminated != nil {
		ended = c.State.Terminated
	}
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

// lastWords are why a container ended, by its own words: the panic, or the message and error of etcd's last line,
// without the time, which is another each time.
func lastWords(text string) string {
	if i := strings.LastIndex(text, "panic: "); i >= 0 {
		words, _, _ := strings.Cut(text[i:], "\n")
		return bounded(words)
	}
	line := LastLine(text)
	var entry struct{ Level, Msg, Error string }
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg == "" {
		return line
	}
	if entry.Error != "" {
		return bounded(entry.Msg + ": " + entry.Error)
	}
	return bounded(entry.Msg)
}

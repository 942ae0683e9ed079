package observed

import (
	"encoding/json"
	"strconv"
	"strings"
)

// ParseLook reads what a member answers at /metrics and /health of its metrics port. health may be empty.
func ParseLook(metrics, health string) Look {
	var look Look
	fields := map[string]*int64{
		"etcd_server_proposals_committed_total":   &look.Committed,
		"etcd_server_proposals_applied_total":     &look.Applied,
		"etcd_debugging_mvcc_current_revision":    &look.Revision,
		"etcd_debugging_mvcc_keys_total":          &look.Keys,
		"etcd_server_quota_backend_bytes":         &look.Quota,
		"etcd_mvcc_db_total_size_in_use_in_bytes": &look.InUse,
	}
	for _, line := range strings.Split(metrics, "\n") {
		name, value, ok := strings.Cut(line, " ")
		field := fields[name]
		if !ok || field == nil {
			continue
		}
		if number, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			*field = int64(number)
		}
	}
	look.Alarms = alarms(health)
	return look
}

// alarms returns the alarms in an answer of /health: etcd reports {"health":"false","reason":"ALARM NOSPACE"}.
func alarms(health string) string {
	var answer struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal([]byte(health), &answer) != nil {
		return ""
	}
	if _, alarm, ok := strings.Cut(answer.Reason, "ALARM "); ok {
		return alarm
	}
	return ""
}

// Newest returns the answer of the member with the highest revision.
func Newest(looks map[string]Look) (top Look) {
	for _, look := range looks {
		if look.Revision > top.Revision {
			top = look
		}
	}
	return top
}

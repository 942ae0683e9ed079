package state

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// units of keepWithin.
var units = map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}

// keepWithin parses numbers with units, such as "1d12h". An empty text is 0.
func keepWithin(text string) (time.Duration, error) {
	var total time.Duration
	for rest := text; rest != ""; {
		end := strings.IndexAny(rest, "wdhms")
		if end < 1 {
			return 0, fmt.Errorf("%q: write numbers with units w, d, h, m and s, such as \"2w\" or \"1d12h\"", text)
		}
		number, err := strconv.ParseUint(rest[:end], 10, 32)
		if err != nil || number > 99999 {
			return 0, fmt.Errorf("%q: write numbers of at most five digits with units w, d, h, m and s, such as \"2w\"", text)
		}
		total = min(total+min(time.Duration(number)*units[rest[end]], century), century)
		rest = rest[end+1:]
	}
	return total, nil
}

// RetentionOf returns the retention policy of the spec.
func RetentionOf(name string, spec v1beta2.EtcdBackupSpec) retention.Policy {
	out := retention.Policy{Owner: snapshot.Owner{Backup: name}, Verify: spec.Verify == v1beta2.VerifyRestore, Tests: spec.Drill != nil}
	p := spec.BackupPolicy
	if p == nil {
		return out
	}
	out.MaxBackups, out.Window = p.MaxBackups, archiveWindow(spec.Continuous)
	if zone, err := schedule.Zone(p.TimeZone); err == nil {
		out.Zone = zone
	}
	if r := p.Retention; r != nil {
		out.Within, _ = keepWithin(r.KeepWithin) // badPolicy has checked it
		out.Hourly, out.Daily, out.Weekly, out.Monthly = r.KeepHourly, r.KeepDaily, r.KeepWeekly, r.KeepMonthly
	}
	return out
}

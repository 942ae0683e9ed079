package plantest

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Accused means that a CORRUPT alarm is on for each of these member IDs. ID 0 means that the alarm names no member.
func Accused(ids ...etcd.ID) Change {
	return func(s *state.State) {
		for i := range s.Members {
			for _, id := range ids {
				s.Members[i].Alarms = append(s.Members[i].Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: id})
			}
			s.Members[i].PodReady = false // /readyz fails while that alarm is on
		}
	}
}

// Hashing gives each member in turn a hash. An empty string means that the hash is unknown.
func Hashing(hashes ...string) Change {
	return func(s *state.State) {
		for i, hash := range hashes {
			s.Members[i].Hash = hash
		}
	}
}

// BesideFails means that etcd serves, and a container beside it is not ready.
func BesideFails(d time.Duration) func(*state.Member) {
	return func(m *state.Member) {
		m.PodReady, m.Beside, m.BesideSince = false, "container agent is not ready", Noon.Add(-d)
	}
}

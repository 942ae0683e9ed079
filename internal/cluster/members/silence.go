package members

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Silence remembers since when members have not served, so that one slow read is told from an outage. After a restart of
// the operator it begins anew. The zero value is ready for use.
type Silence struct {
	mutex sync.Mutex
	since map[client.ObjectKey]quietMembers
}

// quietMembers are those of a cluster that do not serve, by name. noQuorum is since when no quorum has answered; zero if one answers. looked is when
// they were observed.
type quietMembers struct {
	members          map[string]quiet
	noQuorum, looked time.Time
}

// lookGap is how long the operator may not have looked at a cluster. After a longer time it begins anew: a member may have served meanwhile. While a
// member does not serve, the operator looks at least every 30 seconds.
const lookGap = 10 * time.Minute

// quiet is since when a member has not served, and whether its etcd has run in that time. failing is since when it has not done what plan.State.Expected
// says; zero if it has.
type quiet struct {
	since, failing time.Time
	ran            bool
}

// Saw writes into each member of a cluster since when it has not served, and since when it has failed. The time of a learner begins when its etcd first
// runs: before, it may have waited for a node or an image, and it has yet to copy the data.
func (q *Silence) Saw(cluster client.ObjectKey, s *state.State) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	before, after := q.since[cluster], quietMembers{members: map[string]quiet{}, looked: s.Now}
	if s.Now.Sub(before.looked) > lookGap {
		before = quietMembers{}
	}
	if !s.MembershipKnown {
		after.noQuorum = firstOf(before.noQuorum, s.Now)
	}
	lost := firstOf(before.noQuorum, s.Now)
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Serving {
			seen, known := before.members[m.Name]
			if !known || (m.Learner && !seen.ran) {
				seen.since = s.Now
			}
			seen.ran = seen.ran || m.Pod == state.PodRunning
			m.SilentSince = seen.since
			if s.Now.Sub(lost) > repair.QuorumGap || (s.MembershipKnown && !state.Expected(*s, *m)) {
				seen.failing = time.Time{}
			}
			if state.Expected(*s, *m) {
				seen.failing = firstOf(seen.failing, s.Now)
			}
			m.FailingSince = seen.failing
			after.members[m.Name] = seen
		}
		if m.Gate != "" || m.Beside != "" || m.ReadyAlone && m.PodReady && !m.Guarded { // the condition Ready says nothing about etcd
			m.UnreadySince = m.SilentSince
		}
	}
	if q.since == nil {
		q.since = map[client.ObjectKey]quietMembers{}
	}
	q.since[cluster] = after
}

// firstOf is the time that was recorded, or now if there is none.
func firstOf(recorded, now time.Time) time.Time {
	if recorded.IsZero() {
		return now
	}
	return recorded
}

func (q *Silence) forget(cluster client.ObjectKey) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.since, cluster)
}

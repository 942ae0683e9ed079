package worker

import "github.com/etcd-suite/etcd-operator/internal/turns"

// maxMoved is how many jobs of one namespace run in lanes without a limit, to which they have moved.
const maxMoved = 64

// slots has the limits of the lanes, and what the jobs of each namespace hold of them.
type slots struct {
	limits  map[string]int          // of each lane
	running map[string]int          // by lane, and by lane and group
	turns   map[string]*turns.Order // by lane
	// away counts the jobs that wait elsewhere, by lane and namespace. moved counts those that Move has moved, by namespace.
	away   map[string]int
	moved  map[string]int
	beyond map[string]int // by lane: jobs that run without a slot, see Claim.Patience
}

func newSlots(limits map[string]int) slots {
	return slots{limits: limits, running: map[string]int{}, turns: map[string]*turns.Order{}, away: map[string]int{}, moved: map[string]int{}, beyond: map[string]int{}}
}

// limit is how many jobs of a lane have a slot.
func (s *slots) limit(lane string) int { return max(s.limits[lane], 1) }

// orderOf returns the turns of the namespaces in the lane of a job.
func (s *slots) orderOf(j *ticket) *turns.Order {
	if s.turns[j.claim.Lane] == nil {
		s.turns[j.claim.Lane] = &turns.Order{}
	}
	return s.turns[j.claim.Lane]
}

// count adds a running job, or removes it with -1.
func (s *slots) count(j *ticket, n int) {
	if n > 0 {
		s.orderOf(j).Take(j.key.Object.Namespace, int64(n))
	} else {
		s.orderOf(j).Return(j.key.Object.Namespace, int64(-n))
	}
	s.running[j.claim.Lane] += n
	for group := range j.claim.Groups {
		for _, name := range []string{inGroup(j, group), inGroup(j, group) + j.key.Object.Namespace} {
			if s.running[name] += n; s.running[name] == 0 {
				delete(s.running, name)
			}
		}
	}
}

// leave takes a job out of its lane.
func (s *slots) leave(j *ticket) {
	s.count(j, -1)
	j.away = true
	s.away[ofNamespace(j)]++
}

// stay forgets that a job is away.
func (s *slots) stay(j *ticket) {
	j.away = false
	if j.beyond {
		j.beyond = false
		s.beyond[j.claim.Lane]--
	}
	if s.away[ofNamespace(j)]--; s.away[ofNamespace(j)] == 0 {
		delete(s.away, ofNamespace(j))
	}
}

// out takes a job out of its lane that has returned or moved.
func (s *slots) out(j *ticket) {
	if j.away {
		s.stay(j)
	} else {
		s.count(j, -1)
	}
}

// move puts a job into another lane, without its groups.
func (s *slots) move(j *ticket, lane string) {
	if !j.moved {
		j.moved = true
		s.moved[j.key.Object.Namespace]++
	}
	j.claim = Claim{Lane: lane}
	s.count(j, 1)
}

// forgetMove forgets that a job has moved.
func (s *slots) forgetMove(j *ticket) {
	if !j.moved {
		return
	}
	if s.moved[j.key.Object.Namespace]--; s.moved[j.key.Object.Namespace] == 0 {
		delete(s.moved, j.key.Object.Namespace)
	}
}

// holds returns how many slots of its lane the namespace of a job uses. For a job that has not begun, those that are away count, too: each comes back, at
// once if it holds what others wait for. So a slot that a job has left is for other namespaces.
func (s *slots) holds(j *ticket) int {
	held := int(s.orderOf(j).Held(j.key.Object.Namespace))
	if !j.began {
		held += s.away[ofNamespace(j)]
	}
	return held
}

// ofNamespace names the jobs of a namespace in a lane.
func ofNamespace(j *ticket) string { return j.claim.Lane + "\x00" + j.key.Object.Namespace }

// why returns why a job has no slot.
func (s *slots) why(j *ticket) turns.Reason {
	lane := j.claim.Lane
	all := s.limit(lane)
	each := j.claim.Namespace
	if each < 1 {
		each = turns.Share(all)
	}
	if s.holds(j) >= each || !j.began && s.moved[j.key.Object.Namespace] >= maxMoved {
		return turns.OwnShare
	}
	for group, limit := range j.claim.Groups {
		if s.running[inGroup(j, group)+j.key.Object.Namespace] >= turns.Share(limit) {
			return turns.OwnShare
		}
		if s.running[inGroup(j, group)] >= max(limit, 1) {
			return turns.Bucket
		}
	}
	if s.running[lane] >= all {
		return turns.AllInUse
	}
	return turns.None
}

// runs returns how many jobs the namespace of a job has in its lane, with those that run without a slot.
func (s *slots) runs(j *ticket) int {
	return int(s.orderOf(j).Held(j.key.Object.Namespace)) + s.away[ofNamespace(j)]
}

// inGroup is the name in running for a group of the lane. With a namespace behind it, it is the name for the jobs of that namespace.
func inGroup(j *ticket, group string) string { return j.claim.Lane + "\x00" + group + "\x00" }

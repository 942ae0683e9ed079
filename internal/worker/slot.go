package worker

import (
	"context"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// maxMoved is how many jobs of one namespace run in lanes without a limit, to which they have moved.
const maxMoved = 64

// leave needs p.mu. It takes a job out of its lane.
func (p *Pool[T]) leave(j *job[T]) {
	p.count(j, -1)
	j.away = true
	p.away[ofNamespace(j)]++
}

// Return puts the job back into its lane.
func (s slot[T]) Return(ctx context.Context, wait bool) {
	p, j := s.pool, s.job
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		j.queues.leave()
	}()
	p.mu.Lock()
	if j.waits--; j.waits > 0 || !j.away {
		p.mu.Unlock()
		return
	}
	if !wait || ctx.Err() != nil || p.why(j) == turns.None {
		p.comeBack(j)
		p.mu.Unlock()
		return
	}
	j.back = make(chan struct{})
	p.returning = append(p.returning, j)
	p.mu.Unlock()
	select {
	case <-j.back:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		p.comeBack(j)
	}
}

// comeBack needs p.mu.
func (p *Pool[T]) comeBack(j *job[T]) {
	p.returning = slices.DeleteFunc(p.returning, func(waiting *job[T]) bool { return waiting == j })
	if !j.away {
		return
	}
	p.stay(j)
	p.count(j, 1)
}

// stay needs p.mu. It forgets that a job is away.
func (p *Pool[T]) stay(j *job[T]) {
	j.away = false
	if j.beyond {
		j.beyond = false
		p.beyond[j.claim.Lane]--
	}
	if p.away[ofNamespace(j)]--; p.away[ofNamespace(j)] == 0 {
		delete(p.away, ofNamespace(j))
	}
}

// takeBack puts jobs back that wait for a slot of their lane. They come before the jobs that have not begun, because they hold what they waited for.
func (p *Pool[T]) takeBack() {
	for {
		i := slices.IndexFunc(p.returning, func(j *job[T]) bool { return p.why(j) == turns.None })
		if i < 0 {
			return
		}
		j := p.returning[i]
		p.comeBack(j)
		close(j.back)
	}
}

// letRun lets a job run that waited for a slot of a lane which it has left.
func (p *Pool[T]) letRun(j *job[T]) {
	if slices.Contains(p.returning, j) {
		p.returning = slices.DeleteFunc(p.returning, func(waiting *job[T]) bool { return waiting == j })
		close(j.back)
	}
}

// holds returns how many slots of its lane the namespace of a job uses. For a job that has not begun, those that are away count, too: each comes back, at
// once if it holds what others wait for. So a slot that a job has left is for other namespaces.
func (p *Pool[T]) holds(j *job[T]) int {
	held := int(p.orderOf(j).Held(j.key.Object.Namespace))
	if !j.began {
		held += p.away[ofNamespace(j)]
	}
	return held
}

// ofNamespace names the jobs of a namespace in a lane.
func ofNamespace[T any](j *job[T]) string { return j.claim.Lane + "\x00" + j.key.Object.Namespace }

// why returns why a job has no slot.
func (p *Pool[T]) why(j *job[T]) turns.Reason {
	lane := j.claim.Lane
	slots := max(p.lanes[lane], 1)
	each := j.claim.Namespace
	if each < 1 {
		each = turns.Share(slots)
	}
	if p.holds(j) >= each || !j.began && p.moved[j.key.Object.Namespace] >= maxMoved {
		return turns.OwnShare
	}
	for group, limit := range j.claim.Groups {
		if p.running[inGroup(j, group)+j.key.Object.Namespace] >= turns.Share(limit) {
			return turns.OwnShare
		}
		if p.running[inGroup(j, group)] >= max(limit, 1) {
			return turns.Bucket
		}
	}
	if p.running[lane] >= slots {
		return turns.AllInUse
	}
	return turns.None
}

package queue

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// Replacements is the default of Options.MaxReplacements.
	Replacements = 10
	// ReplacementsPerMinute is the default of Options.ReplacementsPerMinute.
	ReplacementsPerMinute = 20
	// replacementLimit is how long a replacement counts as running at most. One that cannot end must not stop all others.
	replacementLimit = 10 * time.Minute
)

// errBraked is for a replacement that another EtcdCluster began first.
var errBraked = fmt.Errorf("too many lost members are being replaced: %w", view.ErrRemembered)

// Brake limits how many lost members are replaced at the same time. One namespace always leaves a place to others. After a restart it begins
// anew. A nil brake limits nothing.
type Brake struct {
	limit, perMinute int

	mu      sync.Mutex
	running map[types.NamespacedName]replacement
	// late are the clusters that were not whole again in time. Until they are, they hold no place, because they could hold it for ever.
	late  map[types.NamespacedName]bool
	begun []beginning
}

// beginning is when a replacement began, and in which namespace.
type beginning struct {
	at        time.Time
	namespace string
}

// replacement is since when a member of an EtcdCluster is being replaced.
type replacement struct {
	member etcd.ID
	since  time.Time
}

// NewBrake allows limit replacements at the same time, and perMinute in each minute.
func NewBrake(limit, perMinute int) *Brake {
	return &Brake{limit: limit, perMinute: perMinute, running: map[types.NamespacedName]replacement{}, late: map[types.NamespacedName]bool{}}
}

// State is what a plan for a cluster may know.
func (b *Brake) State(cluster types.NamespacedName, now time.Time) state.Replacements {
	if b == nil {
		return state.Replacements{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.locked(cluster, now)
}

func (b *Brake) locked(cluster types.NamespacedName, now time.Time) state.Replacements {
	for other, running := range b.running {
		if now.Sub(running.since) >= replacementLimit {
			delete(b.running, other)
			b.late[other] = true
		}
	}
	b.begun = slices.DeleteFunc(b.begun, func(of beginning) bool { return now.Sub(of.at) >= time.Minute })
	_, mine := b.running[cluster]
	return state.Replacements{Held: !mine && b.full(cluster), Running: len(b.running), Limit: b.limit, PerMinute: b.perMinute}
}

// full reports whether another cluster of the namespace may not begin a replacement now.
func (b *Brake) full(cluster types.NamespacedName) bool {
	running, begun := 0, 0
	for other := range b.running {
		if other.Namespace == cluster.Namespace {
			running++
		}
	}
	for _, of := range b.begun {
		if of.namespace == cluster.Namespace {
			begun++
		}
	}
	places := len(b.running) >= b.limit || running >= turns.Share(b.limit)
	return !b.late[cluster] && places || len(b.begun) >= b.perMinute || begun >= turns.Share(b.perMinute)
}

// Begin counts a replacement, or fails if there are too many. If etcd refuses the removal of a member again and again, the
// replacement began with the first attempt.
func (b *Brake) Begin(cluster types.NamespacedName, step steps.Step, now time.Time) error {
	remove, is := step.(steps.RemoveMember)
	if b == nil || !is || !remove.ReplacesLost() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.locked(cluster, now).Held {
		return errBraked
	}
	before, mine := b.running[cluster]
	if !mine {
		b.begun = append(b.begun, beginning{now, cluster.Namespace})
	}
	if !b.late[cluster] && (!mine || before.member != remove.ID) {
		b.running[cluster] = replacement{member: remove.ID, since: now}
	}
	return nil
}

// End stops counting a cluster whose lost members are replaced, or that is deleted.
func (b *Brake) End(cluster types.NamespacedName) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, cluster)
	delete(b.late, cluster)
}

package world

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Life is one etcd cluster: what all its members agree on.
type Life struct {
	ID          etcd.ID
	Incarnation int32
	Entries     []Entry
	Leader      etcd.ID
	// Index of the last write that was acknowledged to a client; FirstRevision where it began.
	Index         int
	FirstRevision int64
	// Quorate: it had a quorum once. Adopted: the cluster was this life once.
	Quorate, Adopted bool
	// Restore is the UID of the EtcdRestore that made it.
	Restore types.UID
	// Consented: a survivor was chosen to go on alone. Forced is the one that last did.
	Consented bool
	Forced    etcd.ID
	// Version is the minor version of the cluster, and Downgrade the one that it is to go down to, 0 for none.
	// ChangedAt and LoweredAt are the index when it last changed, and last went down; LastV2 is up to where the raft
	// log may hold what etcd before 3.6 wrote.
	Version, Downgrade, ChangedAt, LoweredAt, LastV2 int
	// Motley: its members were born with several versions, because the user changed it meanwhile.
	Motley bool
	// NoSpace is the member that the alarm was raised for, 0 for none, and FullAt the index from which on nothing is
	// written but by etcd itself.
	NoSpace etcd.ID
	FullAt  int
	// Fences are on: it acknowledges no write.
	Fences []etcd.ID
	// Accused is the member that etcd says is corrupt, 0 for none; with Nobody it does not say who.
	Accused etcd.ID
	Nobody  bool
	// Changes of the membership, oldest first.
	Changes []MembershipChange
	// Cooling is how long it refuses changes, as etcd does after one.
	Cooling int
}

// Entry of a membership.
type Entry struct {
	ID      etcd.ID
	Name    string
	Learner bool
	// Started: client URLs are published. CaughtUp: a learner may be promoted.
	Started, CaughtUp bool
	// Foreign: a person added it. Down: it does not run.
	Foreign, Down bool
	// Ran: a process ran under this identity, and may have voted.
	Ran bool
}

// PeerName is the name by which a member that joins lists the entry.
func (e Entry) PeerName() string {
	if e.Foreign {
		return "foreign-" + e.ID.String()
	}
	return e.Name
}

// Entry returns the member of that name; nil if there is none.
func (l *Life) Entry(name string) *Entry {
	for i := range l.Entries {
		if l.Entries[i].Name == name {
			return &l.Entries[i]
		}
	}
	return nil
}

// ByID returns the member with that ID; nil if there is none.
func (l *Life) ByID(id etcd.ID) *Entry {
	for i := range l.Entries {
		if l.Entries[i].ID == id {
			return &l.Entries[i]
		}
	}
	return nil
}

// MembershipChange is the membership from an index on.
type MembershipChange struct {
	Index   int
	Members []etcd.Member
}

// LogChange records a change of the membership, with the index of the write that it is.
func (l *Life) LogChange() {
	if n := len(l.Changes); n > 0 && slices.EqualFunc(l.Changes[n-1].Members, l.Entries, func(m etcd.Member, e Entry) bool { return m.ID == e.ID && m.Learner == e.Learner }) {
		return
	}
	l.Changes = append(l.Changes, MembershipChange{Index: l.Index, Members: MembershipOf(l)})
}

// AppliedBy returns the membership that a member with this data has applied.
func (l *Life) AppliedBy(d *Data) []etcd.Member {
	var applied []etcd.Member
	for i, change := range l.Changes {
		if i == 0 || change.Index <= d.Index {
			applied = change.Members
		}
	}
	return applied
}

// Forget drops the changes after an index.
func (l *Life) Forget(index int) {
	l.Changes = slices.DeleteFunc(l.Changes, func(c MembershipChange) bool { return c.Index > index })
}

// MembershipOf returns the membership as a member reports it.
func MembershipOf(l *Life) []etcd.Member {
	entries := make([]etcd.Member, 0, len(l.Entries))
	for _, e := range l.Entries {
		m := etcd.Member{ID: e.ID, Learner: e.Learner, Name: e.Name}
		if e.Started {
			m.ClientURLs = published
		}
		entries = append(entries, m)
	}
	return entries
}

var published = []string{"http://member:2379"}

// Fence adds a fence, if it is not on.
func (l *Life) Fence(id etcd.ID) {
	if !slices.Contains(l.Fences, id) {
		l.Fences = append(l.Fences, id)
	}
}

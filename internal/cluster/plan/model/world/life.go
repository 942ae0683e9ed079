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
	// index of the last write that was acknowledged to a client; revision where it began.
	Index         int
	FirstRevision int64
	// quorate: it had a quorum once. adopted: the cluster was this life once.
	Quorate, Adopted bool
	// restore is the UID of the EtcdRestore that made it.
	Restore types.UID
	// consented: a survivor was chosen to go on alone. forced is the one that last did.
	Consented bool
	Forced    etcd.ID
	// version is the minor version of the cluster, and downgrade the one that it is to go down to, 0 for none.
	// changedAt and loweredAt are the index when it last changed, and last went down; lastV2 is up to where the raft
	// log may hold what etcd before 3.6 wrote.
	Version, Downgrade, ChangedAt, LoweredAt, LastV2 int
	// motley: its members were born with several versions, because the user changed it meanwhile.
	Motley bool
	// noSpace is the member that the alarm was raised for, 0 for none, and fullAt the index from which on nothing is
	// written but by etcd itself.
	NoSpace etcd.ID
	FullAt  int
	// fences are on: it acknowledges no write.
	Fences []etcd.ID
	// accused is the member that etcd says is corrupt, 0 for none; with nobody it does not say who.
	Accused etcd.ID
	Nobody  bool
	// changes of the membership, oldest first.
	Changes []MembershipChange
	// cooling is how long it refuses changes, as etcd does after one.
	Cooling int
}

// Entry of a membership.
type Entry struct {
	ID      etcd.ID
	Name    string
	Learner bool
	// started: client URLs are published. caughtUp: a learner may be promoted.
	Started, CaughtUp bool
	// foreign: a person added it. down: it does not run.
	Foreign, Down bool
	// ran: a process ran under this identity, and may have voted.
	Ran bool
}

// PeerName is the name by which a member that joins lists the entry.
func (e Entry) PeerName() string {
	if e.Foreign {
		return "foreign-" + e.ID.String()
	}
	return e.Name
}

func (l *Life) Entry(name string) *Entry {
	for i := range l.Entries {
		if l.Entries[i].Name == name {
			return &l.Entries[i]
		}
	}
	return nil
}

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

func (l *Life) Fence(id etcd.ID) {
	if !slices.Contains(l.Fences, id) {
		l.Fences = append(l.Fences, id)
	}
}

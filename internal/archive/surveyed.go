package archive

import "github.com/etcd-suite/etcd-operator/internal/auth"

// Survey is an archive as its keys and a few headers describe it.
type Survey struct {
	Names  []Names
	Starts []Start // of the same timelines; a timeline of Startless has an empty one
	// Startless are the timelines without a start object. Nothing of them can be restored.
	Startless []Timeline
	// Unreadable are the starts that the store does not return although it returns other objects. While one cannot be read, nothing of its
	// timeline can be restored, and nothing of it is outdated.
	Unreadable []Unreadable
	// ColdBases are the snapshots of the window that the store does not return, so that no replay can begin with them. The caller of Look adds them.
	ColdBases []ColdBase
	// Ranges that can be restored, oldest first. They are the newest ones if there are more than the limit.
	Ranges []Range
	// Holes are parts that cannot be restored although they were archived, oldest first.
	Holes []Hole
	// Unbroken is that of the end of the newest timeline: without a base from there on, its newest revisions cannot be
	// restored.
	Unbroken int64
	// Covered reports whether there is such a base.
	Covered bool
	// Following is how many links of that timeline follow its newest base. If they are more than MaxLinks, no target after those can be
	// restored.
	Following int

	release func()
	end     end         // of that timeline
	bases   []Base      // of that timeline
	newer   []Revisions // of the timelines that were surveyed before
	// others are the revisions of clusters that are later than the timeline that is surveyed.
	others   []Revisions
	evidence evidence
}

// end is a point of a chain at which a range may end.
type end struct {
	to       Point
	unbroken int64
	auth     auth.State
	last     bool // of its timeline
}

// follows reports whether a replay from a base reaches the end. If users, roles or authentication have changed since the last link, a base at
// that revision has the change and needs no link.
func (e end) follows(b Base) bool {
	within := b.Point.Revision >= e.unbroken && b.Point.Revision <= e.to.Revision
	return within && (b.Auth.Keeps(e.auth) || e.last && b.Point.Revision == e.to.Revision)
}

// changes reports whether users, roles or authentication have changed between e and a later end.
func (e end) changes(later end) bool {
	return later.to.Revision > e.to.Revision && !e.auth.Keeps(later.auth)
}

// Unreadable is the start of a timeline that the store does not return.
type Unreadable struct {
	Timeline Timeline
	Key      string
	Err      error
}

// ColdBase is a snapshot that the store does not return.
type ColdBase struct {
	Base
	Err error
}

package backups

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// A Point is what a restore asks of a continuous archive: a revision, or a time if the revision is 0.
type Point struct {
	Revision int64
	Time     time.Time
}

// ParsePoint reads the flags --revision and --time. Both may be empty. A fraction of a second is cut off, so that the result
// never has a later change.
func ParsePoint(revision int64, at string, now time.Time) (Point, error) {
	if revision < 0 {
		return Point{}, fmt.Errorf("--revision is %d, and the first revision is 1. Nothing was changed", revision)
	}
	if at == "" {
		return Point{Revision: revision}, nil
	}
	parsed, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return Point{}, fmt.Errorf("--time is %q. Nothing was changed. Write it in RFC 3339, for example %s", at, terminal.Stamp(now))
	}
	if parsed.After(now) {
		return Point{}, fmt.Errorf("--time is %s, and now it is %s. Nothing was changed. Choose a time that has passed", terminal.Stamp(parsed), terminal.Stamp(now))
	}
	return Point{Time: parsed.UTC().Truncate(time.Second)}, nil
}

// ParseTo reads the flag --to: a revision, or a time. It may be empty.
func ParseTo(to string, now time.Time) (Point, error) {
	if revision, err := strconv.ParseInt(to, 10, 64); err == nil {
		if revision < 1 {
			return Point{}, fmt.Errorf("--to is %s, and the first revision is 1. Nothing was changed", to)
		}
		return Point{Revision: revision}, nil
	}
	point, err := ParsePoint(0, to, now)
	if err != nil {
		return Point{}, fmt.Errorf("--to is a revision or a time: %w", err)
	}
	return point, nil
}

// IsZero reports whether no point is asked for.
func (p Point) IsZero() bool { return p.Revision == 0 && p.Time.IsZero() }

func (p Point) String() string {
	if p.Revision > 0 {
		return fmt.Sprintf("revision %d", p.Revision)
	}
	return terminal.Stamp(p.Time)
}

// hidden reports whether a point of a range is restored only from a newer timeline: a revision that such a one had, or a time after it began.
func (p Point) hidden(r v1beta2.RecoverableRange, all []v1beta2.RecoverableRange) bool {
	if p.Revision == 0 {
		return slices.ContainsFunc(all, func(n v1beta2.RecoverableRange) bool {
			return n.Timeline > r.Timeline && !p.Time.Before(n.From.Time.Time)
		})
	}
	return slices.ContainsFunc(r.OnlyByTime, func(h v1beta2.RevisionRange) bool { return h.First <= p.Revision && p.Revision <= h.Last })
}

// compare returns -1 if the range begins after the point, 1 if it ends before it, and 0 if it has the point.
func (p Point) compare(r v1beta2.RecoverableRange) int {
	switch {
	case p.Revision > 0 && p.Revision < r.From.Revision, p.Revision == 0 && p.Time.Before(r.From.Time.Time):
		return -1
	case p.Revision > r.To.Revision, p.Revision == 0 && p.Time.After(r.To.Time.Time):
		return 1
	}
	return 0
}

// A Reachable is a point with the archive that has it.
type Reachable struct {
	Point
	Backup string
	Range  v1beta2.RecoverableRange
	// Past is whether the point is later than the status shows. The operator decides whether the archive has it by now.
	Past bool
	// Older is whether the cluster was restored since then, so that its present history is another one.
	Older bool
}

// FindPoint returns the archive that has a point, the newest timeline first. It refuses a point before or between the ranges.
func FindPoint(p Point, backups []v1beta2.EtcdBackup) (Reachable, error) {
	var late *Reachable
	archives := false
	for _, b := range backups {
		ranges := b.Status.Recoverable
		for i, r := range slices.Backward(ranges) {
			archives = true
			last := ranges[len(ranges)-1]
			found := Reachable{Point: p, Backup: b.Name, Range: r, Older: r.Timeline < last.Timeline}
			if p.compare(r) == 0 && !p.hidden(r, ranges) {
				return found, nil
			}
			if i == len(ranges)-1 && p.compare(r) > 0 && (late == nil || r.To.Time.After(late.Range.To.Time.Time)) {
				found.Past = true
				late = &found
			}
		}
	}
	if late != nil {
		return *late, nil
	}
	if !archives {
		return Reachable{}, fmt.Errorf("no EtcdBackup of this cluster has an archive to restore %s from. Nothing was changed. Restore a snapshot: kubectl etcd snapshots. To have an archive from now on, set spec.continuous of the series", p)
	}
	return Reachable{}, fmt.Errorf("%s cannot be restored: no archive of this cluster has it. Nothing was changed. Choose a point of these: %s", p, rangesOf(backups))
}

func rangesOf(backups []v1beta2.EtcdBackup) string {
	var all []string
	for _, b := range backups {
		for _, r := range b.Status.Recoverable {
			all = append(all, describeRange(r))
		}
	}
	return strings.Join(all, "; ")
}

func describeRange(r v1beta2.RecoverableRange) string {
	text := fmt.Sprintf("revisions %d to %d, %s to %s", r.From.Revision, r.To.Revision, terminal.Stamp(r.From.Time.Time), terminal.Stamp(r.To.Time.Time))
	for _, h := range r.OnlyByTime {
		text += fmt.Sprintf(" (%d to %d only by time)", h.First, h.Last)
	}
	return text
}

// PointLoss says what a restore of a point would remove. saved are the snapshots of the cluster. They bound the number of lost
// revisions, because an archive lists no revision for a time.
func PointLoss(c v1beta2.EtcdCluster, r Reachable, saved []observed.Saved, looks map[string]observed.Look, now time.Time) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Restore into EtcdCluster %s (etcd cluster %s), which runs now:\n", c.Name, terminal.Or(c.Status.ClusterID))
	point := r.String()
	if r.Revision == 0 {
		point += " (" + terminal.Ago(now, r.Time) + ")"
	}
	fmt.Fprintf(&text, "  point       %s, from the archive of EtcdBackup %s\n", point, r.Backup)
	fmt.Fprintf(&text, "  archive     %s, timeline %d\n", describeRange(r.Range), r.Range.Timeline)
	fmt.Fprintf(&text, "  lost        %s\n", r.lost(c, saved, observed.Newest(looks)))
	if r.Past {
		fmt.Fprintln(&text, "  warning     The point is later than the status shows, which is up to a minute old. If the archive does not have it, the operator changes nothing.")
	}
	fmt.Fprintln(&text, "The operator saves the present data first, if the cluster answers (safetySnapshot: IfPossible).")
	return text.String()
}

// lost describes what the cluster has now and the point does not have.
func (r Reachable) lost(c v1beta2.EtcdCluster, saved []observed.Saved, top observed.Look) string {
	switch {
	case top.Revision == 0:
		return fmt.Sprintf("every write after %s. No member reports its revision, so their number is unknown.", r.Point)
	case r.Older:
		return fmt.Sprintf("the present data: revision %d, %d keys. The cluster was restored since then, and has another history.", top.Revision, top.Keys)
	case r.Revision > 0:
		return fmt.Sprintf("%d revisions written since then (now %d, %d keys).", max(0, top.Revision-r.Revision), top.Revision, top.Keys)
	}
	known := r.Range.From.Revision
	if r.Past {
		known = r.Range.To.Revision
	}
	for _, s := range saved {
		if at, ok := s.Taken(); ok && !at.After(r.Time) && s.ClusterID == c.Status.ClusterID {
			known = max(known, s.Revision)
		}
	}
	return fmt.Sprintf("every write after that second: at most %d revisions (now %d, %d keys). --dry-run finds the exact revision.", max(0, top.Revision-known), top.Revision, top.Keys)
}

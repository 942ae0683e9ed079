package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// snapshotsAt is the minor version that needs such a snapshot. snapshotsVia is the version to lower the cluster to before.
const (
	snapshotsAt  = "3.7"
	snapshotsVia = "3.5"
	// silentOfDowngrade is a possible target of a downgrade. Its members do not report that a downgrade is enabled.
	silentOfDowngrade = "3.5"
)

// Preparation that a change from lowest and highest needs; false when it needs none. While members run two minor
// versions the cluster is of the lower one, and so is all data.
func Preparation(s State, lowest, highest string) (preparation, bool) {
	to := Minor(s.Spec.EtcdVersion())
	switch {
	case lowest == "" || Minor(lowest) != Minor(highest) || to == Minor(lowest):
		return preparation{}, false
	case Older(s.Spec.EtcdVersion(), lowest):
		return preparation{To: to, Via: to}, true
	case to == snapshotsAt:
		return preparation{To: to, Via: snapshotsVia}, true
	}
	return preparation{}, false
}

// Answered says whether any member answers.
func Answered(s State) bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool { return m.Answers })
}

// Prepared is how far a preparation is.
func Prepared(s State, p preparation) v1beta2.VersionChangeStep {
	if s.VersionChange == nil || s.VersionChange.To != p.To {
		return ""
	}
	return s.VersionChange.Step
}

// Downgrade is the minor version that etcd is bringing its data down to; empty when it is not. Members of 3.5 do not
// report it: as long as the status has a record of it, it may be under way.
func Downgrade(s State) string {
	tells := false
	for _, m := range s.Current() {
		if m.Downgrade != "" {
			return Minor(m.Downgrade)
		}
		tells = tells || m.StorageVersion != ""
	}
	if !tells && Answered(s) && s.VersionChange != nil && s.VersionChange.To == silentOfDowngrade {
		return silentOfDowngrade
	}
	return ""
}

// imageRun returns the image of a version that the members run. It is empty if they differ, or if the repository is not that of another
// image: who changes the repository may do so because nodes cannot pull from the previous one.
func imageRun(s State, version, other string) string {
	found := ""
	for _, m := range s.Current() {
		switch {
		case m.Version != version || m.PodImage == "":
		case found != "" && found != m.PodImage, repositoryOf(m.PodImage) != repositoryOf(other):
			return ""
		default:
			found = m.PodImage
		}
	}
	return found
}

// repositoryOf an image, without tag and digest.
func repositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if tag := strings.LastIndexByte(image, ':'); tag > strings.LastIndexByte(image, '/') {
		return image[:tag]
	}
	return image
}

// Versions are the lowest and the highest that members of the cluster run. As long as not all of them say it, what was
// known last counts as well: the one that is silent may be the one that has yet to change. What ran before the cluster
// formed does not count, and neither does what ran before etcd finished an upgrade. Empty when nothing is known.
func Versions(s State) (lowest, highest string) {
	said := []string{}
	silent := !s.MembershipKnown
	for _, m := range s.Current() {
		if m.Version != "" {
			said = append(said, m.Version)
		}
		silent = silent || (m.InMembership && m.Started && m.Version == "")
	}
	if silent && s.Formed() && s.KnownVersion != "" && !upgradedPast(s, s.KnownVersion) && !RefusesKnown(s) {
		said = append(said, s.KnownVersion)
	}
	for _, v := range said {
		if lowest == "" || Older(v, lowest) {
			lowest = v
		}
		if highest == "" || Older(highest, v) {
			highest = v
		}
	}
	return lowest, highest
}

// upgradedPast says whether etcd finished an upgrade to a higher minor version than that of v. It brings the data to a minor version only after
// all members run it, and it refuses to start a member with a lower one from then on (etcd, server/etcdserver/version/monitor.go). A
// downgrade brings the data of all members down before the first of them runs the lower version.
func upgradedPast(s State, v string) bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool {
		return m.StorageVersion != "" && Older(Minor(v)+".0", Minor(m.StorageVersion)+".0")
	})
}

// RefusesKnown says whether the version that was known last is an old one: a member refuses to start with it, and names the minor version that
// the spec asks for. The status may be from before an upgrade, for example from a backup of the API.
func RefusesKnown(s State) bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool {
		return m.NeedsMinor != "" && m.NeedsMinor == Minor(s.Spec.EtcdVersion()) && m.NeedsMinor != Minor(s.KnownVersion)
	})
}

// LowestVersion that a member of the cluster runs, as far as is known.
func LowestVersion(s State) string {
	lowest, _ := Versions(s)
	return lowest
}

// What etcd's upgrade guides ask for before a minor version is reached, and, going down, of the version that is
// reached: the one that may be upgraded again.
var lateEnough = map[string]string{"3.6": "3.5.26", "3.7": "3.6.11"}

// UpgradeRefusal says why a cluster whose members run versions from lowest to highest may not be brought to another,
// or nothing. The rules are those of etcd's upgrade and downgrade guides: one minor at a time, from a late enough
// patch release, and down only where etcd has its downgrade API (since 3.6). While members run two minor versions the
// cluster is of the lower one, and may go to either.
func UpgradeRefusal(lowest, highest, to string) string {
	low, ok := etcdversion.Parse(lowest)
	if !ok {
		return ""
	}
	high, ok := etcdversion.Parse(highest)
	if !ok {
		high = low
	}
	target, ok := etcdversion.Parse(to)
	if !ok {
		return fmt.Sprintf("Version %q is not a version of etcd. Correct spec.version.", to)
	}
	mixed := Minor(lowest) != Minor(highest)
	fromMajor, fromMinor := low.Numbers()
	highMajor, _ := high.Numbers()
	toMajor, toMinor := target.Numbers()
	switch {
	case Minor(to) == Minor(lowest):
		return "" // a patch, or back from an upgrade that is half done
	case mixed && Minor(to) != Minor(highest):
		return fmt.Sprintf("Members run %s and %s. Set spec.version to one of these two. When all members run the same version, set it to %s.", lowest, highest, to)
	case target.Before(low) && fromMajor == toMajor:
		return downgradeRefusal(low, target)
	case fromMajor != toMajor:
		return fmt.Sprintf("The cluster runs %s, and etcd cannot change its major version. Set spec.version to %s.x.", lowest, low.Minor())
	case toMinor > fromMinor+1:
		return fmt.Sprintf("etcd is upgraded one minor version at a time. Set spec.version to the newest %d.%d before %s.", fromMajor, fromMinor+1, to)
	}
	if needed, ok := lateEnough[Minor(to)]; ok && low.Before(etcdversion.MustParse(needed)) && highMajor == fromMajor {
		return fmt.Sprintf("etcd's upgrade guide requires %s or newer before %s. Upgrade to that version first.", needed, Minor(to))
	}
	return ""
}

func downgradeRefusal(from, to etcdversion.Version) string {
	major, fromMinor := from.Numbers()
	_, toMinor := to.Numbers()
	needed, ok := lateEnough[fmt.Sprintf("%d.%d", major, toMinor+1)]
	switch {
	case fromMinor <= 5 || toMinor < 5:
		return fmt.Sprintf("The cluster runs %s, and %s cannot read its data. Set spec.version back to %s.", from, to, from)
	case toMinor+1 < fromMinor:
		return fmt.Sprintf("etcd is downgraded one minor version at a time. Set spec.version to the newest %d.%d before %s.", major, fromMinor-1, to)
	case ok && to.Before(etcdversion.MustParse(needed)):
		return fmt.Sprintf("Downgrade to %s or newer. From an older version the cluster could not be upgraded again.", needed)
	}
	return ""
}

// Minor of a version: "3.6" of "3.6.16". What is no version has itself.
func Minor(v string) string { return etcdversion.Minor(v) }

// Older says whether version a is before version b. What is no version is not.
func Older(a, b string) bool { return etcdversion.Older(a, b) }

// SupportsLearners reports whether a version has learners, which etcd has since 3.4. An unknown version is taken for a new one.
func SupportsLearners(v string) bool {
	return !Older(v, "3.4.0")
}

// tooNew says whether a database is of a newer minor than the spec's version, which could not open it. The restore's
// own operator then says so; it may not have seen this cluster when it proved the snapshot.
func tooNew(s State, storageVersion string) bool {
	snapshot, known := etcdversion.Parse(storageVersion)
	target, ok := etcdversion.Parse(s.Spec.EtcdVersion())
	return known && ok && snapshot.CompareMinor(target) > 0
}

// TwoBelow says whether data is more than one minor version below a version of etcd. etcd supports an upgrade of one minor version at a
// time only (etcd docs, Upgrading etcd clusters).
func TwoBelow(data, version string) bool {
	from, ok := etcdversion.Parse(data)
	to, known := etcdversion.Parse(version)
	if !ok || !known {
		return false
	}
	fromMajor, fromMinor := from.Numbers()
	toMajor, toMinor := to.Numbers()
	return fromMajor == toMajor && fromMinor+1 < toMinor
}

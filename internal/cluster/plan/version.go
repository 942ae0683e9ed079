package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// VersionFor returns the version for an incarnation's members. If a change is refused or not prepared, recreated Pods keep
// the version that the cluster runs. A restored cluster starts with the version of the spec.
func (s State) VersionFor(incarnation int32) string {
	wanted := s.Spec.EtcdVersion()
	if !s.Formed() || incarnation != s.Incarnation {
		return wanted
	}
	lowest, highest := s.versions()
	if lowest != "" && lowest != wanted && (s.upgradeRefusal(lowest, highest, wanted) != "" || !s.readyFor(lowest, highest)) {
		return lowest
	}
	return wanted
}

// ImageFor returns the image for an incarnation's members. While a version is kept, it is the image that the members run: the suffix of a
// registry, the tag and the digest in the spec are those of another version, so the image made from them may not exist.
func (s State) ImageFor(incarnation int32) string {
	version := s.VersionFor(incarnation)
	image := s.Spec.ImageOf(version)
	if version == s.Spec.EtcdVersion() {
		return image
	}
	return cmp.Or(s.imageRun(version, image), image)
}

// imageRun returns the image of a version that the members run. It is empty if they differ, or if the repository is not that of another
// image: who changes the repository may do so because nodes cannot pull from the previous one.
func (s State) imageRun(version, other string) string {
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

// versions are the lowest and the highest that members of the cluster run. As long as not all of them say it, what was
// known last counts as well: the one that is silent may be the one that has yet to change. What ran before the cluster
// formed does not count, and neither does what ran before etcd finished an upgrade. Empty when nothing is known.
func (s State) versions() (lowest, highest string) {
	said := []string{}
	silent := !s.MembershipKnown
	for _, m := range s.Current() {
		if m.Version != "" {
			said = append(said, m.Version)
		}
		silent = silent || (m.InMembership && m.Started && m.Version == "")
	}
	if silent && s.Formed() && s.KnownVersion != "" && !s.upgradedPast(s.KnownVersion) && !s.refusesKnown() {
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
func (s State) upgradedPast(v string) bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool {
		return m.StorageVersion != "" && Older(minor(v)+".0", minor(m.StorageVersion)+".0")
	})
}

// refusesKnown says whether the version that was known last is an old one: a member refuses to start with it, and names the minor version that
// the spec asks for. The status may be from before an upgrade, for example from a backup of the API.
func (s State) refusesKnown() bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool {
		return m.NeedsMinor != "" && m.NeedsMinor == minor(s.Spec.EtcdVersion()) && m.NeedsMinor != minor(s.KnownVersion)
	})
}

// lowestVersion that a member of the cluster runs, as far as is known.
func (s State) lowestVersion() string {
	lowest, _ := s.versions()
	return lowest
}

// What etcd's upgrade guides ask for before a minor version is reached, and, going down, of the version that is
// reached: the one that may be upgraded again.
var lateEnough = map[string]string{"3.6": "3.5.26", "3.7": "3.6.11"}

// upgradeRefusal says why a cluster whose members run versions from lowest to highest may not be brought to another,
// or nothing. The rules are those of etcd's upgrade and downgrade guides: one minor at a time, from a late enough
// patch release, and down only where etcd has its downgrade API (since 3.6). While members run two minor versions the
// cluster is of the lower one, and may go to either.
func upgradeRefusal(lowest, highest, to string) string {
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
	mixed := minor(lowest) != minor(highest)
	fromMajor, fromMinor := low.Numbers()
	highMajor, _ := high.Numbers()
	toMajor, toMinor := target.Numbers()
	switch {
	case minor(to) == minor(lowest):
		return "" // a patch, or back from an upgrade that is half done
	case mixed && minor(to) != minor(highest):
		return fmt.Sprintf("Members run %s and %s. Set spec.version to one of these two. When all members run the same version, set it to %s.", lowest, highest, to)
	case target.Before(low) && fromMajor == toMajor:
		return downgradeRefusal(low, target)
	case fromMajor != toMajor:
		return fmt.Sprintf("The cluster runs %s, and etcd cannot change its major version. Set spec.version to %s.x.", lowest, low.Minor())
	case toMinor > fromMinor+1:
		return fmt.Sprintf("etcd is upgraded one minor version at a time. Set spec.version to the newest %d.%d before %s.", fromMajor, fromMinor+1, to)
	}
	if needed, ok := lateEnough[minor(to)]; ok && low.Before(etcdversion.MustParse(needed)) && highMajor == fromMajor {
		return fmt.Sprintf("etcd's upgrade guide requires %s or newer before %s. Upgrade to that version first.", needed, minor(to))
	}
	return ""
}

// upgradeRefusal refuses another minor version while there are foreign members, because etcd's version is that of its lowest
// member, and the operator cannot see what they run. It also refuses a version in which a read-only cluster would take writes.
func (s State) upgradeRefusal(lowest, highest, to string) string {
	if (s.Spec.ReadOnly || s.readOnly()) && lowest != "" && !Older(lowest, fencesFrom) && Older(to, fencesFrom) {
		return fmt.Sprintf("spec.readOnly is true, and a refusal of writes does not hold before etcd %s. Set spec.readOnly to false before you change to %s.", fencesFrom, to)
	}
	if len(s.ForeignMembers) > 0 && lowest != "" && minor(to) != minor(lowest) {
		return fmt.Sprintf("Member %s is in the cluster, and the operator did not add it and cannot see its version. A change to %s waits until it is removed.", s.ForeignMembers[0].label(), minor(to))
	}
	return upgradeRefusal(lowest, highest, to)
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

// minor of a version: "3.6" of "3.6.16". What is no version has itself.
func minor(v string) string { return etcdversion.Minor(v) }

// Older says whether version a is before version b. What is no version is not.
func Older(a, b string) bool { return etcdversion.Older(a, b) }

// supportsLearners: etcd has learners since 3.4. An unknown version is taken for a new one.
func supportsLearners(v string) bool {
	return !Older(v, "3.4.0")
}

// tooNew says whether a database is of a newer minor than the spec's version, which could not open it. The restore's
// own operator then says so; it may not have seen this cluster when it proved the snapshot.
func (s State) tooNew(storageVersion string) bool {
	snapshot, known := etcdversion.Parse(storageVersion)
	target, ok := etcdversion.Parse(s.Spec.EtcdVersion())
	return known && ok && snapshot.CompareMinor(target) > 0
}

// UpgradeRefusal returns why the operator would not bring members of versions from lowest to highest to another version, and an
// empty string if it would. kubectl etcd upgrade asks before it changes the spec.
func UpgradeRefusal(lowest, highest, to string) string { return upgradeRefusal(lowest, highest, to) }

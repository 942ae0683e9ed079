package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// roll brings one member after another to the image that the spec asks for, the leader last and not before it
// handed over. The data stays: a member comes back on its volume.
func roll(s State) Step {
	var stale []Member
	for _, m := range s.Current() {
		if m.InMembership && (m.PodImage != s.Spec.Image() || s.staleTrust(m)) {
			stale = append(stale, m)
		}
	}
	if !s.Formed() || len(stale) == 0 {
		return nil
	}
	if refusal := s.rollRefusal(); refusal != "" {
		return Wait{Why: v1beta2.ReasonVersionNotSupported, Message: refusal, Stalled: true}
	}
	for _, m := range stale {
		if !m.Leader {
			return s.restart(m)
		}
	}
	leader := stale[0]
	if step := s.moveLeader(leader); step != nil {
		return step
	}
	return s.restart(leader)
}

// restart makes a member's Pod again.
func (s State) restart(m Member) Step {
	if m.PodImage == s.Spec.Image() {
		return DeletePod{Name: m.Name, Why: v1beta2.ReasonRotatingCertificates, Message: "start it with the authorities that its Secrets hold now"}
	}
	return DeletePod{Name: m.Name, Why: v1beta2.ReasonUpgrading, Message: "bring it to " + s.Spec.Image()}
}

// versionFor an incarnation's members. A change that is refused does not slip in with a Pod that is made again.
// A restored cluster starts with what the spec asks for: that is the way around a refusal.
func (s State) versionFor(incarnation int32) string {
	wanted := s.Spec.EtcdVersion()
	if !s.Formed() || incarnation != s.Incarnation {
		return wanted
	}
	current := s.lowestVersion()
	if current == "" {
		current = s.KnownVersion
	}
	if current != wanted && upgradeRefusal(current, wanted) != "" {
		return current
	}
	return wanted
}

// ImageFor an incarnation's members.
func (s State) ImageFor(incarnation int32) string {
	spec := v1beta2.EtcdClusterSpec{Repository: s.Spec.Repository, Version: s.versionFor(incarnation)}
	return spec.Image()
}

// rollRefusal says why members may not be brought to the spec's image, or nothing.
func (s State) rollRefusal() string {
	if !s.Durable() {
		return "members with emptyDir lose their data when their Pod is made again: version, repository and certificate authorities cannot change; restore a snapshot into a new cluster instead"
	}
	return upgradeRefusal(s.lowestVersion(), s.Spec.EtcdVersion())
}

// upgradeRefusal says why a cluster of version from may not be brought to version to, or nothing. The rules are
// those of etcd's upgrade guides: one minor at a time, from a late enough patch release.
func upgradeRefusal(from, to string) string {
	current, err := version.ParseSemantic(from)
	if err != nil {
		return ""
	}
	target, err := version.ParseSemantic(to)
	if err != nil {
		return fmt.Sprintf("version %q is no version of etcd", to)
	}
	switch {
	case current.Major() != target.Major() || target.Minor() > current.Minor()+1:
		return fmt.Sprintf("etcd is upgraded one minor version at a time: set version to the newest %d.%d before %s", current.Major(), current.Minor()+1, to)
	case target.Minor() < current.Minor():
		return fmt.Sprintf("the cluster runs %s, and etcd's data is not readable by an older minor: set version back to %s", from, from)
	case target.Minor() == current.Minor():
		return ""
	case target.Minor() == 6 && current.LessThan(version.MustParseSemantic("3.5.26")):
		return "upgrade to 3.5.26 or newer before 3.6, as etcd's upgrade guide asks"
	case target.Minor() == 7:
		return "an upgrade in place to 3.7 is not supported yet, because members born on 3.5 or older may not start: make a snapshot and restore it into a cluster of version " + to
	}
	return ""
}

// lowestVersion that a current member says it runs; empty while none answers.
func (s State) lowestVersion() string {
	lowest := ""
	for _, m := range s.Current() {
		if lowest == "" || older(m.Version, lowest) {
			lowest = m.Version
		}
	}
	return lowest
}

// older says whether version a is before version b. What is no version is not.
func older(a, b string) bool {
	if a == "" || a == b {
		return false
	}
	first, err := version.ParseSemantic(a)
	if err != nil {
		return false
	}
	second, err := version.ParseSemantic(b)
	return err != nil || first.LessThan(second)
}

// supportsLearners: etcd has learners since 3.4. An unknown version is taken for a new one.
func supportsLearners(v string) bool {
	parsed, err := version.ParseSemantic(v)
	return err != nil || !parsed.LessThan(version.MustParseSemantic("3.4.0"))
}

// tooNew says whether a database is of a newer minor than the spec's version, which could not open it. The restore's
// own operator then says so; it may not have seen this cluster when it proved the snapshot.
func (s State) tooNew(storageVersion string) bool {
	snapshot, err := version.ParseSemantic(storageVersion)
	if err != nil {
		return false
	}
	target, err := version.ParseSemantic(s.Spec.EtcdVersion())
	return err == nil && snapshot.WithPatch(0).GreaterThan(target.WithPatch(0))
}

package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// rollMembers recreates the Pods that differ from the spec, one after the other. The leader is the last, after it has handed
// over. A member restarts with the data on its volume. A member without a volume is replaced (see leavingCause).
func rollMembers(s State) Step {
	if !s.Formed() {
		return nil
	}
	if refusal := s.imageOfAnotherVersion(); refusal != "" {
		return Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: refusal + " Until then the operator restarts no member.", Stalled: true}
	}
	stale := s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership && s.stale(m) != nil })
	if len(stale) == 0 {
		return nil
	}
	if refusal := s.cannotRoll(stale); refusal != nil {
		return refusal
	}
	if wait := s.quotaTooLow(); wait != nil {
		return wait
	}
	stale = slices.DeleteFunc(slices.Clone(stale), s.goesWithPod)
	if len(stale) == 0 {
		return nil
	}
	for _, m := range stale {
		if step := s.waitForData(m); step != nil {
			return step
		}
		if wait := s.waitForForeignVoters(); wait != nil {
			return wait
		}
		if !m.Leader {
			return s.stale(m)
		}
	}
	leader := stale[0]
	if step := s.moveLeader(leader); step != nil {
		return step
	}
	return s.stale(leader)
}

// stale returns the step that stops a member whose Pod differs from the spec. Otherwise it returns nil.
func (s State) stale(m Member) Step {
	stop := DeletePod{Name: m.Name}
	switch {
	case m.PodImage != s.Spec.Image():
		stop.Reason, stop.Message = v1beta2.ReasonUpgrading, "it must run image "+s.Spec.Image()
	case s.trustsOldCA(m):
		stop.Reason, stop.Message = v1beta2.ReasonRotatingCertificates, "it must trust the CA that its Secrets hold now"
	case m.Outdated && m.Resize == ResizeNone:
		stop.Reason, stop.Message = v1beta2.ReasonRolling, "spec.pod or spec.TLS has changed"
	case m.Start == StartSeed && (m.Volume == VolumePresent || !s.Durable()) && s.step() == v1beta2.RestoreGrowing:
		stop.Reason, stop.Message = v1beta2.ReasonRestoring, "it must run without the init container that restored it"
	default:
		return nil
	}
	return stop
}

// recreateGrace is how long a member may not serve before it is restarted with the current spec.
const recreateGrace = time.Minute

// recreateUnhealthy recreates the Pod of a member that does not serve and differs from the spec: the change may be what
// corrects it. No data is lost, because the next Pod has the same volume.
func recreateUnhealthy(s State) Step {
	if !s.MembershipKnown {
		return nil
	}
	image, grace := s.ImageFor(s.Incarnation), max(recreateGrace, s.electionGrace())
	for _, m := range s.membership() {
		down := !m.Serving && (m.Pod == PodStarting || m.Pod == PodRunning) && s.failedFor(m, grace)
		if !down || m.Learner || !s.keepsData(m) || (m.PodImage == image && !m.Outdated && !s.trustsOldCA(m)) {
			continue
		}
		if m.PodImage == image && !m.Outdated {
			return DeletePod{Name: m.Name, Reason: v1beta2.ReasonRotatingCertificates, Message: "it does not serve, and it must trust the CA that its Secrets hold now"}
		}
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "it does not serve and differs from the spec"}
	}
	return s.recreateBeside(image)
}

// recreateBeside recreates the Pod of a member that serves, but has a container beside etcd that is not ready, if the Pod
// differs from the spec. Otherwise a correction of that container would wait for ever, because waitUntilHealthy stands before
// rollMembers. A quorum serves meanwhile, unless all members serve, as in a roll. The leader is the last, after it has handed over.
func (s State) recreateBeside(image string) Step {
	if v := s.Voters(); v.Healthy < v.Total && !v.KeepsQuorumWhileStopped(true) {
		return nil
	}
	var leader *Member
	for _, m := range s.membership() {
		differs := m.PodImage != image || (m.Outdated && m.Resize == ResizeNone)
		switch {
		case !m.Serving || m.Learner || !s.keepsData(m) || !differs || !s.besideFor(m, recreateGrace):
		case m.Leader:
			leader = &m
		default:
			return m.stopBeside()
		}
	}
	if leader == nil {
		return nil
	}
	if step := s.moveLeader(*leader); step != nil {
		return step
	}
	return leader.stopBeside()
}

func (m Member) stopBeside() Step {
	return DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "a container beside etcd is not ready, and the Pod differs from the spec"}
}

// besideFor says whether a container beside etcd has not been ready for longer than grace.
func (s State) besideFor(m Member, grace time.Duration) bool {
	return m.Beside != "" && m.Pod == PodRunning && s.Now.Sub(m.BesideSince) > grace
}

// cannotRoll says why members may not be brought to what the spec asks for.
func (s State) cannotRoll(stale []Member) Step {
	for _, m := range stale {
		if m.PodImage == s.Spec.Image() {
			continue
		}
		if refusal := s.rollRefusal(); refusal != "" {
			return Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: refusal + " The members keep their version until then.", Stalled: true}
		}
	}
	return nil
}

// imageOfAnotherVersion reports a member that runs the spec's image, and whose etcd is of another minor version than the spec.
// Then image.digest, image.tag or spec.version is wrong, and no check of an upgrade applies.
func (s State) imageOfAnotherVersion() string {
	wanted := s.Spec.EtcdVersion()
	for _, m := range s.membership() {
		if m.PodImage == s.Spec.Image() && m.Version != "" && minor(m.Version) != minor(wanted) {
			return fmt.Sprintf("Member %s runs the image of the spec, which is of etcd %s, and spec.version is %s. Set spec.version to %s if you want that version. Otherwise set spec.image to an image of %s.",
				m.Name, m.Version, wanted, m.Version, wanted)
		}
	}
	return ""
}

// rollRefusal says why members may not be brought to the spec's image, or nothing.
func (s State) rollRefusal() string {
	if refusal := s.imageOfAnotherVersion(); refusal != "" {
		return refusal
	}
	lowest, highest := s.versions()
	wanted := s.Spec.EtcdVersion()
	if refusal := s.upgradeRefusal(lowest, highest, wanted); refusal != "" {
		return refusal
	}
	p, needed := s.preparation(lowest, highest)
	if needed && p.via == p.to && slices.ContainsFunc(s.membership(), func(m Member) bool { return s.inPod(m) && s.HoldsData(m) }) {
		return fmt.Sprintf("The data of the members is in their Pods (emptyDir), so an upgrade or downgrade replaces them. etcd accepts no new member while it converts its data to %s. Set spec.version to %s again.", p.to, lowest)
	}
	return ""
}

// waitForData waits until etcd of the spec's version can read a member's data.
func (s State) waitForData(m Member) Step {
	data := minor(m.StorageVersion)
	switch wanted := s.Spec.EtcdVersion(); {
	case m.StorageVersion == "" || data == minor(wanted):
		return nil
	case twoBelow(m.StorageVersion, wanted):
		return Wait{Reason: v1beta2.ReasonUpgrading, Message: "The data of member " + m.Name + " is still at " + data + ", and etcd " + minor(wanted) + " cannot read it. etcd is converting it to " + minor(m.Version) + "."}
	case Older(m.StorageVersion, wanted):
		return nil
	default:
		return Wait{Reason: v1beta2.ReasonUpgrading, Message: "The data of member " + m.Name + " is still at " + data + ". etcd is converting it to " + minor(wanted) + "."}
	}
}

// unreadable is the minor version of data that etcd of the spec's version cannot read, because a downgrade has begun, or because etcd has
// yet to raise it after an upgrade. It is empty if members report none.
func (s State) unreadable() string {
	for _, m := range s.Current() {
		if twoBelow(m.StorageVersion, s.Spec.EtcdVersion()) {
			return minor(m.StorageVersion)
		}
	}
	return ""
}

// twoBelow says whether data is more than one minor version below a version of etcd. etcd supports an upgrade of one minor version at a
// time only (etcd docs, Upgrading etcd clusters).
func twoBelow(data, version string) bool {
	from, ok := etcdversion.Parse(data)
	to, known := etcdversion.Parse(version)
	if !ok || !known {
		return false
	}
	fromMajor, fromMinor := from.Numbers()
	toMajor, toMinor := to.Numbers()
	return fromMajor == toMajor && fromMinor+1 < toMinor
}

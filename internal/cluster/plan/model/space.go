package model

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The space that members' databases take. Nothing is written into it but by a fault; what matters is what the operator
// does when it is used up.

// quota of a member in MiB, if the spec asks for none.
const quota = 100

// tellsQuota is the first minor version whose members report their quota.
const tellsQuota = 6

// quotaAsked by a spec, in MiB.
func quotaAsked(spec v1beta2.EtcdClusterSpec) int {
	return int(cmp.Or(spec.QuotaBackendBytes()/mib, quota))
}

const mib = 1 << 20

// spaceFaults, and one of corrupt data, are added to all others in a world that is crowded.
var spaceFaults = []fault{fillSpace, fillSpace, raiseQuota, toggleDefragmentation, taint}

// hearSpace is what a member says of it.
func hearSpace(l *life, p *pod, d *data, m *state.Member) {
	m.DBSize, m.DBSizeInUse = int64(d.file)*mib, int64(d.told)*mib
	if minorOf(p.version) >= tellsQuota {
		m.DBQuota = int64(p.quota) * mib
	}
	if l.noSpace != 0 {
		m.Revision = min(m.Revision, l.revision+int64(l.fullAt))
		m.Alarms = append(m.Alarms, etcd.Alarm{Kind: etcd.AlarmNoSpace, Member: l.noSpace})
	}
}

// guessSpace of a member that was put there: half of what it uses is history.
func guessSpace(l *life, d *data, m *state.Member) {
	d.file, d.used, d.keys = int(m.DBSize/mib), int(m.DBSizeInUse/mib), int(m.DBSizeInUse/mib/2)
	d.told = d.used
	for _, alarm := range m.Alarms {
		if alarm.Kind == etcd.AlarmNoSpace {
			l.noSpace = alarm.Member
		}
		if alarm.IsFence() && !slices.Contains(l.fences, alarm.Member) {
			l.fences = append(l.fences, alarm.Member)
		}
		if alarm.Kind == etcd.AlarmCorrupt && !alarm.IsFence() {
			l.accused = alarm.Member
			d.tainted = strings.HasPrefix(m.Hash, "wrong")
		}
	}
}

// changeSpace does what the steps about it do, on every member that is up.
func (w *World) changeSpace(l *life, step steps.Step) error {
	switch step := step.(type) {
	case steps.CompactHistory:
		for i := range l.entries {
			if d := w.dataOf(l.entries[i].name); d != nil {
				d.used = min(d.used, d.keys)
				if w.pick(2) == 1 {
					d.told = d.used // otherwise when it writes next
				}
			}
		}
	case steps.DefragmentMember:
		if e := l.entry(step.Name); e != nil && w.up(l, e) {
			d := w.dataOf(step.Name)
			d.file, d.told = d.used, d.used
		}
	case steps.DisarmAlarm:
		if step.Alarm.Kind == etcd.AlarmNoSpace && step.Alarm.Member == l.noSpace {
			l.noSpace = 0
		}
		if step.Alarm.Kind == etcd.AlarmCorrupt {
			w.disarmCorrupt(l, step.Alarm)
		}
	}
	return nil
}

// fillSpace uses the quota up, by history more or less.
func fillSpace(w *World, r *rand.Rand) string {
	l := w.formed()
	if l == nil || len(l.entries) == 0 {
		return ""
	}
	room, keys := w.smallestQuota(l), r.IntN(quota)
	for i := range l.entries {
		if d := w.dataOf(l.entries[i].name); d != nil {
			d.file, d.used, d.keys = room, keys+r.IntN(room-keys), keys
			d.told = d.used
		}
	}
	l.noSpace, l.fullAt = l.entries[r.IntN(len(l.entries))].id, l.index
	w.Cluster.Spec.NoSpace = &v1beta2.NoSpacePolicy{
		Action:        []v1beta2.NoSpaceAction{v1beta2.NoSpaceCompact, v1beta2.NoSpaceCompact, v1beta2.NoSpaceDefragment, v1beta2.NoSpaceWait}[r.IntN(4)],
		KeepRevisions: ptr.To(int64(r.IntN(10))),
	}
	return fmt.Sprintf("the space of %d MiB is used up, with %d MiB of keys", room, keys)
}

// smallestQuota of the members: all hold the same data, so the one with the smallest quota is full first.
func (w *World) smallestQuota(l *life) int {
	smallest := 0
	for i := range l.entries {
		if p := w.pod(l.entries[i].name); p != nil && (smallest == 0 || p.quota < smallest) {
			smallest = p.quota
		}
	}
	return cmp.Or(smallest, quota)
}

// raiseQuota asks for more space in the spec. Pods that run keep theirs until they are recreated.
func raiseQuota(w *World, r *rand.Rand) string {
	asked := quotaAsked(w.Cluster.Spec) + 1 + r.IntN(quota)
	w.Cluster.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: resource.NewQuantity(int64(asked)*mib, resource.BinarySI)}
	w.template++
	return fmt.Sprintf("quota %d MiB", asked)
}

func toggleDefragmentation(w *World, r *rand.Rand) string {
	w.Cluster.Spec.Defragmentation = nil
	switch r.IntN(3) {
	case 0:
		w.Cluster.Spec.Defragmentation = &v1beta2.DefragmentationPolicy{Schedule: "@hourly"}
	case 1:
		w.Cluster.Spec.Defragmentation = &v1beta2.DefragmentationPolicy{FreePercent: ptr.To[int32](20), MinimumSize: ptr.To(resource.MustParse("10Mi"))}
	}
	return "another defragmentation"
}

// checkDefragment: a member answers nobody meanwhile, so it is as if it were stopped.
func (w *World) checkDefragment(l *life, step steps.DefragmentMember) {
	w.checkQuorum(l, "a member is defragmented")
	if l == nil || l.entry(step.Name) == nil {
		return
	}
	if v := w.voters(l); v.Healthy < v.Total {
		w.violate(QuorumIsKept, "%s is defragmented while %d of %d voters are healthy", step.Name, v.Healthy, v.Total)
	}
	if slices.ContainsFunc(l.entries, func(e entry) bool { return e.learner }) {
		w.violate(OneChangeAtATime, "%s is defragmented while a member is added", step.Name)
	}
	w.checkLeader(l, l.entry(step.Name))
}

// checkDisarm: the alarm keeps etcd from writing where there is no room.
func (w *World) checkDisarm(l *life, step steps.DisarmAlarm) {
	if l == nil {
		return
	}
	if step.Alarm.Kind == etcd.AlarmCorrupt {
		w.checkAcquitted(l)
		return
	}
	for i := range l.entries {
		room := quota
		if p := w.pod(l.entries[i].name); p != nil {
			room = p.quota
		}
		if d := w.dataOf(l.entries[i].name); d != nil && d.file >= room {
			w.violate(AlarmsHaveACause, "the alarm is disarmed, but %s has no room", l.entries[i].name)
		}
	}
}

// checkSpace of a cluster that is done.
func (w *World) checkSpace(l *life) {
	if l.noSpace != 0 && !w.Cluster.Spec.ReadOnly { // etcd compacts nothing in a read-only cluster
		w.violate(EveryRunSettles, "Done is reported, but etcd refuses writes")
	}
	if l.accused != 0 {
		w.violate(EveryRunSettles, "Done is reported, but etcd refuses requests")
	}
}

package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// restoreOf returns a verified EtcdRestore of cluster example with an age.
func restoreOf(name string, age time.Duration, changes ...func(*v1beta2.EtcdRestore)) v1beta2.EtcdRestore {
	r := v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(noon.Add(-age))}}
	r.Spec.EtcdCluster.Name = "example"
	r.Status.Source, r.Status.Snapshot = &v1beta2.RestoreSource{}, &v1beta2.Snapshot{}
	r.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionVerified, Status: metav1.ConditionTrue}}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func withCondition(kind string) func(*v1beta2.EtcdRestore) {
	return func(r *v1beta2.EtcdRestore) {
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
	}
}

// restore-operator uses the same order when it reports to an EtcdRestore which other one it waits for.
func TestOneRestoreIsTakenUpAtATimeTheOldestFirst(t *testing.T) {
	unproven := func(r *v1beta2.EtcdRestore) { r.Status.Conditions = nil }
	deleted := func(r *v1beta2.EtcdRestore) { r.DeletionTimestamp = &metav1.Time{Time: noon} }
	elsewhere := func(r *v1beta2.EtcdRestore) { r.Spec.EtcdCluster.Name = "other" }
	older, younger := restoreOf("older", time.Hour), restoreOf("younger", time.Minute)
	for name, test := range map[string]struct {
		restores []v1beta2.EtcdRestore
		underWay types.UID
		want     string
	}{
		"chooses the oldest one":                                   {[]v1beta2.EtcdRestore{older, younger}, "", "older"},
		"continues the one under way even if another one is older": {[]v1beta2.EtcdRestore{older, younger}, "uid-younger", "younger"},
		"chooses the next one if the first is complete":            {[]v1beta2.EtcdRestore{restoreOf("older", time.Hour, withCondition(v1beta2.ConditionComplete)), younger}, "uid-older", "younger"},
		"chooses the next one if the first has failed":             {[]v1beta2.EtcdRestore{restoreOf("older", time.Hour, withCondition(v1beta2.ConditionFailed)), younger}, "uid-older", "younger"},
		"ignores one that is not verified":                         {[]v1beta2.EtcdRestore{restoreOf("older", time.Hour, unproven), younger}, "", "younger"},
		"ignores one that is being deleted":                        {[]v1beta2.EtcdRestore{restoreOf("older", time.Hour, deleted), younger}, "", "younger"},
		"ignores one of another cluster":                           {[]v1beta2.EtcdRestore{restoreOf("older", time.Hour, elsewhere)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := state.State{Name: "example"}
			if test.underWay != "" {
				v.Restore = &v1beta2.ClusterRestoreStatus{UID: test.underWay}
			}
			restore.ChooseRestore(&v, test.restores)
			got := ""
			if v.Request != nil {
				got = v.Request.Name
			}
			if got != test.want {
				t.Errorf("takes up %q, want %q", got, test.want)
			}
		})
	}
}

// The operator does not wait for an EtcdRestore that has failed, and does not report that it was deleted.
func TestARestoreUnderWayThatIsNotAskedForSaysWhy(t *testing.T) {
	unproven := func(r *v1beta2.EtcdRestore) { r.Status.Conditions = nil }
	for name, test := range map[string]struct {
		restores           []v1beta2.EtcdRestore
		failed, unverified bool
	}{
		"it is verified":         {[]v1beta2.EtcdRestore{restoreOf("back", 0)}, false, false},
		"it has failed":          {[]v1beta2.EtcdRestore{restoreOf("back", 0, withCondition(v1beta2.ConditionFailed))}, true, false},
		"it has lost its status": {[]v1beta2.EtcdRestore{restoreOf("back", 0, unproven)}, false, true},
		"it was deleted":         {nil, false, false},
		"another one has failed": {[]v1beta2.EtcdRestore{restoreOf("other", 0, withCondition(v1beta2.ConditionFailed))}, false, false},
	} {
		s := state.State{Name: "example", Restore: &v1beta2.ClusterRestoreStatus{UID: "uid-back"}}
		if restore.ChooseRestore(&s, test.restores); s.RestoreFailed != test.failed || s.RestoreUnverified != test.unverified {
			t.Errorf("%s: failed %t, unverified %t", name, s.RestoreFailed, s.RestoreUnverified)
		}
	}
}

// This was defect 10 of coreos/etcd-operator: it deleted the cluster before it read the snapshot, so a bad snapshot lost all data.
func TestNothingIsStoppedOrDeletedBeforeTheSeedIsProven(t *testing.T) {
	for name, seed := range map[string]change{
		"no seed":                     func(*state.State) {},
		"a seed with only its volume": aSeed(volume(state.VolumePresent)),
		"a seed that starts":          aSeed(serving, pod(state.PodStarting), silent),
		"a seed that fails":           aSeed(failed(state.Seed{Failures: 2, Message: seedFailed})),
		"a seed with a lower revision than the snapshot": aSeed(serving, func(m *state.Member) { m.Revision = 41 }),
	} {
		t.Run(name, func(t *testing.T) {
			switch step := Plan(stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, seed)).(type) {
			case steps.StopMembers, steps.DeletePod, steps.DeleteVolume, steps.BeginSwitch, steps.AdoptSeed:
				t.Errorf("it does %#v", step)
			}
		})
	}
}

// A status with a volume has no snapshot. A cluster that does not take it up never starts, and one that limits its seed as for an empty snapshot ends it.
func TestAVolumeIsTakenUpWithoutASnapshot(t *testing.T) {
	volume := v1beta2.RestoreVolumeStatus{RestoreVolume: v1beta2.RestoreVolume{ClaimName: "kept", Path: "data"}, ClaimUID: "uid-claim", Size: 8 << 30}
	s := stateWith()
	restore.ChooseRestore(&s, []v1beta2.EtcdRestore{restoreOf("back", time.Hour, func(r *v1beta2.EtcdRestore) {
		r.Status.Source, r.Status.Snapshot, r.Status.Volume = nil, nil, &volume
	})})
	if s.Request == nil || s.Request.Volume == nil || *s.Request.Volume != volume || s.Request.Size != volume.Size {
		t.Errorf("%+v", s.Request)
	}
}

// A claim of 100 GiB has a database of a few MiB. If its seed hung, the restore waited 29 hours, because so many bytes take that long.
func TestTheLimitsOfASeedFollowTheSmallerOfTheClaimAndTheVolumeOfAMember(t *testing.T) {
	const gib = plantest.Gi
	small := plantest.VolumesOf("4Gi")
	memory := func(limit string) plantest.Change {
		return func(s *state.State) {
			s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
			if limit != "" {
				s.Spec.Pod.EmptyDir.SizeLimit = ptr.To(resource.MustParse(limit))
			}
		}
	}
	for name, c := range map[string]struct {
		spec        plantest.Change
		claim, want int64
	}{
		"a claim larger than the volume of a member":  {small, 100 * gib, 4 * gib},
		"a claim smaller than the volume of a member": {small, 3 * gib, 3 * gib},
		"a claim whose size is not known":             {small, 0, 4 * gib},
		"members in memory":                           {memory("3Gi"), 100 * gib, 3 * gib},
		"members in their Pods without a limit":       {memory(""), 100 * gib, 8 * gib},
	} {
		s := stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), c.spec)
		restore.ChooseRestore(&s, []v1beta2.EtcdRestore{restoreOf("back", time.Hour, func(r *v1beta2.EtcdRestore) {
			r.UID, r.Status.Source, r.Status.Snapshot = "uid-back", nil, nil
			r.Status.Volume = &v1beta2.RestoreVolumeStatus{RestoreVolume: v1beta2.RestoreVolume{ClaimName: "kept"}, Size: c.claim}
		})})
		if s.Request == nil || s.Request.Size != c.want {
			t.Fatalf("%s: %+v, want %d bytes", name, s.Request, c.want)
		}
		hours := time.Hour + time.Duration(c.want>>20)*time.Second // at 1 MiB a second
		for _, late := range []bool{false, true} {
			since := noon.Add(-hours + time.Minute)
			if late {
				since = noon.Add(-hours - time.Minute)
			}
			s.Members = slices.DeleteFunc(s.Members, func(m state.Member) bool { return m.Incarnation == 2 })
			aSeed(onVolume, pod(state.PodStarting), func(m *state.Member) { m.Seed, m.UnreadySince = &state.Seed{}, since })(&s)
			if _, fails := restore.Restore(s).(steps.FailRestore); fails != late {
				t.Errorf("%s, since %s: %+v", name, since, restore.Restore(s))
			}
		}
	}
}

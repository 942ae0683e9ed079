package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func recreated(r *v1beta2.EtcdRestore) { r.UID = "uid-of-the-next-object" }

func replacing(id string) func(*v1beta2.EtcdRestore) {
	return func(r *v1beta2.EtcdRestore) { r.Spec.Replaces = id }
}

// GitOps or Velero may recreate an EtcdRestore. Such an object once rolled a cluster back without consent.
func TestARestoreThatWasCarriedOutIsNotRepeatedByAccident(t *testing.T) {
	other := func(r *v1beta2.EtcdRestore) {
		r.Spec.EtcdBackup = &v1beta2.BackupReference{Name: "nightly", Snapshot: "other"}
	}
	shorter := func(r *v1beta2.EtcdRestore) { ttl := int32(1); r.Spec.TTLSecondsAfterFinished = &ttl }
	dryRun := func(r *v1beta2.EtcdRestore) { r.Spec.DryRun = true }
	for name, test := range map[string]struct {
		restore v1beta2.EtcdRestore
		state   state.State
		taken   bool
	}{
		"a recreated EtcdRestore is refused":                                           {restoreOf("back", time.Hour, recreated), stateWith(formed), false},
		"the same EtcdRestore is refused if it lost its status":                        {restoreOf("back", time.Hour), stateWith(formed), false},
		"the same EtcdRestore is refused with another TTL":                             {restoreOf("back", time.Hour, recreated, shorter), stateWith(formed), false},
		"a dry run is not carried out":                                                 {restoreOf("forth", time.Hour, dryRun), stateWith(formed), false},
		"an EtcdRestore with another name is carried out":                              {restoreOf("forth", time.Hour), stateWith(formed), true},
		"an EtcdRestore with another spec is carried out":                              {restoreOf("back", time.Hour, recreated, other), stateWith(formed), true},
		"a recreated EtcdRestore is carried out with consent":                          {restoreOf("back", time.Hour, recreated, replacing(oldID)), stateWith(formed), true},
		"consent that names an earlier cluster ID is refused":                          {restoreOf("back", time.Hour, recreated, replacing(seedID)), stateWith(formed), false},
		"a new name is refused if its consent names an earlier cluster ID":             {restoreOf("forth", time.Hour, replacing(seedID)), stateWith(formed), false},
		"a new cluster starts from an EtcdRestore that an earlier cluster carried out": {restoreOf("back", time.Hour, recreated, replacing(seedID)), stateWith(), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.state
			if s.Formed() {
				original := restoreOf("back", time.Hour)
				s.PastRestores = []v1beta2.PastRestore{{Name: "back", UID: original.UID, SpecHash: original.Spec.Hash(), ClusterID: oldID}}
			}
			restore.ChooseRestore(&s, []v1beta2.EtcdRestore{test.restore})
			if taken := s.Request != nil; taken != test.taken {
				t.Errorf("it is carried out: %v, want %v", taken, test.taken)
			}
		})
	}
}

// A Secret was missing for three days, so the user restored the cluster with a second EtcdRestore. Then the Secret is
// created. Without this, the first EtcdRestore replaces three days of writes.
func TestARestoreThatALaterOneHasReplacedIsNotBegun(t *testing.T) {
	const day = 24 * time.Hour
	at := func(ago time.Duration) metav1.Time { return metav1.Time{Time: noon.Add(-ago)} }
	later := v1beta2.PastRestore{Name: "right", UID: "uid-right", SpecHash: "0123456789abcdef", CreationTime: ptr.To(at(3 * day)), Time: at(2 * day), ClusterID: oldID}
	withoutTime := later
	withoutTime.CreationTime = nil
	for name, test := range map[string]struct {
		restore v1beta2.EtcdRestore
		past    v1beta2.PastRestore
		taken   bool
	}{
		"an older EtcdRestore is refused":                                         {restoreOf("wrong", 4*day), later, false},
		"an older EtcdRestore with consent is carried out":                        {restoreOf("wrong", 4*day, replacing(oldID)), later, true},
		"an EtcdRestore that was created during the other restore is carried out": {restoreOf("next", 60*time.Hour), later, true},
		"a newer EtcdRestore is carried out":                                      {restoreOf("next", day), later, true},
		"an older EtcdRestore is refused after an upgrade":                        {restoreOf("wrong", 4*day), withoutTime, false},
		"a newer EtcdRestore is carried out after an upgrade":                     {restoreOf("next", day), withoutTime, true},
		"the end of the other restore counts if its creation time is unknown":     {restoreOf("next", 60*time.Hour), withoutTime, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(3))
			s.PastRestores = []v1beta2.PastRestore{test.past}
			restore.ChooseRestore(&s, []v1beta2.EtcdRestore{test.restore})
			if step, is := Plan(s).(steps.BeginRestore); is != test.taken {
				t.Errorf("begun: %v, want %v: %+v", is, test.taken, step)
			}
		})
	}
	why := v1beta2.RefuseRestore(oldID, []v1beta2.PastRestore{later}, ptr.To(restoreOf("wrong", 4*day)))
	for _, part := range []string{"EtcdRestore right is newer", stampOf(at(4 * day)), stampOf(at(2 * day)), `spec.replaces: "` + oldID + `"`} {
		if !strings.Contains(why, part) {
			t.Errorf("the message lacks %q: %s", part, why)
		}
	}
}

// A dry run replaces nothing.
func TestAnOldDryRunIsNotRefused(t *testing.T) {
	newer := v1beta2.PastRestore{Name: "right", UID: "uid-right", CreationTime: ptr.To(metav1.Time{Time: noon}), Time: metav1.Time{Time: noon}, ClusterID: oldID}
	r := restoreOf("old", time.Hour, func(r *v1beta2.EtcdRestore) { r.Spec.DryRun = true })
	if why := v1beta2.RefuseRestore(oldID, []v1beta2.PastRestore{newer}, &r); why != "" {
		t.Error(why)
	}
}

func stampOf(at metav1.Time) string { return at.UTC().Format(time.RFC3339) }

func TestTheStatusRemembersWhenTheEtcdRestoreWasCreated(t *testing.T) {
	created := metav1.Time{Time: noon.Add(-time.Hour)}
	s := stateWith(formed, members(3), asked)
	s.Request.Created = created
	begin, is := Plan(s).(steps.BeginRestore)
	if !is || !begin.Restore.CreationTime.Equal(&created) {
		t.Fatalf("got %+v", Plan(s))
	}
	for name, restore := range map[string]v1beta2.ClusterRestoreStatus{"begun by this version": begin.Restore, "begun by an earlier version": {Name: "back", UID: "uid-back"}} {
		s := stateWith(formed, members(3), asked, stopped, restored(v1beta2.RestoreSwitching), aSeed(serving))
		s.Request.Created = created
		s.Restore.CreationTime = restore.CreationTime
		past := NewStatus(s, steps.AdoptSeed{ClusterID: seedID, Incarnation: 2}, nil, v1beta2.EtcdClusterStatus{Restore: s.Restore.DeepCopy()}, 1).PastRestores
		if len(past) != 1 || !past[0].CreationTime.Equal(&created) {
			t.Errorf("%s: %+v", name, past)
		}
	}
}

func TestARestoreWithConsentContinuesAfterTheClusterIDHasChanged(t *testing.T) {
	s := stateWith(formed, restored(v1beta2.RestoreGrowing))
	restore.ChooseRestore(&s, []v1beta2.EtcdRestore{restoreOf("back", time.Hour, replacing(oldID))})
	if s.Request == nil || s.Request.Name != "back" {
		t.Errorf("the restore in progress is not worked on any more: %+v", s.Request)
	}
}

func TestTheStatusRemembersTheLastTwentyRestoresThatWereCarriedOut(t *testing.T) {
	var before v1beta2.EtcdClusterStatus
	for i := range 25 {
		s := stateWith(formed, members(3), stopped, restored(v1beta2.RestoreSwitching), aSeed(serving))
		s.Restore.Name, s.Restore.UID, s.Restore.SpecHash = fmt.Sprint("back-", i), types.UID(fmt.Sprint("uid-", i)), "hash"
		before = NewStatus(s, steps.AdoptSeed{ClusterID: seedID, Incarnation: 2}, nil, before, 1)
	}
	if n := len(before.PastRestores); n != v1beta2.MaxPastRestores {
		t.Fatalf("%d are remembered", n)
	}
	want := v1beta2.PastRestore{Name: "back-24", UID: "uid-24", SpecHash: "hash", Time: metav1.NewTime(noon), ClusterID: seedID}
	if last := before.PastRestores[19]; last != want {
		t.Errorf("the last one is %+v, want %+v", last, want)
	}
	failed := NewStatus(stateWith(formed, members(3), restored(v1beta2.RestoreSeeding)), steps.FailRestore{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	if len(failed.PastRestores) > 0 {
		t.Errorf("a restore that failed is remembered, so it could not be tried again: %+v", failed.PastRestores)
	}
}

// An earlier release began or finished a restore and recorded no spec. GitOps recreated the EtcdRestore after the upgrade.
func TestARestoreOfAnEarlierReleaseIsNotRepeatedByAccident(t *testing.T) {
	for _, step := range []v1beta2.RestoreStep{v1beta2.RestoreGrowing, v1beta2.RestoreComplete} {
		earlier := stateWith(formed, restored(step))
		status := v1beta2.EtcdClusterStatus{ClusterID: oldID, Incarnation: 2, Restore: earlier.Restore}
		cluster := &v1beta2.EtcdCluster{Status: status}
		cluster.Namespace, cluster.Name = earlier.Namespace, earlier.Name
		for name, test := range map[string]struct {
			restore v1beta2.EtcdRestore
			taken   bool
		}{
			"a recreated EtcdRestore is refused":                  {restoreOf("back", time.Hour, recreated), false},
			"an EtcdRestore with another name is carried out":     {restoreOf("forth", time.Hour, recreated), true},
			"a recreated EtcdRestore is carried out with consent": {restoreOf("back", time.Hour, recreated, replacing(oldID)), true},
		} {
			s := state.NewState(cluster)
			s.Now = noon
			restore.ChooseRestore(&s, []v1beta2.EtcdRestore{test.restore})
			if taken := s.Request != nil; taken != test.taken {
				t.Errorf("%s, %s: it is carried out: %v", step, name, taken)
			}
			if after := NewStatus(s, steps.Done{}, nil, status, 1); len(after.PastRestores) != 1 || after.PastRestores[0].Name != "back" || after.PastRestores[0].Time.IsZero() {
				t.Errorf("%s, %s: remembered are %+v", step, name, after.PastRestores)
			}
		}
	}
}

func TestTheSpecOfARestoreIsRecordedAsLongAsItsEtcdRestoreExists(t *testing.T) {
	original := restoreOf("back", time.Hour)
	s := stateWith(formed, restored(v1beta2.RestoreGrowing))
	s.Restore.UID, s.PastRestores = original.UID, []v1beta2.PastRestore{{Name: "back", UID: original.UID, ClusterID: oldID}}
	restore.ChooseRestore(&s, []v1beta2.EtcdRestore{original})
	after := NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{PastRestores: []v1beta2.PastRestore{{Name: "back", UID: original.UID, ClusterID: oldID}}}, 1)
	if want := original.Spec.Hash(); after.PastRestores[0].SpecHash != want || after.Restore.SpecHash != want {
		t.Errorf("recorded are %q and %q, want %q", after.PastRestores[0].SpecHash, after.Restore.SpecHash, want)
	}
}

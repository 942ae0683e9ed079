package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// ofVolume makes the restore one from a volume.
func ofVolume(s *state.State) {
	s.Request.Revision = 0
	s.Request.Volume = &v1beta2.RestoreVolumeStatus{RestoreVolume: v1beta2.RestoreVolume{ClaimName: "kept"}, ClaimUID: "uid-kept", Size: 100 << 30}
	if s.Restore != nil {
		s.Restore.Volume = restore.VolumeOf(s.Request)
	}
}

// restore-operator reads only the status. Without it, the user would not read which writes are missing.
func TestTheStatusKeepsWhatTheSeedHasReadFromAVolume(t *testing.T) {
	read := v1beta2.VolumeRead{Revision: 42, LogEntries: 7, LeftOutEntries: 2, FirstLeftOutRevision: 43}
	has := func(m *state.Member) { m.Seed.Read = &read }
	begin, is := restore.Restore(stateWith(formed, members(3), asked, ofVolume)).(steps.BeginRestore)
	if !is || begin.Restore.Volume == nil || begin.Restore.Volume.ClaimName != "kept" || begin.Restore.Volume.ClaimUID != "uid-kept" || begin.Restore.Volume.Read != nil {
		t.Fatalf("%+v", begin)
	}
	lost := func(s *state.State) { s.Restore.Volume = nil }
	for name, s := range map[string]state.State{
		"while it seeds":               stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, ofVolume, aSeed(serving, has)),
		"if the status lacks it":       stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, ofVolume, lost, aSeed(serving, has)),
		"after the switch":             stateWith(formed, restored(v1beta2.RestoreGrowing), asked, ofVolume, aSeed(serving, has)),
		"after the restart of its Pod": stateWith(formed, restored(v1beta2.RestoreGrowing), asked, ofVolume, func(s *state.State) { s.Restore.Volume.Read = &read }, aSeed(serving)),
	} {
		got := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1).Restore.Volume
		if got == nil || got.ClaimName != "kept" || got.Read == nil || *got.Read != read {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A user deletes a claim and creates another one with its name while a restore waits. The cluster would get the data of a volume that was never asked for, and that a
// Pod may write to.
func TestASeedMountsOnlyTheClaimThatWasAccepted(t *testing.T) {
	is := func(uid types.UID) plantest.Change { return func(s *state.State) { s.SourceClaim = &uid } }
	noPod, reads := func(m *state.Member) {}, func(m *state.Member) { m.Pod, m.Seed = state.PodStarting, &state.Seed{} }
	for name, c := range map[string]struct {
		seed  func(*state.Member)
		claim plantest.Change
		says  string
	}{
		"another claim before the seed":   {noPod, is("uid-another"), "PersistentVolumeClaim kept is another one (UID uid-another) than the one that restore-operator has accepted (UID uid-kept)"},
		"no claim before the seed":        {noPod, is(""), "was deleted after"},
		"another claim before the switch": {serving, is("uid-another"), "is another one"},
		"the claim before the seed":       {noPod, is("uid-kept"), ""},
		"the claim before the switch":     {serving, is("uid-kept"), ""},
		"no claim before the switch":      {serving, is(""), ""},
		"a claim that was not read":       {reads, func(*state.State) {}, ""},
	} {
		s := stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, ofVolume, aSeed(c.seed), c.claim)
		fail, fails := restore.Restore(s).(steps.FailRestore)
		if fails != (c.says != "") || !strings.Contains(fail.Message, c.says) || fails && !strings.Contains(fail.Message, "The cluster was not changed.") {
			t.Errorf("%s: %+v", name, restore.Restore(s))
		}
		s.Restore.Volume = nil // an earlier version has begun
		if _, still := restore.Restore(s).(steps.FailRestore); still != fails {
			t.Errorf("%s, and the status lacks the claim: %+v", name, restore.Restore(s))
		}
	}
}

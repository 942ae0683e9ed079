package members

import (
	"errors"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// An API backup brings back a status that has the ID of an earlier member of this name. Quorum is lost for good, and the members serve their metrics
// only. The member with the newest data was never heard, and the status advised to delete its volume.
func TestAnOldIDInTheStatusDoesNotSilenceAMemberForEver(t *testing.T) {
	mute := Answer{Err: errors.New("etcd has no leader"), appliedBy: 7}
	for name, test := range map[string]struct {
		change func(*state.Member)
		others map[string]etcd.ID
		heard  bool
	}{
		"it has been unready for an hour":        {func(*state.Member) {}, nil, true},
		"its node has just booted":               {func(m *state.Member) { m.UnreadySince = plantest.Noon.Add(-time.Minute) }, nil, false},
		"another member has that ID":             {func(*state.Member) {}, map[string]etcd.ID{plantest.NameOf(1): 7}, false},
		"a person has created its claim":         {func(m *state.Member) { m.VolumeID.Claim, m.VolumeID.Volume = "another", "another" }, nil, false},
		"its Pod has no volume that is recorded": {func(m *state.Member) { m.Volume = state.VolumeNone }, nil, false},
	} {
		s := clustertest.State(plantest.Formed, plantest.Members(3), plantest.NoQuorum)
		s.KnownIDs = map[string]etcd.ID{plantest.NameOf(0): 99}
		for other, id := range test.others {
			s.KnownIDs[other] = id
		}
		m := &s.Members[0]
		m.ID, m.Volume, m.VolumeID, m.UnreadySince = 0, state.VolumePresent, state.VolumeID{Claim: "claim", Volume: "pv"}, plantest.Noon.Add(-time.Hour)
		s.KnownVolumes = map[string]state.VolumeID{m.Name: m.VolumeID}
		test.change(m)
		v := &view.View{State: s}
		if why := takenBy(v, m.Name, mute); (why == "") != test.heard {
			t.Errorf("%s: %q", name, why)
		}
	}
}

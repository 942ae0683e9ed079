package run

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A run in which the operator never started a member with data counted as settled, if its message named the foreign voters.
func TestAForeignQuorumIsForAPersonOnlyIfNoOwnVoterHasData(t *testing.T) {
	const cluster, own, foreign = etcd.ID(0xaa), etcd.ID(1), etcd.ID(2)
	for name, test := range map[string]struct {
		data    *world.Data
		learner bool
		message string
		want    bool
	}{
		"it has none":                       {message: foreign.String(), want: true},
		"it has data":                       {data: &world.Data{Cluster: cluster, Member: own}, message: foreign.String()},
		"it has the data of another member": {data: &world.Data{Cluster: cluster, Member: 3}, message: foreign.String(), want: true},
		"its data is corrupt":               {data: &world.Data{Cluster: cluster, Member: own, Corrupt: true}, message: foreign.String(), want: true},
		"it is a learner with data":         {data: &world.Data{Cluster: cluster, Member: own}, learner: true, message: foreign.String(), want: true},
		"the message does not name it":      {message: "lost"},
	} {
		w := &world.World{Volumes: []world.Volume{{Name: "own", Data: test.data}}}
		w.Cluster.Status.ClusterID = cluster.String()
		w.Incarnations = []world.Life{{ID: cluster, Leader: foreign, Entries: []world.Entry{{ID: own, Name: "own", Learner: test.learner}, {ID: foreign, Name: "foreign", Foreign: true}}}}
		if got := namesForeignQuorum(w, test.message); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

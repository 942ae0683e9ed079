package model

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A run in which the operator never started a member with data counted as settled, if its message named the foreign voters.
func TestAForeignQuorumIsForAPersonOnlyIfNoOwnVoterHasData(t *testing.T) {
	const cluster, own, foreign = etcd.ID(0xaa), etcd.ID(1), etcd.ID(2)
	for name, test := range map[string]struct {
		data    *data
		learner bool
		message string
		want    bool
	}{
		"it has none":                       {message: foreign.String(), want: true},
		"it has data":                       {data: &data{cluster: cluster, member: own}, message: foreign.String()},
		"it has the data of another member": {data: &data{cluster: cluster, member: 3}, message: foreign.String(), want: true},
		"its data is corrupt":               {data: &data{cluster: cluster, member: own, corrupt: true}, message: foreign.String(), want: true},
		"it is a learner with data":         {data: &data{cluster: cluster, member: own}, learner: true, message: foreign.String(), want: true},
		"the message does not name it":      {message: "lost"},
	} {
		w := &World{volumes: []volume{{name: "own", data: test.data}}}
		w.Cluster.Status.ClusterID = cluster.String()
		w.incarnations = []life{{id: cluster, leader: foreign, entries: []entry{{id: own, name: "own", learner: test.learner}, {id: foreign, name: "foreign", foreign: true}}}}
		if got := w.namesForeignQuorum(test.message); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

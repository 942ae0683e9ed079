package plan

import (
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// etcdctl prints IDs without leading zeros. A person would copy one, and nothing would happen.
func TestAForeignMemberIsNamedByItsIDAsEtcdctlPrintsIt(t *testing.T) {
	s := state(formed, members(3), guest(withoutVote), func(s *State) { s.Asked.RemoveForeign = []string{"f00"} })
	if _, removes := Plan(s).(RemoveMember); !removes {
		t.Errorf("etcdctl member list prints f00, and the plan is %+v", Plan(s))
	}
}

// YAML has values of several lines. The operator would ignore their names without a word.
func TestNamesMayBeOnLinesOfTheirOwn(t *testing.T) {
	if got := NewAsked(map[string]string{v1beta2.AnnotationFence: "a,\nb\n"}).Fence; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names are %q", got)
	}
}

package act

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// changing is a member that counts what changes it.
type changing struct {
	members.Etcd
	status  etcd.Status
	changes *int
}

func (c changing) Close()                                              {}
func (c changing) Status(context.Context) (etcd.Status, error)         { return c.status, nil }
func (c changing) AddLearner(context.Context, string) error            { *c.changes++; return nil }
func (c changing) Compact(context.Context, int64) error                { *c.changes++; return nil }
func (c changing) Defragment(context.Context) error                    { *c.changes++; return nil }
func (c changing) Fence(context.Context, etcd.ID) (int64, error)       { *c.changes++; return 0, nil }
func (c changing) Unfence(context.Context, etcd.ID) error              { *c.changes++; return nil }
func (c changing) Disarm(context.Context, etcd.Alarm) error            { *c.changes++; return nil }
func (c changing) MoveLeader(context.Context, etcd.ID) error           { *c.changes++; return nil }
func (c changing) EnableDowngrade(context.Context, string) error       { *c.changes++; return nil }
func (c changing) CancelDowngrade(context.Context) error               { *c.changes++; return nil }
func (c changing) Promote(context.Context, etcd.ID) error              { *c.changes++; return nil }
func (c changing) Remove(_ context.Context, _ etcd.ID) (err error)     { *c.changes++; return nil }
func (c changing) AddVoter(context.Context, string) (err error)        { *c.changes++; return nil }
func (c changing) Members(context.Context) ([]etcd.Member, error)      { return nil, nil }
func (c changing) MembersKnown(context.Context) ([]etcd.Member, error) { return nil, nil }
func (c changing) Serving(context.Context) error                       { return nil }

// The Pod of the member was deleted after it had answered, and another etcd got its address. The operator compacted the history
// of that etcd.
func TestNoStepChangesAnEtcdThatHasGotTheAddressOfAMember(t *testing.T) {
	member := clustertest.State(plantest.Formed, plantest.Members(3)).Members[0]
	for name, c := range map[string]struct {
		status etcd.Status
		is     bool
	}{
		"the member itself":                  {etcd.Status{ClusterID: member.ClusterID, MemberID: member.ID}, true},
		"a member of another cluster":        {etcd.Status{ClusterID: 0xee, MemberID: 77}, false},
		"another member of the same cluster": {etcd.Status{ClusterID: member.ClusterID, MemberID: 77}, false},
	} {
		for _, step := range []steps.Step{
			steps.AddLearner{Name: plantest.NameOf(3)}, steps.PromoteLearner{}, steps.RemoveMember{Name: plantest.NameOf(2)}, steps.MoveLeader{From: member.Name}, steps.EnableDowngrade{},
			steps.CancelDowngrade{}, steps.CompactHistory{Revision: 9}, steps.DisarmAlarm{}, steps.DefragmentMember{Name: member.Name},
		} {
			a, v := actorBeside(t)
			v.State = clustertest.State(plantest.Formed, plantest.Members(3))
			v.Members = append(v.Members, state.Member{Name: plantest.NameOf(3), Incarnation: 1, Waits: true})
			for i := range v.Members {
				v.Members[i].Serving, v.Members[i].Leader = i == 0, i == 0
				v.Addresses[v.Members[i].Name] = "192.0.2.1"
			}
			changes := 0
			a.confirmer.Connections.Dial = func(etcd.Endpoint, *tls.Config) (members.Etcd, error) {
				return changing{status: c.status, changes: &changes}, nil
			}
			err := a.etcd.actOnEtcd(t.Context(), v, step)
			if c.is && (err != nil || changes != 1) {
				t.Errorf("%T: %s: %v, %d changes", step, name, err, changes)
			}
			if !c.is && (!errors.Is(err, view.ErrBehind) || changes != 0) {
				t.Errorf("%T: %s: %v, %d changes", step, name, err, changes)
			}
		}
	}
}

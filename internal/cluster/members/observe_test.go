package members

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/metrics"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// heard returns the State of three running members, according to their own answers.
func heard(t *testing.T, say func(i int, m *clustertest.FakeMember)) state.State {
	t.Helper()
	return heardOf(t, clustertest.State(plantest.Formed), say)
}

// heardOf is like heard, for a cluster with the recorded state before.
func heardOf(t *testing.T, before state.State, say func(i int, m *clustertest.FakeMember)) state.State {
	t.Helper()
	counted, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	known := clustertest.State(plantest.Formed, plantest.Members(3))
	v := &view.View{State: before, Addresses: map[string]string{}, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
	var membership []etcd.Member
	byURL := map[string]clustertest.FakeMember{}
	for _, m := range known.Members {
		membership = append(membership, etcd.Member{ID: m.ID, Name: m.Name, ClientURLs: []string{state.ClientURL(known, m.Name)}})
		v.Members = append(v.Members, state.Member{Name: m.Name, Incarnation: 1, Volume: m.Volume, Pod: m.Pod, PodImage: m.PodImage, PodReady: true, InService: true, Start: m.Start})
		v.Addresses[m.Name] = "192.0.2.1"
	}
	v.Budget = known.Budget
	for i, m := range known.Members {
		said := clustertest.FakeMember{Membership: membership, Answer: etcd.Status{ClusterID: m.ClusterID, MemberID: m.ID, LeaderID: 1, Version: m.Version, Revision: 40}}
		say(i, &said)
		v.Members[i].PodReady = !said.Unready
		byURL[state.ClientURL(known, m.Name)] = said
	}
	applied := func(ctx context.Context, _ string) (etcd.ID, uint64, error) { return 2, 7, ctx.Err() }
	q := &Questions{Metrics: counted, Applied: applied, Paces: &view.Memory[queue.Pace]{}, Connections: &Connections{Dial: func(endpoint etcd.Endpoint, _ *tls.Config) (Etcd, error) {
		if said, ok := byURL[endpoint.URL]; ok {
			return said, nil
		}
		return nil, fmt.Errorf("nobody is at %s", endpoint.URL)
	}}}
	q.ObserveEtcd(t.Context(), v)
	return v.State
}

// bcrypt is slow by design, and several members check the operator's password at the same time.
func TestMembersThatCheckAPasswordSlowlyAreNotUnreachable(t *testing.T) {
	var slow clustertest.SlowPassword
	s := heard(t, func(_ int, m *clustertest.FakeMember) { m.Password = &slow })
	if !s.MembershipKnown {
		t.Errorf("the members got time to check the password, and answer: %+v", s.Members)
	}
	if slow.Tries.Load() == 0 {
		t.Error("nobody logged in")
	}
}

// A member without a quorum checks no password, and its Pod is not ready. A look must not wait for it.
func TestAMemberWithoutAQuorumIsNotWaitedForToCheckAPassword(t *testing.T) {
	var slow clustertest.SlowPassword
	before := clustertest.State(plantest.Formed)
	s := heardOf(t, before, func(_ int, m *clustertest.FakeMember) { m.Password, m.Unready = &slow, true })
	if s.MembershipKnown || slow.Tries.Load() != 0 {
		t.Errorf("membership known: %t, %d logins", s.MembershipKnown, slow.Tries.Load())
	}
}

// TestAMemberThatAcceptsConnectionsAndAnswersNothingIsKnownByItsMetrics: etcd behaves like that after a restart without a quorum. The
// request for the status took all of the time, so a recovery of the lost quorum waited forever for the index of that member.
func TestAMemberThatAcceptsConnectionsAndAnswersNothingIsKnownByItsMetrics(t *testing.T) {
	s := heard(t, func(_ int, m *clustertest.FakeMember) { m.Silent = true })
	for _, m := range s.Members {
		if m.RaftIndex != 7 || m.Answers {
			t.Errorf("member %s: raft index %d, answers %v", m.Name, m.RaftIndex, m.Answers)
		}
	}
}

func TestMembersThatAgreeAreLeftAlone(t *testing.T) {
	if diff := cmp.Diff(steps.Step(steps.Done{}), plan.Plan(heard(t, func(int, *clustertest.FakeMember) {}))); diff != "" {
		t.Errorf("Plan (-want +got):\n%s", diff)
	}
}

// With etcd's authentication on, etcd confirms the operator's read with a quorum and then refuses it.
func TestAClusterWithAuthenticationIsKnownToServe(t *testing.T) {
	for name, refusal := range map[string]error{"without a user": rpctypes.ErrUserEmpty, "with a user without the right": rpctypes.ErrPermissionDenied} {
		s := heard(t, func(_ int, m *clustertest.FakeMember) { m.Refuses = fmt.Errorf("linearizable read: %w", refusal) })
		step := plan.Plan(s)
		status := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
		if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionAvailable) || !s.MembershipKnown {
			t.Errorf("%s: the conditions are %v", name, status.Conditions)
		}
		if wait, waits := step.(steps.Wait); !waits || wait.Reason != v1beta2.ReasonEtcdAccessDenied {
			t.Errorf("%s: the step is %#v", name, step)
		}
	}
}

// Since etcd 3.6.9, a member does not even return its status and the membership to clients that it cannot authenticate.
func TestAClusterThatTellsTheOperatorNothingForLackOfPermissionIsAvailable(t *testing.T) {
	s := heard(t, func(_ int, m *clustertest.FakeMember) {
		m.Guards, m.Refuses = rpctypes.ErrUserEmpty, rpctypes.ErrUserEmpty
	})
	step := plan.Plan(s)
	status := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
	if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionAvailable) || !meta.IsStatusConditionFalse(status.Conditions, v1beta2.ConditionDegraded) {
		t.Errorf("the conditions are %v", status.Conditions)
	}
	if wait, waits := step.(steps.Wait); !waits || wait.Reason != v1beta2.ReasonEtcdAccessDenied || !strings.Contains(wait.Message, "it has no user") {
		t.Errorf("the step is %#v", step)
	}
}

func TestAMembersSilenceIsMeasuredFromItsFirstPass(t *testing.T) {
	var q Silence
	key, noon := client.ObjectKey{Namespace: "ns", Name: "example"}, time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for _, pass := range []struct {
		after   time.Duration
		serving bool
		want    time.Time
	}{{0, false, noon}, {5 * time.Second, false, noon}, {6 * time.Second, true, time.Time{}}, {7 * time.Second, false, noon.Add(7 * time.Second)}} {
		members := []state.Member{{Name: "m", Serving: pass.serving}}
		q.Saw(key, &state.State{Members: members, Now: noon.Add(pass.after)})
		if !members[0].SilentSince.Equal(pass.want) {
			t.Errorf("after %s it is silent since %s, want %s", pass.after, members[0].SilentSince, pass.want)
		}
	}
}

// With a CORRUPT alarm on, etcd refuses the read that shows that a member has a quorum.
func TestAMemberWithOtherDataIsReplacedThoughEtcdRefusesToServe(t *testing.T) {
	s := heard(t, func(i int, m *clustertest.FakeMember) {
		m.Refuses = fmt.Errorf("linearizable read: %w", etcd.ErrCorrupt)
		m.Answer.Errors = []string{"memberID:2 alarm:CORRUPT "}
		m.Hash = 7
		if i == 1 {
			m.Hash = 8
		}
	})
	want := steps.Step(steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.CorruptData})
	if diff := cmp.Diff(want, plan.Plan(s)); diff != "" {
		t.Errorf("Plan (-want +got):\n%s", diff)
	}
}

// If a database is as large as its quota, etcd refuses writes. Only an alarm reports that.
func TestAUsedUpQuotaIsSeen(t *testing.T) {
	s := heard(t, func(_ int, m *clustertest.FakeMember) {
		m.Answer.Errors = []string{"memberID:1 alarm:NOSPACE "}
		m.Answer.DBSize, m.Answer.DBSizeInUse, m.Answer.DBQuota = 100, 10, 100
	})
	want := steps.Step(steps.DefragmentMember{Name: plantest.NameOf(1), Reason: "NoSpace"})
	if diff := cmp.Diff(want, plan.Plan(s)); diff != "" {
		t.Errorf("Plan (-want +got):\n%s", diff)
	}
}

// etcd checks a password with a quorum. Without a quorum, the operator still reads from the metrics which member is the
// newest.
func TestAMemberWithoutQuorumThatKnowsNoTokenOfTheOperatorIsAskedForItsMetrics(t *testing.T) {
	s := heardOf(t, clustertest.State(plantest.Formed), func(_ int, m *clustertest.FakeMember) { m.Guards, m.Hangs = rpctypes.ErrUserEmpty, true })
	for _, m := range s.Members {
		if m.Guarded || m.RaftIndex != 7 || m.Answers {
			t.Errorf("member %s: guarded %v, raft index %d, answers %v", m.Name, m.Guarded, m.RaftIndex, m.Answers)
		}
	}
}

// A person added a voter to a cluster of one, and never started it. Without a quorum only this answer tells that there are two voters.
func TestAMemberWithoutALeaderIsAskedForTheMembershipThatItKnows(t *testing.T) {
	knows := []etcd.Member{{ID: 1, Name: "example-0"}, {ID: 100, PeerURLs: []string{"http://guest:2380"}}}
	for name, test := range map[string]struct {
		status etcd.Status
		known  int
	}{
		"without a leader": {etcd.Status{MemberID: 1}, 2},
		"with a leader":    {etcd.Status{MemberID: 1, LeaderID: 1}, 0},
		"a learner":        {etcd.Status{MemberID: 1, Learner: true}, 0},
	} {
		q := &Questions{Connections: &Connections{}}
		member := clustertest.FakeMember{Answer: test.status, Knows: knows, Refuses: errors.New("no leader")}
		a := q.ask(t.Context(), metav1.ObjectMeta{}, target{dial: func() (Etcd, error) { return member, nil }})
		if len(a.knows) != test.known {
			t.Errorf("%s: the member knows %v", name, a.knows)
		}
	}
}

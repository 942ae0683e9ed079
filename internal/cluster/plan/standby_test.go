package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// askedToFollow: EtcdRestore back is verified, and makes a standby of a new cluster.
func askedToFollow(s *state.State) {
	asked(s)
	s.Request.Source.Secret = "store"
	s.Request.Follow = &state.FollowRequest{Cluster: "ns/source"}
}

// standsBy: the standby is under way.
func standsBy(s *state.State) {
	askedToFollow(s)
	restored(v1beta2.RestoreSeeding)(s)
	s.Restore.Follow = &v1beta2.FollowStatus{}
}

func askedToPromote(s *state.State) { s.Request.Follow.Promote = v1beta2.FollowPromoteNow }

// askedFor is a promotion that a person has asked for before.
func askedFor(how v1beta2.FollowPromotion) change {
	return func(s *state.State) { s.Request.Follow.Promote, s.Restore.Follow.Promote = how, how }
}

// following: the standby answers that it is up to date.
func following(m *state.Member) {
	m.Pod, m.Volume, m.Start = state.PodStarting, state.VolumePresent, state.StartSeed
	m.Seed = &state.Seed{Following: &v1beta2.FollowStatus{Timeline: 1, Revision: 70, LagSeconds: ptr.To[int64](3)}}
}

// withUsers: etcd's authentication is on in the data of the standby.
func withUsers(m *state.Member) { m.Seed.Authentication = true }

// overMonths: the Pod has not been ready for a month, because etcd does not run in it.
func overMonths(m *state.Member) { m.UnreadySince = noon.Add(-30 * 24 * time.Hour) }

func TestAStandbyFollowsUntilAPersonPromotesIt(t *testing.T) {
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"it begins": {stateWith(standsBy), steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed}},
		"without an identity": {stateWith(standsBy, func(s *state.State) { s.Request.Source.Secret = "" }),
			steps.Wait{Reason: v1beta2.ReasonFollowNeedsCredentials, Stalled: true}},
		"it follows":          {stateWith(standsBy, aSeed(following)), steps.Wait{Reason: v1beta2.ReasonFollowing}},
		"it follows for long": {stateWith(standsBy, aSeed(following, overMonths)), steps.Wait{Reason: v1beta2.ReasonFollowing}},
		"its process was restarted many times": {stateWith(standsBy, aSeed(following, func(m *state.Member) { m.Seed.Failures = 9 })),
			steps.Wait{Reason: v1beta2.ReasonFollowing}},
		"it does not answer": {stateWith(standsBy, aSeed(following, func(m *state.Member) { m.Seed.Following = nil })),
			steps.Wait{Reason: v1beta2.ReasonFollowing, Overdue: v1beta2.ReasonFollowerSilent, Limit: 5 * time.Minute}},
		"it cannot continue": {stateWith(standsBy, aSeed(following, func(m *state.Member) { m.Seed.Following, m.Seed.Hopeless = nil, true })),
			steps.Wait{Reason: v1beta2.ReasonFollowing, Stalled: true}},
		"the status of its EtcdRestore was lost": {stateWith(standsBy, aSeed(following), func(s *state.State) { s.Request, s.RestoreUnverified = nil, true }),
			steps.Wait{Reason: v1beta2.ReasonFollowing, Stalled: true}},
		"a person promotes it":   {stateWith(standsBy, askedToPromote, aSeed(following, overMonths)), steps.PromoteStandby{Name: seedName}},
		"and it does not answer": {stateWith(standsBy, askedToPromote, aSeed(following, overMonths, func(m *state.Member) { m.Seed.Following = nil })), steps.PromoteStandby{Name: seedName}},
		"it was told":            {stateWith(standsBy, askedToPromote, aSeed(following, overMonths, func(m *state.Member) { m.Seed.Promoting = true })), steps.Wait{Reason: v1beta2.ReasonRestoring}},
		"a person promotes one that cannot continue": {stateWith(standsBy, askedToPromote, aSeed(following, func(m *state.Member) { m.Seed.Following, m.Seed.Hopeless = nil, true })),
			steps.PromoteStandby{Name: seedName}},
		"a person promotes one whose process ends again and again, because the Secret was removed": {
			stateWith(standsBy, askedToPromote, aSeed(following, overMonths, func(m *state.Member) {
				m.Pod, m.PodReason, m.Seed.Following = state.PodBlocked, v1beta2.ReasonPodFailing, nil
			})),
			steps.PromoteStandby{Name: seedName},
		},
		"it could not continue once, and does now": {stateWith(standsBy, aSeed(following, func(m *state.Member) { m.Seed.Hopeless = true })), steps.Wait{Reason: v1beta2.ReasonFollowing}},
		"it trusts the old CA, and only its Pod has its data": {stateWith(managed, standsBy, askedToPromote, aSeed(refusesOperator(time.Hour), func(m *state.Member) { m.DataInPod, m.Seed.Promoting = true, true })),
			steps.Wait{Reason: v1beta2.ReasonRestoring}},
		"a planned promotion": {stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following)), steps.PromoteStandby{Name: seedName, Planned: true}},
		"a planned promotion after which etcd would refuse the operators": {stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following, withUsers)),
			steps.Wait{Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true}},
		"the Secret with their user is missing": {stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following, withUsers), func(s *state.State) {
			s.Spec.Auth, s.Authentication.Problem = &v1beta2.AuthPolicy{OperatorSecret: "root"}, "There is no Secret root."
		}), steps.Wait{Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true}},
		"they have a user": {stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following, withUsers), func(s *state.State) {
			s.Spec.Auth, s.Authentication.User = &v1beta2.AuthPolicy{OperatorSecret: "root"}, "root"
		}), steps.PromoteStandby{Name: seedName, Planned: true}},
		"they have a certificate":       {stateWith(managed, standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following, withUsers)), steps.PromoteStandby{Name: seedName, Planned: true}},
		"its source with users is lost": {stateWith(standsBy, askedToPromote, aSeed(following, withUsers)), steps.PromoteStandby{Name: seedName}},
		"it was told, and its source takes writes for a month": {
			stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following, overMonths, func(m *state.Member) { m.Seed.Promoting, m.Seed.Planned = true, true })),
			steps.Wait{Reason: v1beta2.ReasonFollowing},
		},
		"the source is lost before it has stopped": {
			stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), askedToPromote, aSeed(following, func(m *state.Member) { m.Seed.Promoting, m.Seed.Planned = true, true })),
			steps.PromoteStandby{Name: seedName},
		},
		"it has taken over": {
			stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following, func(m *state.Member) { m.Seed.Promoting, m.Seed.Planned, m.Seed.Following = true, true, nil })),
			steps.Wait{Reason: v1beta2.ReasonRestoring},
		},
		"its Pod is gone":             {stateWith(standsBy, askedToPromote, aSeed(func(m *state.Member) { m.Volume = state.VolumePresent })), steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed}},
		"its node is lost":            {stateWith(standsBy, aSeed(following, func(m *state.Member) { m.Pod, m.GoneBy = state.PodDeleting, noon.Add(-time.Hour) })), steps.Wait{Stalled: true, Reason: v1beta2.ReasonFollowing}},
		"its EtcdRestore was deleted": {stateWith(standsBy, aSeed(following), func(s *state.State) { s.Request = nil }), steps.FailRestore{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := restore.Restore(test.state)
			if wait, is := got.(steps.Wait); is {
				want, waits := test.want.(steps.Wait)
				if !waits || wait.Reason != want.Reason || wait.Stalled != want.Stalled || want.Overdue != wait.Overdue || want.Limit > 0 && want.Limit != wait.Limit {
					t.Errorf("got %+v, want %+v", got, test.want)
				}
				if !wait.Stalled && wait.Overdue == "" && wait.Reason == v1beta2.ReasonFollowing && wait.Bound() < 10*365*24*time.Hour {
					t.Errorf("a standby counts as stalled after %s", wait.Bound())
				}
				return
			}
			if _, fails := test.want.(steps.FailRestore); fails {
				if _, is := got.(steps.FailRestore); !is {
					t.Errorf("got %+v, want a FailRestore", got)
				}
				return
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// The API server refuses the Pod of a standby whose node was lost. After 15 minutes, any other seed is removed with its volume.
func TestAStandbyWhosePodIsRefusedKeepsItsVolume(t *testing.T) {
	s := stateWith(standsBy, aSeed(func(m *state.Member) { m.Volume = state.VolumePresent }))
	s.Restore.SeedRefusedTime = ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	if step := restore.RefuseSeed(&s, "quota", 30*time.Second); !isStalled(step) {
		t.Errorf("got %+v", step)
	}
}

func isStalled(step steps.Step) bool {
	wait, is := step.(steps.Wait)
	return is && wait.Stalled
}

func TestTheStatusOfAStandbyChangesAtMostEveryTenSeconds(t *testing.T) {
	s := stateWith(standsBy, aSeed(following))
	step := restore.Restore(s)
	status := NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
	first := status.Restore.Follow
	if first.Revision != 70 || first.Timeline != 1 || *first.LagSeconds != 0 || first.UpdateTime == nil || first.Promote != "" {
		t.Fatalf("got %+v", first)
	}
	after := func(elapsed time.Duration, said v1beta2.FollowStatus) *v1beta2.FollowStatus {
		next := s
		next.Now, next.Restore = s.Now.Add(elapsed), status.Restore.DeepCopy()
		next.Members = append([]state.Member(nil), s.Members...)
		seed := *s.Members[len(s.Members)-1].Seed
		seed.Following = &said
		next.Members[len(next.Members)-1].Seed = &seed
		return NewStatus(next, step, nil, status, 1).Restore.Follow
	}
	said := v1beta2.FollowStatus{Timeline: 1, Revision: 71, LagSeconds: ptr.To[int64](4)}
	if got := after(3*time.Second, said); got.Revision != 70 {
		t.Errorf("after 3 s it has revision %d", got.Revision)
	}
	if got := after(11*time.Second, said); got.Revision != 71 {
		t.Errorf("after 11 s it has revision %d", got.Revision)
	}
	said.LagSeconds = ptr.To[int64](95)
	if got := after(3*time.Second, said); got.Revision != 71 || *got.LagSeconds != 60 {
		t.Errorf("a standby that falls behind is not reported at once: %+v", got)
	}
}

// The node of the standby is lost. Its last answer was that it is up to date, and that must not be in the status for months.
func TestAStandbyThatDoesNotAnswerIsNotUpToDate(t *testing.T) {
	silent := aSeed(following, func(m *state.Member) { m.Seed.Following = nil })
	lost := aSeed(func(m *state.Member) { m.Volume = state.VolumePresent })
	upToDate := func(s *state.State) {
		s.Restore.Follow = &v1beta2.FollowStatus{Timeline: 1, Revision: 70, LagSeconds: ptr.To[int64](0), UpdateTime: ptr.To(metav1.NewTime(noon.Add(-time.Hour)))}
	}
	for name, seed := range map[string]change{"it is silent": silent, "it has no Pod": lost} {
		s := stateWith(standsBy, upToDate, seed)
		waits := steps.Wait{Reason: v1beta2.ReasonFollowerSilent, Message: "Standby x does not answer."}
		if f := NewStatus(s, waits, nil, v1beta2.EtcdClusterStatus{}, 1).Restore.Follow; f.LagSeconds == nil {
			t.Errorf("%s for a moment: %+v", name, f)
		}
		waits.Stalled = true
		if f := NewStatus(s, waits, nil, v1beta2.EtcdClusterStatus{}, 1).Restore.Follow; f.LagSeconds != nil || f.Revision != 70 || f.Message != waits.Message || !f.UpdateTime.Time.Equal(noon) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestTheStatusHasWhatWasPromoted(t *testing.T) {
	s := stateWith(standsBy, askedToPromote, aSeed(following))
	status := NewStatus(s, steps.PromoteStandby{Name: seedName}, nil, v1beta2.EtcdClusterStatus{}, 1)
	if f := status.Restore.Follow; f.Promote != v1beta2.FollowPromoteNow {
		t.Errorf("the promotion is not recorded: %+v", f)
	}
	// The operator was killed before it wrote the status.
	s = stateWith(standsBy, aSeed(following, func(m *state.Member) {
		m.Seed.Promoting, m.Seed.Promoted, m.Seed.DoneAt = true, &v1beta2.PromotedStatus{Timeline: 1, Revision: 80}, noon
	}))
	status = NewStatus(s, restore.Restore(s), nil, v1beta2.EtcdClusterStatus{}, 1)
	if f := status.Restore.Follow; f.Promote != v1beta2.FollowPromoteNow || f.Promoted == nil || f.Promoted.Revision != 80 || f.LagSeconds != nil {
		t.Errorf("got %+v", f)
	}
}

// After a planned promotion the revisions are those of the source. The status said that they are higher.
func TestTheStatusOfAPlannedPromotionNamesNoBump(t *testing.T) {
	s := stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following, func(m *state.Member) {
		m.Seed.Promoting, m.Seed.Planned, m.Seed.Promoted, m.Seed.DoneAt = true, true, &v1beta2.PromotedStatus{Timeline: 1, Revision: 80, Planned: true}, noon
	}))
	r := NewStatus(s, restore.Restore(s), nil, v1beta2.EtcdClusterStatus{}, 1).Restore
	if r.RevisionBump != 0 || r.Follow.Promote != v1beta2.FollowPromotePlanned || r.Follow.Promoted == nil || !r.Follow.Promoted.Planned {
		t.Errorf("got %+v with %+v", r, r.Follow)
	}
}

func TestAStandbyBeginsWithAFollowStatus(t *testing.T) {
	begin, is := restore.Restore(stateWith(askedToFollow)).(steps.BeginRestore)
	if !is || begin.Restore.Follow == nil || begin.Restore.Step != v1beta2.RestoreSeeding {
		t.Errorf("got %+v", begin)
	}
}

// A standby may follow, or wait for its source, for months. One pass each 20 ms would take the operator from all other clusters.
func TestAStandbyThatWaitsIsLookedAtSeldom(t *testing.T) {
	for name, s := range map[string]state.State{
		"it follows":      stateWith(standsBy, aSeed(following)),
		"it is silent":    stateWith(standsBy, aSeed(following, func(m *state.Member) { m.Seed.Following = nil })),
		"its source runs": stateWith(standsBy, askedFor(v1beta2.FollowPromotePlanned), aSeed(following, func(m *state.Member) { m.Seed.Promoting, m.Seed.Planned = true, true })),
	} {
		if wait, is := restore.Restore(s).(steps.Wait); !is || wait.Requeue < time.Second {
			t.Errorf("%s: %#v", name, restore.Restore(s))
		}
	}
}

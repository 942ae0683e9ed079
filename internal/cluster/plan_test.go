package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The words that states are built of: state(formed, members(3), with(1, down)).

const (
	oldID  = "00000000000000aa"
	seedID = "00000000000000bb"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type change func(*State)

// state is an EtcdCluster of three that was just made, changed by each of changes in turn.
func state(changes ...change) State {
	s := State{
		Now: noon, Namespace: "ns", Name: "example", UID: "uid-example",
		Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	servicesFor(0, "")(&s)
	for _, c := range changes {
		c(&s)
	}
	return s
}

func servicesFor(incarnation int32, clusterID string) change {
	return func(s *State) {
		s.Services = Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: incarnation, ClientClusterID: clusterID}
	}
}

// formed: the cluster has come to life.
func formed(s *State) {
	s.ClusterID, s.Incarnation, s.KnownVersion = oldID, 1, "3.6.16"
	servicesFor(1, oldID)(s)
}

func size(n int) change { return func(s *State) { s.Spec.Size = n } }

func ofVersion(v string) change { return func(s *State) { s.Spec.Version = v } }

func ephemeral(s *State) {
	s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for i := range s.Members {
		s.Members[i].Volume = VolumeNone
	}
}

func noClass(s *State) { s.NoStorageClass = true }

func withTLS(s *State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member:         &v1beta2.MemberSecret{PeerSecret: "peer-tls", ServerSecret: "server-tls"},
		OperatorSecret: "operator-tls",
	}}
}

// members are n that serve and vote; the first leads.
func members(n int) change {
	return func(s *State) {
		s.MembershipKnown = true
		for range n {
			m := Member{Name: memberName(s.Name, s.UID, 1, len(s.Members)), Incarnation: 1, ID: etcd.ID(len(s.Members) + 1)}
			voter(&m)
			m.Leader = len(s.Members) == 0
			s.KnownVoters = append(s.KnownVoters, m.Name)
			s.Members = append(s.Members, m)
		}
	}
}

func voter(m *Member) {
	onVolume(m)
	m.InMembership, m.Started = true, true
	m.Answers, m.Serving, m.PodReady, m.Exposed, m.Version, m.ClusterID = true, true, true, true, "3.6.16", 0xaa
}

func onVolume(m *Member) {
	m.Volume, m.Pod, m.PodImage, m.Start = VolumePresent, PodRunning, "quay.io/coreos/etcd:v3.6.16", StartRejoin
}

// with changes the i-th member, or adds it.
func with(i int, changes ...func(*Member)) change {
	return func(s *State) {
		if i == len(s.Members) {
			s.Members = append(s.Members, Member{Name: memberName(s.Name, s.UID, 1, i), Incarnation: 1, ID: etcd.ID(i + 1)})
		}
		for _, c := range changes {
			c(&s.Members[i])
		}
	}
}

// initial are n members of a cluster that has not formed: volumes and nothing else.
func initial(n int) change {
	return func(s *State) {
		for ordinal := range n {
			s.Members = append(s.Members, Member{
				Name: memberName(s.Name, s.UID, 1, ordinal), Incarnation: 1, InitialSize: n, Volume: VolumePresent,
			})
		}
	}
}

// begun: the volumes of the initial members had all been made.
func begun(s *State) { s.Incarnation = 1 }

// noQuorum: nobody serves, and nobody tells the membership.
func noQuorum(s *State) {
	s.MembershipKnown = false
	for i := range s.Members {
		m := &s.Members[i]
		m.InMembership, m.Started, m.Serving, m.Leader, m.PodReady = false, false, false, false, false
		m.UnreadySince = noon.Add(-time.Second)
	}
}

func silent(m *Member) {
	m.Answers, m.Serving, m.PodReady, m.Leader, m.Version = false, false, false, false, ""
}

func withoutPod(m *Member) {
	silent(m)
	m.Pod, m.PodImage, m.Exposed = PodNone, "", false
}

// gone: Pod and volume, but not the entry in the membership.
func gone(m *Member) {
	withoutPod(m)
	m.Volume = VolumeNone
}

func pod(p Pod) func(*Member) {
	return func(m *Member) {
		silent(m)
		m.Pod, m.UnreadySince = p, noon.Add(-time.Second)
	}
}

func blockedBy(reason string) func(*Member) {
	return func(m *Member) {
		onVolume(m)
		pod(PodBlocked)(m)
		m.PodReason, m.PodMessage = reason, "why"
	}
}

func unreadyFor(d time.Duration) func(*Member) {
	return func(m *Member) { m.UnreadySince = noon.Add(-d) }
}

func volume(v Volume) func(*Member) { return func(m *Member) { m.Volume = v } }

func withImage(v string) func(*Member) {
	return func(m *Member) { m.PodImage, m.Version = "quay.io/coreos/etcd:v"+v, v }
}

// learner that runs and has not been promoted.
func learner(m *Member) {
	voter(m)
	m.Learner, m.Serving, m.PodReady, m.Exposed, m.Start = true, false, false, false, StartJoin
}

// justAdded: a learner that is in the membership and nowhere else.
func justAdded(m *Member) { m.InMembership, m.Learner = true, true }

// joining: its Pod was made for a membership of the first n.
func joining(n int) func(*Member) {
	return func(m *Member) {
		var names []string
		for i := range n {
			names = append(names, nameOf(i))
		}
		slices.Sort(names)
		m.Start, m.Peers = StartJoin, strings.Join(names, ",")
	}
}

// removed: no longer in the membership.
func removed(m *Member) {
	silent(m)
	m.InMembership, m.Started = false, false
}

// nameOf the i-th member of the first incarnation.
func nameOf(i int) string { return memberName("example", "uid-example", 1, i) }

func peerURLOf(i int) string { return "http://" + nameOf(i) + ".example.ns.svc:2380" }

// planTests by sentences.
type planTests map[string]struct {
	state State
	want  Step
}

func (tests planTests) run(t *testing.T) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Plan(test.state)); diff != "" {
				t.Errorf("Plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanGeneral(t *testing.T) {
	planTests{
		"is done when the cluster is as asked for": {
			state(formed, members(3)), Done{},
		},
		"does nothing while the cluster is being deleted": {
			state(formed, members(3), with(0, gone), func(s *State) { s.Deleting = true }),
			Idle{Why: v1beta2.ReasonDeleting, Message: "being deleted, and with it all that it owns"},
		},
		"does nothing while paused": {
			state(formed, members(3), with(0, gone), func(s *State) { s.Spec.Paused = true }),
			Idle{Why: v1beta2.ReasonPaused, Message: "spec.paused is true: set it to false to let the operator go on"},
		},
		"names the Secret that is missing": {
			state(func(s *State) { s.SecretProblem = "Secret tls is not there" }),
			Wait{Why: v1beta2.ReasonSecretMissing, Message: "Secret tls is not there", Stalled: true},
		},
		"makes the Services first, and leads clients to nobody": {
			state(func(s *State) { s.Services = Services{} }), ApplyServices{},
		},
		"leads clients to a cluster once it has formed": {
			state(formed, servicesFor(0, ""), members(3)), ApplyServices{Incarnation: 1, ClusterID: oldID},
		},
		"makes the Services anew when somebody changed them": {
			state(formed, members(3), func(s *State) { s.Services.HeadlessCurrent = false }), ApplyServices{Incarnation: 1, ClusterID: oldID},
		},
		"recognises a cluster whose status was lost by its Service": {
			state(members(3), servicesFor(1, oldID), (*State).RecogniseFormed), Done{},
		},
		"touches nothing of members that it did not make": {
			state(members(3), servicesFor(0, "")),
			Wait{
				Why:     v1beta2.ReasonNotOurs,
				Message: "member " + nameOf(0) + " was not made by this operator, or the cluster's ID was lost with its status: nothing is touched; save it with an EtcdBackup by etcdEndpoints, and apply an EtcdRestore of that snapshot",
				Stalled: true,
			},
		},
	}.run(t)
}

// TestPlanOrder pins the order of the rules: each pair with the reason why the first is asked before the second.
func TestPlanOrder(t *testing.T) {
	pairs := []struct{ first, second, because string }{
		{"deleting", "paused", "deletion works while paused"},
		{"paused", "secrets", "paused means hands off, whatever is wrong"},
		{"secrets", "services", "without certificates no member can be asked, so nothing that follows is known"},
		{"strangers", "services", "the Service that somebody else's clients use stays as it is"},
		{"services", "bootstrap", "members find each other by the headless Service"},
		{"services", "restore", "clients are led to the new incarnation before it grows"},
		{"unblock", "startMember", "a Pod that can never start must go before it can be made again"},
		{"unblock", "restore", "a seed with an image that cannot be had is made again with the corrected one"},
		{"removeStrays", "restore", "a new seed does not find the volume of one that failed"},
		{"startMember", "restore", "the old members go on serving while a seed is restored"},
		{"startMember", "quorum", "with quorum lost, whoever has data is started: that may bring it back"},
		{"restore", "awaitRestore", "the restore that is waited for must be taken up"},
		{"restore", "bootstrap", "a cluster made together with its restore boots from it"},
		{"restore", "quorum", "a restore is the way out of a lost quorum"},
		{"awaitRestore", "bootstrap", "a cluster with a restore pending never boots empty"},
		{"bootstrap", "quorum", "a cluster that never formed has no quorum to lose"},
		{"quorum", "promote", "without quorum etcd changes nothing, and neither does the operator"},
		{"quorum", "replaceLost", "with quorum lost nothing is removed"},
		{"quorum", "scaleUp", "with quorum lost nothing is added"},
		{"promote", "replaceLost", "one change at a time: the one in flight is finished first"},
		{"promote", "settle", "a learner waits for its vote, not for its health"},
		{"removeOrphanPods", "scaleDown", "one member is gone before the next one goes"},
		{"replaceLost", "settle", "a member without data never gets well"},
		{"scaleDown", "settle", "the member that is not well is the one that can be spared"},
		{"scaleDown", "replaceDead", "a cluster that shrinks loses its dead member that way"},
		{"replaceDead", "settle", "a dead member never gets well"},
		{"settle", "scaleUp", "nothing is added to a cluster that is not well"},
		{"settle", "roll", "no member is stopped while another is down"},
		{"scaleUp", "roll", "a member more makes a roll safer"},
		{"settle", "deleteOldVolumes", "no volume is deleted before the cluster is well"},
		{"scaleUp", "deleteOldVolumes", "no volume is deleted before the cluster is at size"},
		{"roll", "deleteOldVolumes", "old volumes are the last resort if an upgrade goes wrong"},
		{"leave", "deleteOldVolumes", "a volume goes after its Pod"},
		{"deleteOldVolumes", "completeRestore", "a restore is complete when nothing of the old cluster is left"},
	}
	at := func(name string) int {
		return slices.IndexFunc(rules, func(r namedRule) bool { return r.name == name })
	}
	for _, pair := range pairs {
		if at(pair.first) < 0 || at(pair.second) < 0 || at(pair.first) > at(pair.second) {
			t.Errorf("%s must be asked before %s: %s", pair.first, pair.second, pair.because)
		}
	}
	for _, r := range rules {
		if !slices.ContainsFunc(pairs, func(p struct{ first, second, because string }) bool { return p.first == r.name || p.second == r.name }) && r.name != "expose" {
			t.Errorf("rule %s stands where it stands for no reason", r.name)
		}
	}
}

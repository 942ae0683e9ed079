package killer_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestForeignMembersAreReportedAndRemovedOnlyByConsent adds members to etcd as a person does who migrates data. Then it fences,
// replaces and relieves members by annotations.
func TestForeignMembersAreReportedAndRemovedOnlyByConsent(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 1, Version: newer})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)

	b.step("a foreign learner holds growth up, and the status says so", func(b *bench) {
		id := b.addForeign("http://127.0.0.1:9", true)
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 3 })
		b.operate(&killer.Count{}, "report the learner", func() error {
			return b.says(v1beta2.ReasonForeignMember, "Until it is removed, the operator adds and removes no other member")
		})
		b.mustHave(id)
		b.statusNames("foreign-member", "Member "+id, "Then consent to the removal")
		b.annotate(v1beta2.AnnotationRemoveForeign, id)
		b.operate(&killer.Count{}, "remove the learner and grow", b.isReady)
	})
	b.step("growth goes on beside a foreign voter", func(b *bench) {
		id := b.addForeign("http://127.0.0.1:9", false)
		b.operate(&killer.Count{}, "report the voter", func() error { return b.says(v1beta2.ReasonForeignMember, "It votes: quorum is 3 of 4 voters") })
		b.statusNames("foreign-voter", "It votes: quorum is 3 of 4 voters", "Then consent to the removal")
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 4 })
		b.operate(&killer.Count{}, "grow", func() error {
			if err := b.says(v1beta2.ReasonForeignMember, "quorum is 3 of 5 voters"); err != nil {
				return err
			}
			return b.hasReady(4)
		})
		b.mustHave(id)
		b.annotate(v1beta2.AnnotationRemoveForeign, id)
		b.operate(&killer.Count{}, "remove the voter", b.isReady)
	})
	b.step("shrinking from an even number of voters", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 3 })
		b.convergeWithKills(b.isReady)
		if b.cluster.Status.RemovingMember != "" {
			b.Errorf("the status still says that %s is being removed", b.cluster.Status.RemovingMember)
		}
	})
	b.step("a fenced member is not in the client Service", func(b *bench) {
		member := b.cluster.Status.MemberStatuses[0].Name
		b.annotate(v1beta2.AnnotationFence, member)
		b.operate(&killer.Count{}, "fence the member", func() error { return errors.Join(b.isReady(), b.serves(member, false)) })
		b.annotate(v1beta2.AnnotationFence, "")
		b.operate(&killer.Count{}, "lift the fence", func() error { return errors.Join(b.isReady(), b.serves(member, true)) })
	})
	b.step("leadership moves from the named member", func(b *bench) {
		before := b.leader()
		b.annotate(v1beta2.AnnotationMoveLeader, before.Name)
		b.operate(&killer.Count{}, "move leadership", func() error {
			if err := b.isReady(); err != nil {
				return err
			}
			if slices.ContainsFunc(b.cluster.Status.MemberStatuses, func(m v1beta2.MemberStatus) bool {
				return m.Role == v1beta2.MemberLeader && m.Name != before.Name
			}) {
				return nil
			}
			return fmt.Errorf("%s still leads", before.Name)
		})
	})
	b.step("another member takes the place of the named one", func(b *bench) {
		member := b.cluster.Status.MemberStatuses[1]
		b.annotate(v1beta2.AnnotationReplace, member.Name)
		b.operate(&killer.Count{}, "replace the member", func() error { return b.goneAndReady(member) })
		b.check()
	})
}

// addForeign adds a member that never starts, and returns its ID.
func (b *bench) addForeign(peerURL string, learner bool) (id string) {
	b.Helper()
	// etcd refuses a voter for 5 seconds after it promoted one.
	kubetest.Eventually(b, "etcd adds the member", func(ctx context.Context) error {
		members, err := b.traffic.members() // an earlier try may have had no answer in time, and was carried out
		for _, m := range members {
			if slices.Contains(m.PeerURLs, peerURL) {
				id = m.id()
				return nil
			}
		}
		for _, pod := range b.traffic.selected(ctx) {
			if err = b.traffic.post(ctx, pod, "cluster/member/add", map[string]any{"peerURLs": []string{peerURL}, "isLearner": learner}, nil); err == nil {
				break
			}
		}
		return cmp.Or(err, errors.New("the member list does not have it yet"))
	})
	return id
}

// mustHave fails the test if a member is not in the membership.
func (b *bench) mustHave(id string) {
	b.Helper()
	members, err := b.traffic.members()
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range members {
		if m.id() == id {
			return
		}
	}
	b.Errorf("member %s was removed without consent", id)
}

// annotate sets an annotation of the EtcdCluster, and removes it if the value is empty.
func (b *bench) annotate(key, value string) {
	b.Helper()
	set := map[string]any{key: value}
	if value == "" {
		set[key] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": set}})
	if err != nil {
		b.Fatal(err)
	}
	if err := b.client.Patch(b.Context(), b.cluster, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		b.Fatal(err)
	}
}

// hasReady returns no error if that many members are ready.
func (b *bench) hasReady(n int) error {
	if b.cluster.Status.Size != n {
		return fmt.Errorf("%d members are ready, expected %d", b.cluster.Status.Size, n)
	}
	return nil
}

// serves returns no error if the client Service selects a member, or does not.
func (b *bench) serves(member string, want bool) error {
	selected := false
	for _, pod := range b.traffic.selected(b.Context()) {
		selected = selected || pod.Name == member
	}
	if selected != want {
		return fmt.Errorf("the client Service selects %s: %t", member, selected)
	}
	return nil
}

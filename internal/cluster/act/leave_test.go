package act

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// leaving is an old member that records who is removed.
type leaving struct {
	members.Etcd
	answers etcd.Status
	removed *[]etcd.ID
	refuses error
}

func (m leaving) Status(context.Context) (etcd.Status, error) { return m.answers, nil }
func (m leaving) Close()                                      {}
func (m leaving) Remove(ctx context.Context, id etcd.ID) error {
	if _, bounded := ctx.Deadline(); !bounded {
		return errors.New("a pass would wait for etcd without end")
	}
	*m.removed = append(*m.removed, id)
	return m.refuses
}

// A restored cluster would keep the Pods and volumes of its old members, and pay for them, because etcd refuses that one of them leaves. Or another
// etcd that has got the address of an old member would lose a member of its own.
func TestAnOldPodIsDeletedWhetherItsMemberHasLeftOrNot(t *testing.T) {
	for name, c := range map[string]struct {
		leaves, there etcd.ID
		refuses       error
		removed       []etcd.ID
	}{
		"it leaves":                       {leaves: 2, there: 2, removed: []etcd.ID{2}},
		"etcd refuses":                    {leaves: 2, there: 2, refuses: etcd.ErrNotYet, removed: []etcd.ID{2}},
		"another etcd has its address":    {leaves: 2, there: 3},
		"the step does not say it leaves": {there: 2},
	} {
		a, v := switchingWith(t, runningPod(1))
		v.Cluster.Status.Incarnation = 2
		if err := a.Client.Status().Update(t.Context(), v.Cluster); err != nil {
			t.Fatal(err)
		}
		v.Incarnation = 2
		old := &v.Members[1]
		old.ID, old.ClusterID, v.Addresses[old.Name] = 2, 9, "192.0.2.1"
		var removed []etcd.ID
		a.confirmer.Connections.Dial = func(etcd.Endpoint, *tls.Config) (members.Etcd, error) {
			return leaving{answers: etcd.Status{ClusterID: 9, MemberID: c.there}, removed: &removed, refuses: c.refuses}, nil
		}
		if err := a.Act(t.Context(), v, steps.DeletePod{Name: old.Name, Briefly: true, Leaves: c.leaves}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(removed, c.removed) {
			t.Errorf("%s: the members %v are removed, want %v", name, removed, c.removed)
		}
		err := a.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: plantest.NameOf(1)}, &corev1.Pod{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s: the Pod is still there: %v", name, err)
		}
	}
}

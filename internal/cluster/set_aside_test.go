package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

func TestAVolumeThatIsSetAsideIsNoMembersVolumeAnyMore(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example", UID: "uid"}}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	look := func() *view.View {
		v := &view.View{State: state.NewState(cluster), Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}, Addresses: map[string]string{}, Classes: map[string]string{}}
		v.Now = now
		return v
	}
	owned := []metav1.OwnerReference{{UID: "uid", Controller: ptr.To(true)}}
	volume := func(name string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: "uid-of-volume", OwnerReferences: owned, Labels: map[string]string{v1beta2.LabelCluster: "example"},
		}}
	}
	foreign := volume("foreign")
	foreign.OwnerReferences, foreign.Labels = nil, map[string]string{v1beta2.LabelReplacedOf: "example"}
	labelled := volume("labelled") // a person set the label on several volumes at once
	labelled.Labels[v1beta2.LabelReplacedOf] = "example"
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster.DeepCopy(), volume("old"), volume("new"), labelled, foreign).Build()
	r := assemble(parts{Client: clustertest.WithClock(api, now, nil), APIReader: api})
	if err := r.actor.Act(t.Context(), look(), steps.SetAsideVolume{Name: "old"}); err != nil {
		t.Fatal(err)
	}
	var old corev1.PersistentVolumeClaim
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "old"}, &old); err != nil {
		t.Fatal(err)
	}
	old.Labels[v1beta2.LabelCluster] = "example" // a person puts it back
	if err := api.Update(t.Context(), &old); err != nil {
		t.Fatal(err)
	}
	v := look()
	if err := r.observer.ObserveMembers(t.Context(), v); err != nil || len(v.Members) != 2 || v.Members[0].Name == "old" || v.Members[1].Name == "old" {
		t.Errorf("the members are %+v, error %v", v.Members, err)
	}
	if err := r.observer.ObserveSetAside(t.Context(), v); err != nil || len(v.SetAside) != 1 || v.SetAside[0].Name != "old" || !v.SetAside[0].Since.Equal(now) {
		t.Errorf("set aside are %+v, error %v", v.SetAside, err)
	}
	for _, keep := range []bool{true, false} {
		if err := r.actor.Act(t.Context(), v, steps.KeepVolume{Name: "old", Keep: keep}); err != nil {
			t.Fatal(err)
		}
		v = look()
		if err := r.observer.ObserveSetAside(t.Context(), v); err != nil || len(v.SetAside) != 1 || v.SetAside[0].Kept != keep {
			t.Errorf("set aside are %+v, error %v, want kept: %t", v.SetAside, err, keep)
		}
	}
	now = now.Add(24 * time.Hour)
	r.Client, v.Now = clustertest.WithClock(api, now, nil), now
	if err := r.actor.Act(t.Context(), v, steps.DeleteVolume{Name: "old"}); err != nil {
		t.Fatal(err)
	}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "old"}, &corev1.PersistentVolumeClaim{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the volume is not deleted: %v", err)
	}
}

// The operator's clock stepped ahead by a day. It deleted all volumes with the data from before a restore an hour after it had set them
// aside.
func TestAVolumeThatIsSetAsideIsKeptByTheClockOfTheAPIServer(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		ahead, passed time.Duration // of the operator's clock, and until the deletion
		refused       error
		deleted       bool
		says          string
	}{
		"both clocks are right":                                     {passed: day, deleted: true},
		"the clocks differ by a second":                             {ahead: time.Second, passed: day - time.Second, deleted: true},
		"the operator's clock is a day ahead":                       {ahead: day, passed: time.Hour, says: "is behind the operator's"},
		"the operator's clock is a day ahead, and a day has passed": {ahead: day, passed: day, deleted: true},
		"a policy refuses the comparison":                           {passed: day, refused: apierrors.NewForbidden(schema.GroupResource{Resource: "poddisruptionbudgets"}, "x", errors.New("a policy")), says: "a policy"},
		"a quota refuses the comparison":                            {passed: day, refused: apierrors.NewForbidden(schema.GroupResource{Resource: "poddisruptionbudgets"}, "x", errors.New("exceeded quota: budgets")), says: "exceeded quota: budgets"},
	} {
		aside := &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", "old", map[string]string{v1beta2.LabelReplacedOf: "example"})}
		aside.Annotations = map[string]string{v1beta2.AnnotationReplacedAt: plantest.Noon.Format(time.RFC3339)}
		r, v := beside(t, aside)
		r.Client = clustertest.WithClock(r.Client, plantest.Noon.Add(test.passed), test.refused)
		v.State = clustertest.State(plantest.Formed, plantest.Members(3))
		v.Now = plantest.Noon.Add(test.passed + test.ahead)
		if err := r.observer.ObserveSetAside(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		step, err := r.planAndAct(t.Context(), v)
		gone := apierrors.IsNotFound(r.Client.Get(t.Context(), client.ObjectKeyFromObject(aside), &corev1.PersistentVolumeClaim{}))
		if gone != test.deleted || err != nil {
			t.Errorf("%s: deleted: %t, error %v", name, gone, err)
		}
		if refused := failure.RefusalsOf(v); (refused != nil) != (test.says != "") || refused != nil && !strings.Contains(refused.Error(), test.says) {
			t.Errorf("%s: the status says %v", name, refused)
		}
		if _, done := step.(steps.Done); done == test.deleted {
			t.Errorf("%s: the step is %+v", name, step)
		}
	}
}

// The operator's clock was a day behind when it set a volume aside, and was corrected. It deleted the volume at once.
func TestAVolumeIsSetAsideAtTheTimeOfTheAPIServer(t *testing.T) {
	for name, refused := range map[string]error{"the API server compares the clocks": nil, "the API server refuses the comparison": apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("a policy"))} {
		old := &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", "old", nil)}
		r, v := beside(t, old)
		r.Client = clustertest.WithClock(r.Client, plantest.Noon, refused)
		v.Now = plantest.Noon.Add(-24 * time.Hour)
		if err := r.actor.Act(t.Context(), v, steps.SetAsideVolume{Name: "old"}); err != nil {
			t.Fatal(err)
		}
		if err := r.observer.ObserveSetAside(t.Context(), v); err != nil || len(v.SetAside) != 1 {
			t.Fatalf("set aside are %+v, error %v", v.SetAside, err)
		}
		if since := v.SetAside[0].Since; since.Equal(plantest.Noon) != (refused == nil) {
			t.Errorf("%s: the volume is set aside since %s", name, since)
		}
	}
}

// Both clocks are read in whole seconds, so their difference changes by a second between comparisons. The message named the difference. So
// the operator wrote the status and an event twice a minute until the clock was corrected.
func TestTheMessageAboutAClockThatIsAheadStaysTheSame(t *testing.T) {
	said := map[string]bool{}
	for _, fraction := range []time.Duration{100 * time.Millisecond, 600 * time.Millisecond, 1400 * time.Millisecond} {
		aside := &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", "old", map[string]string{v1beta2.LabelReplacedOf: "example"})}
		aside.Annotations = map[string]string{v1beta2.AnnotationReplacedAt: plantest.Noon.Format(time.RFC3339)}
		r, v := beside(t, aside)
		r.Client = clustertest.WithClock(r.Client, plantest.Noon.Add(time.Hour), nil)
		v.State, v.Now = clustertest.State(plantest.Formed, plantest.Members(3)), plantest.Noon.Add(25*time.Hour+fraction)
		if err := r.observer.ObserveSetAside(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if _, err := r.planAndAct(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		said[failure.RefusalsOf(v).Error()] = true
	}
	if len(said) != 1 {
		t.Errorf("the operator reported %v", said)
	}
}

// An API backup brings back a status without the recovery. Only a mark on each volume says then that it may have the last copy of a write. An
// admission policy that refuses the mark does not hold up the recovery, because no member serves.
func TestTheVolumesOfARecoveryAreMarkedBeforeTheSurvivorStartsAlone(t *testing.T) {
	for name, refused := range map[string]error{
		"": nil, "a policy refuses it": apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "x", errors.New("a policy")),
		"a webhook is down": apierrors.NewInternalError(errors.New(`failed calling webhook "volumes.example.com": connection refused`)),
	} {
		labels := map[string]string{v1beta2.LabelCluster: "example"}
		var volumes []client.Object
		s := clustertest.State(plantest.Formed, plantest.Members(3))
		for _, m := range s.Members {
			volumes = append(volumes, &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", m.Name, labels)})
		}
		r, v := beside(t, volumes...)
		r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if refused != nil {
				return refused
			}
			return c.Patch(ctx, object, patch, options...)
		}})
		v.State = s
		survivor := s.Members[0].Name
		v.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: survivor, Voters: []string{survivor, s.Members[1].Name, s.Members[2].Name}}
		if err := r.actor.Act(t.Context(), v, steps.RecordForcing{Member: survivor}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, m := range s.Members {
			var volume corev1.PersistentVolumeClaim
			if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: v.Namespace, Name: m.Name}, &volume); err != nil {
				t.Fatal(err)
			}
			seen := state.Member{}
			pods.ObserveVolume(&seen, &volume)
			if want := i > 0 && refused == nil; seen.Recovered != want {
				t.Errorf("%s: the volume of member %d has the mark: %t, want %t", name, i, seen.Recovered, want)
			}
			if err := r.actor.Act(t.Context(), v, steps.UnmarkVolume{Name: m.Name}); refused == nil && err != nil {
				t.Fatal(err)
			}
			if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(&volume), &volume); err != nil {
				t.Fatal(err)
			}
			if pods.ObserveVolume(&seen, &volume); seen.Recovered {
				t.Errorf("%s: the mark of member %d is not removed", name, i)
			}
		}
	}
}

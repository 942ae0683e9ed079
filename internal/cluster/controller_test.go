package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// eventLimit is how long client-go may take to send an event.
const eventLimit = 30 * time.Second

// sink receives the events of client-go, also those that client-go counts as repetitions of an earlier event.
type sink struct {
	events.EventSink
	arrived chan *eventsv1.Event
}

func (s sink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.arrived <- event.DeepCopy()
	return event, nil
}

func (s sink) Patch(ctx context.Context, event *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return s.Create(ctx, event)
}

// next returns the note of the next event and the name of its related object.
func (s sink) next(t *testing.T) string {
	t.Helper()
	select {
	case event := <-s.arrived:
		if event.Related == nil {
			return event.Note + " | "
		}
		return event.Note + " | " + event.Related.Name
	case <-time.After(eventLimit):
		t.Fatal("an event never arrived")
		return ""
	}
}

// A reader of the events must find each action on each member, and each warning with its own text. client-go merges
// events that have the same reason and action and are about the same version of an object. So the operator sends an
// event after it has written the status, and the event is about that version.
func TestEveryMemberAndEveryWarningIsToldOfInAnEventOfItsOwn(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	r, object := recorded(t, s, v1beta2.EtcdClusterStatus{})
	to := sink{arrived: make(chan *eventsv1.Event, 100)}
	broadcaster := events.NewBroadcaster(to)
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broadcaster.Shutdown)
	r.Events = broadcaster.NewRecorder(r.Client.Scheme(), view.Name)
	var got, want []string
	for _, pass := range []struct {
		step    steps.Step
		related string
	}{
		{steps.DefragmentMember{Name: plantest.NameOf(1)}, plantest.NameOf(1)},
		{steps.DefragmentMember{Name: plantest.NameOf(2)}, plantest.NameOf(2)},
		{steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonRolling, Message: "x"}, plantest.NameOf(1)},
		{steps.DeletePod{Name: plantest.NameOf(2), Reason: v1beta2.ReasonRolling, Message: "x"}, plantest.NameOf(2)},
		{steps.ResizeVolume{Name: plantest.NameOf(1), Size: "16Gi"}, plantest.NameOf(1)},
		{steps.Wait{Reason: v1beta2.ReasonVolumeCannotGrow, Message: "its class does not let it", Stalled: true}, ""},
		{steps.Wait{Reason: v1beta2.ReasonVolumeCannotGrow, Message: "its driver has not as much", Stalled: true}, ""},
	} {
		var cluster v1beta2.EtcdCluster
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(object), &cluster); err != nil {
			t.Fatal(err)
		}
		if _, err := r.report(t.Context(), &view.View{State: s, Cluster: &cluster}, pass.step, nil); err != nil {
			t.Fatal(err)
		}
		want = append(want, steps.Describe(s, pass.step).Message+" | "+pass.related)
	}
	for range want {
		got = append(got, to.next(t))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A pass that used an old cache must not overwrite the newer status. But only the status records that a member was
// defragmented. The time of the defragmentation and its event were lost.
func TestADefragmentationIsRememberedThoughTheCacheWasBehind(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	r, behind := recorded(t, s, v1beta2.EtcdClusterStatus{MemberStatuses: []v1beta2.MemberStatus{{Name: plantest.NameOf(0)}, {Name: plantest.NameOf(1)}}})
	recorder := events.NewFakeRecorder(3)
	r.Events = recorder
	newer := behind.DeepCopy()
	newer.Status.Reason = "newer"
	if err := r.Client.Status().Update(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	for _, step := range []steps.Step{steps.DefragmentMember{Name: plantest.NameOf(1), Reason: v1beta2.ReasonDefragmenting}, steps.DeletePod{Name: plantest.NameOf(0)}} {
		if _, err := r.report(t.Context(), &view.View{State: s, Cluster: behind}, step, nil); !apierrors.IsConflict(err) {
			t.Errorf("%T: %v, want a conflict", step, err)
		}
	}
	var got v1beta2.EtcdCluster
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(behind), &got); err != nil {
		t.Fatal(err)
	}
	members := got.Status.MemberStatuses
	if len(members) != 2 || members[0].DefragmentedAt != nil || members[1].DefragmentedAt == nil || !members[1].DefragmentedAt.Time.Equal(s.Now) {
		t.Errorf("members are %+v", members)
	}
	if got.Status.Reason != "newer" {
		t.Errorf("the newer status was overwritten: %+v", got.Status)
	}
	if told := len(recorder.Events); told != 1 {
		t.Errorf("%d events, want that of the defragmentation", told)
	}
}

// recorded returns a Reconciler with an API server that has the EtcdCluster of s, and that object as it was read there.
func recorded(t *testing.T, s state.State, status v1beta2.EtcdClusterStatus) (*Reconciler, *v1beta2.EtcdCluster) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1beta2.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	object := &v1beta2.EtcdCluster{Status: status}
	object.Namespace, object.Name = s.Namespace, s.Name
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(object).WithObjects(object).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return assemble(parts{Client: c, APIReader: c, Now: time.Now}), object
}

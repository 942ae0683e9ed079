package observe

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// addressIn is an EndpointSlice of a Service with one address of the member that waits.
func addressIn(service, address string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: service + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Endpoints:  []discoveryv1.Endpoint{{Hostname: ptr.To(clustertest.AheadName), Addresses: []string{address}}},
	}
}

// If the operator adds a member before its name resolves, DNS servers keep the answer "no such host" for 5 to 30 s.
func TestANameCountsAsPublishedOnlyWithTheAddressOfItsPod(t *testing.T) {
	for name, test := range map[string]struct {
		slice     *discoveryv1.EndpointSlice
		published bool
	}{
		"the address of the Pod":            {addressIn("example", "10.0.0.1"), true},
		"the address of an earlier Pod":     {addressIn("example", "10.0.0.2"), false},
		"the address in the client Service": {addressIn("example-client", "10.0.0.1"), false},
		"the address in the Service of another namespace": {func() *discoveryv1.EndpointSlice {
			s := addressIn("example", "10.0.0.1")
			s.Namespace = "other"
			return s
		}(), false},
	} {
		o, v := observerBeside(t, test.slice)
		waitsWithAddress(v, plantest.Noon)
		o.observePublished(t.Context(), v)
		if got := !v.Members[0].PublishedSince.IsZero(); got != test.published {
			t.Errorf("%s: published %t, expected %t", name, got, test.published)
		}
	}
}

func TestANameCountsAsPublishedFromThePassThatFirstSawIt(t *testing.T) {
	o, v := observerBeside(t, addressIn("example", "10.0.0.1"))
	for _, pass := range []struct {
		after time.Duration
		moved bool // to another address and back
		want  time.Time
	}{{0, false, plantest.Noon}, {100 * time.Millisecond, false, plantest.Noon}, {200 * time.Millisecond, true, plantest.Noon.Add(200 * time.Millisecond)}} {
		if pass.moved {
			waitsWithAddress(v, plantest.Noon)
			v.Addresses[clustertest.AheadName] = "10.0.0.9"
			o.observePublished(t.Context(), v)
		}
		waitsWithAddress(v, plantest.Noon)
		v.Now = plantest.Noon.Add(pass.after)
		o.observePublished(t.Context(), v)
		if got := v.Members[0].PublishedSince; !got.Equal(pass.want) {
			t.Errorf("after %s: published since %s, expected %s", pass.after, got, pass.want)
		}
	}
}

// waitsWithAddress gives the view one member, whose Pod waits and has an address.
func waitsWithAddress(v *view.View, since time.Time) {
	v.Members = []state.Member{{Name: clustertest.AheadName, Incarnation: 1, Pod: state.PodStarting, Start: state.StartJoin, Waits: true, AddressSince: since}}
	v.Addresses[clustertest.AheadName] = "10.0.0.1"
}

// Its kubelet reports up to a second later that etcd runs, and the next member waits for this one.
func TestAReleasedMemberThatAnswersRunsBeforeItsKubeletReportsIt(t *testing.T) {
	for name, test := range map[string]struct {
		waits, answers bool
	}{"the member was released": {false, true}, "the member still waits": {true, false}} {
		released := state.Member{Pod: state.PodStarting, Start: state.StartJoin, Waits: test.waits, AddressSince: plantest.Noon}
		if released.Released() != test.answers {
			t.Errorf("%s: asked %t, expected %t", name, released.Released(), test.answers)
		}
		if !test.answers {
			continue
		}
		members.Hear(&released, members.Answer{})
		if released.Pod != state.PodRunning || !released.Answers {
			t.Errorf("%s: it answers, and its Pod is %s", name, released.Pod)
		}
		silent := state.Member{Pod: state.PodStarting, Start: state.StartJoin, AddressSince: plantest.Noon}
		members.Hear(&silent, members.Answer{Err: members.ErrNoAddress})
		if silent.Pod != state.PodStarting {
			t.Errorf("%s: it does not answer, and its Pod is %s", name, silent.Pod)
		}
	}
}

func TestMembersWithoutAddressCauseNoReadOfTheService(t *testing.T) {
	o, v := observerBeside(t)
	o.APIReader = nil // a read would panic
	v.Members = []state.Member{
		{Name: plantest.NameOf(0), Pod: state.PodRunning, AddressSince: plantest.Noon},
		{Name: clustertest.AheadName, Pod: state.PodStarting, Waits: true},
		{Name: plantest.NameOf(4), Pod: state.PodStarting, Waits: true, AddressSince: plantest.Noon.Add(-time.Hour)},
	}
	o.observePublished(t.Context(), v)
}

package pods

import (
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// OpenShift's restricted-v2 refuses a Pod that names a user or a group outside of the namespace's range.
func TestASecurityContextOfTheSpecLeavesUserAndGroupToThePlatform(t *testing.T) {
	for name, test := range clustertest.PodTests {
		if test.State.Spec.Pod != nil && len(test.State.Spec.Pod.Containers) > 0 {
			continue // its security contexts are the user's
		}
		t.Run(name, func(t *testing.T) {
			s := test.State
			policy := s.PodPolicy()
			policy.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
			s.Spec.Pod = &policy
			pod := NewPod(s, test.Member, clustertest.SeedImage)
			if got := pod.Spec.SecurityContext; got.RunAsUser != nil || got.RunAsGroup != nil || got.FSGroup != nil {
				t.Errorf("the Pod names a user or group: %+v", got)
			}
			for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				if c.SecurityContext.RunAsUser != nil || c.SecurityContext.RunAsGroup != nil {
					t.Errorf("container %s names a user or group: %+v", c.Name, c.SecurityContext)
				}
			}
		})
	}
}

// A ResourceQuota of CPU and memory refuses a Pod with a container that has no requests, init containers included.
func TestResourcesOfTheSpecAreThoseOfEachContainerOfTheOperator(t *testing.T) {
	some := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	for name, test := range clustertest.PodTests {
		t.Run(name, func(t *testing.T) {
			s := test.State
			policy := s.PodPolicy()
			users := len(policy.Containers) + len(policy.InitContainers)
			policy.Resources = corev1.ResourceRequirements{Requests: some, Limits: some}
			s.Spec.Pod = &policy
			pod := NewPod(s, test.Member, clustertest.SeedImage)
			without := 0
			for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
					without++
				}
			}
			if without > users {
				t.Errorf("%d containers have no resources, and the user's are %d", without, users)
			}
		})
	}
}

// In Go, and so in etcd, a server that listens on 0.0.0.0 accepts connections of both families. So members need no other
// flags on IPv6, and an upgrade of the operator that added them would restart all members.
func TestTheAddressOnWhichMembersListenAcceptsIPv6(t *testing.T) {
	if probe, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "[::1]:0"); err != nil {
		t.Logf("this machine has no IPv6: %v", err)
		return
	} else if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	checked := 0
	for _, arg := range command.Args(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}) {
		flag, url, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(flag, "--listen-") {
			continue
		}
		checked++
		host, _, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		for _, client := range []string{"127.0.0.1", "::1"} {
			connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(client, port))
			if err != nil {
				t.Errorf("%s: a client of %s cannot connect: %v", arg, client, err)
				continue
			}
			_ = connection.Close()
		}
		_ = listener.Close()
	}
	if checked != 3 {
		t.Errorf("etcd has %d listen flags, want 3", checked)
	}
}

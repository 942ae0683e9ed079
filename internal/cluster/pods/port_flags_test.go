package pods

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The integration tests of the two ports set the flags of etcd themselves. If the Pod of a member lacked them, a client of another cluster of the same
// CA would open the client port, and each client would open the peer port, where etcd asks for no user.
func TestPodsCheckTheNamesOfPeersAndClients(t *testing.T) {
	ofCluster := func(s *state.State) {
		s.Spec.TLS.AcceptClients = v1beta2.AcceptClientsOfCluster
		for i := range s.Members {
			s.Members[i].SecureClient = true
		}
	}
	managed := func(s *state.State) { s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} }
	s := clustertest.State(plantest.Initial(3), plantest.Begun, managed, ofCluster)
	pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, InitialSize: 3, Start: state.StartNew}, clustertest.SeedImage)
	args := slices.Concat(pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Args)
	for _, flag := range []string{"--peer-cert-allowed-hostname=" + state.PeerHostname(s), "--client-cert-allowed-hostname=" + state.ClientHostname(s)} {
		if !slices.Contains(args, flag) {
			t.Errorf("the Pod lacks %s: %s", flag, strings.Join(args, " "))
		}
	}
}

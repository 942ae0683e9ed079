package attempt_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

// An EtcdCluster may name a Secret before authentication is turned on, so a wrong or missing one must not stop backups.
func TestAWrongSecretOfAnEtcdClusterStopsNoBackup(t *testing.T) {
	incomplete := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "login"}, Data: map[string][]byte{v1beta2.AuthUsernameKey: []byte("root")}}
	for name, secrets := range map[string][]*corev1.Secret{"a missing Secret": nil, "a Secret without a password": {incomplete}} {
		t.Run(name, func(t *testing.T) {
			w := attempttest.NewWorld(t, secrets...)
			s := statetest.One(func(s *state.State) {
				s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "c"}
				s.Cluster = &state.Cluster{Name: "c", AuthSecret: "login", ClientURLs: []string{"a"}}
			})
			if result := w.Attempt(s); result.Failure != nil {
				t.Fatalf("authentication is off, and the attempt fails: %+v", result.Failure)
			}
			w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
				return []ask.Answer{clientstest.Member("a", 41, clientstest.Refuses)}
			}
			failure := w.Attempt(s).Failure
			if failure == nil || failure.Reason != v1beta2.ReasonEtcdAccessDenied || !strings.Contains(failure.Message, "Secret login") {
				t.Errorf("authentication is on, and the failure is %+v", failure)
			}
		})
	}
}

package state_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

func TestAnEtcdClusterIsSavedWithTheSecretsOfItsOperators(t *testing.T) {
	status := v1beta2.EtcdClusterStatus{ClientTLSSecret: "clients", OperatorTLSSecret: "operators", OperatorAuthSecret: "user"}
	if got := state.ClusterOf(&v1beta2.EtcdCluster{Status: status}); got.TLSSecret != "operators" || got.AuthSecret != "user" {
		t.Errorf("the Secrets are %s and %s", got.TLSSecret, got.AuthSecret)
	}
	status.OperatorTLSSecret = "" // of an older cluster-operator
	if got := state.ClusterOf(&v1beta2.EtcdCluster{Status: status}); got.TLSSecret != "clients" {
		t.Errorf("the Secret is %s", got.TLSSecret)
	}
}

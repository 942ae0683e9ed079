package secrets

import (
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Secrets read and judge the Secrets and Certificates of EtcdClusters.
type Secrets struct {
	*view.KubeAPI
	// Rereads limits how often Secrets are read again that need not have changed. If it is nil, every pass reads them.
	Rereads *rate.Limiter
	Memory  view.Memory[keptReads]
	// Ledger is what all EtcdClusters keep; nil for no limit.
	Ledger *Ledger
}

// keep keeps what was read. What all clusters keep has a bound, too: a tenant may have many of them, which name the same large Secrets.
func (s *Secrets) keep(v *view.View, name string, read client.Object) {
	s.Memory.OfView(v).put(name, read, func(bytes int) bool { return s.Ledger.set(v.Key(), bytes) })
}

// Forget drops what is kept of an EtcdCluster that does not exist any more.
func (s *Secrets) Forget(cluster types.NamespacedName) {
	s.Memory.Forget(cluster)
	s.Ledger.set(cluster, 0)
}

package secrets

import (
	"golang.org/x/time/rate"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Secrets read and judge the Secrets and Certificates of EtcdClusters.
type Secrets struct {
	*view.KubeAPI
	// Rereads limits how often Secrets are read again that need not have changed. If it is nil, every pass reads them.
	Rereads *rate.Limiter
	Memory  view.Memory[keptReads]
}

package secrets

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// KeptMemory is what all EtcdClusters of a process keep of Secrets and Certificates in memory, beside usualOfCluster for each.
	KeptMemory = 96 << 20
	// usualOfCluster is what is kept of a cluster that does not count: that of a thousand clusters is in the base of the process. A cluster with managed TLS has 15 KiB.
	usualOfCluster = 24 << 10
	// judgedTimes is how many bytes one that is kept takes in memory together with the judgement, which has pools of the CA certificates.
	judgedTimes = 2
)

// Ledger is what the EtcdClusters keep in memory together. Its zero value is no ledger, see NewLedger. The nil one counts nothing.
type Ledger struct {
	budget *turns.Budget

	lock  sync.Mutex
	taken map[types.NamespacedName]int64
}

// NewLedger returns one for all clusters of the process.
func NewLedger() *Ledger {
	return &Ledger{budget: turns.NewDividedBudget(KeptMemory), taken: map[types.NamespacedName]int64{}}
}

// set replaces what is kept of an EtcdCluster. It changes nothing and returns false if there is no memory for it.
func (l *Ledger) set(cluster types.NamespacedName, bytes int) bool {
	if l == nil {
		return true
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	need := judgedTimes * int64(max(bytes-usualOfCluster, 0))
	switch more := need - l.taken[cluster]; {
	case more > 0 && l.budget.Take(cluster.Namespace, more) != turns.None:
		return false
	case more < 0:
		l.budget.Return(cluster.Namespace, -more)
	}
	if l.taken[cluster] = need; need == 0 {
		delete(l.taken, cluster)
	}
	return true
}

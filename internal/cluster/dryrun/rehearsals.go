package dryrun

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Rehearsals create and delete objects in dry runs, before the operator depends on them.
type Rehearsals struct {
	*kubecache.Lists
	// SeedImage is the image of restore-operator, which restores the first member of a restored cluster.
	SeedImage string
	// SeedEnv are the variables with which a seed reaches object stores.
	SeedEnv map[string]string
	// Foresight limits the dry runs of Pods before they are needed. If it is nil, there are none.
	Foresight *foresight
	// WakeUp starts a pass for an EtcdCluster.
	WakeUp func(metav1.ObjectMeta)
	Memory view.Memory[rehearsed]
}

// rehearsed is what the dry runs of one EtcdCluster have returned.
type rehearsed struct {
	// refused is the newest refusal of a dry run of a Pod, and volume that of a volume.
	refused lastRefusal
	volume  volumeRehearsal
	// pod is what a dry run of a Pod returned before the Pod is needed.
	pod podRehearsal
}

// volumeRehearsal is what a dry run of a volume returned for a generation of the spec.
type volumeRehearsal struct {
	generation int64
	// accepted: nothing is to be asked again for this generation.
	accepted bool
	// at is when the API server was last asked.
	at      time.Time
	problem string
}

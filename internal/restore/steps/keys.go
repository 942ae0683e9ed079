package steps

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

type (
	// RestoreKeys starts to write the keys, or lets the attempt continue if Start is false.
	RestoreKeys struct {
		Start  bool
		Source v1beta2.RestoreSource
	}
	// CompleteKeys ends a restore of prefixes.
	CompleteKeys struct {
		// Compared is the comparison, without its conflicts.
		Compared  v1beta2.PrefixesStatus
		Conflicts int64
		First     []string
	}
)

func (RestoreKeys) Describe(s state.State) planning.Description {
	return announced(s, corev1.EventTypeNormal, planning.Description{
		Reason: v1beta2.ReasonRestoringKeys, Message: s.KeysMessage(), Requeue: ProgressInterval,
	})
}

func (c CompleteKeys) Describe(s state.State) planning.Description {
	kind := corev1.EventTypeNormal
	message := fmt.Sprintf("The keys below %s are restored into EtcdCluster %s: %s.", s.Prefixes(), s.Restore.Spec.EtcdCluster.Name, state.Differences(c.Compared))
	if c.Conflicts > 0 {
		kind = corev1.EventTypeWarning
		message += fmt.Sprintf(" Of these, %d keys were not changed, because clients have written them since revision %d: %s. If you want them as they are in the snapshot, "+
			"create another EtcdRestore.", c.Conflicts, c.Compared.Revision, strings.Join(c.First, ", "))
	}
	return announced(s, kind, planning.Description{Reason: v1beta2.ReasonComplete, Message: message})
}

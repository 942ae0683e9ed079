package command

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Options are the flags of spec.etcd. All of them exist in etcd 3.4 to 3.7. An option that is not set gets no flag, so
// that a release of etcd decides its default, and spec.pod.etcdEnv can set it.
func Options(s state.State) []string {
	policy := s.Spec.Etcd
	if policy == nil {
		return nil
	}
	var args []string
	set := func(flag, value string) { args = append(args, "--"+flag+"="+value) }
	if policy.QuotaBackendBytes != nil {
		set("quota-backend-bytes", strconv.FormatInt(policy.QuotaBackendBytes.Value(), 10))
	}
	if compaction := policy.AutoCompaction; compaction != nil {
		set("auto-compaction-mode", strings.ToLower(string(compaction.Mode)))
		set("auto-compaction-retention", compaction.Retention)
	}
	if policy.HeartbeatInterval != nil {
		set("heartbeat-interval", milliseconds(policy.HeartbeatInterval))
	}
	if policy.ElectionTimeout != nil {
		set("election-timeout", milliseconds(policy.ElectionTimeout))
	}
	if policy.LogLevel != "" {
		set("log-level", policy.LogLevel)
	}
	if policy.MaxRequestBytes != nil {
		set("max-request-bytes", strconv.FormatInt(policy.MaxRequestBytes.Value(), 10))
	}
	if policy.SnapshotCount != nil {
		set("snapshot-count", strconv.FormatInt(*policy.SnapshotCount, 10))
	}
	return args
}

func milliseconds(d *metav1.Duration) string {
	return strconv.FormatInt(int64(d.Duration/time.Millisecond), 10)
}

// AskedOptions is spec.etcd with its quantities in one notation, and nil if it asks for nothing.
func AskedOptions(s state.State) *v1beta2.EtcdPolicy {
	if s.Spec.Etcd == nil || *s.Spec.Etcd == (v1beta2.EtcdPolicy{}) {
		return nil
	}
	asked := *s.Spec.Etcd
	asked.QuotaBackendBytes, asked.MaxRequestBytes = inBytes(asked.QuotaBackendBytes), inBytes(asked.MaxRequestBytes)
	return &asked
}

func inBytes(q *resource.Quantity) *resource.Quantity {
	if q == nil {
		return nil
	}
	return resource.NewQuantity(q.Value(), resource.BinarySI)
}

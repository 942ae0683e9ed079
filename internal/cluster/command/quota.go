package command

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// QuotaFlag is the largest size of the database.
const QuotaFlag = "--quota-backend-bytes="

// QuotaOf is Member.PodQuota of a container.
func QuotaOf(c corev1.Container) *int64 {
	said := ""
	for _, e := range c.Env {
		if e.Name == state.QuotaVariable {
			said = e.Value
			if e.ValueFrom != nil {
				return ptr.To[int64](0)
			}
		}
	}
	for _, arg := range c.Command {
		if value, ok := strings.CutPrefix(arg, QuotaFlag); ok {
			said = value
		}
	}
	if said == "" {
		return ptr.To(int64(etcd.DefaultQuota))
	}
	quota, err := strconv.ParseInt(said, 10, 64)
	if err == nil && quota == 0 {
		quota = etcd.DefaultQuota
	}
	return &quota // 0 for what is no number
}

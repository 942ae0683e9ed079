package pods

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// etcd before 3.6 does not report its quota, and the spec may ask for another one by now.
func TestTheQuotaOfAMemberIsReadFromItsPod(t *testing.T) {
	variable := func(value string) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: value}}
	}
	for name, test := range map[string]struct {
		args []string
		env  []corev1.EnvVar
		want int64
	}{
		"a flag":                    {args: []string{"--quota-backend-bytes=104857600"}, want: 100 << 20},
		"a variable":                {env: variable("104857600"), want: 100 << 20},
		"no quota":                  {env: variable("-1"), want: -1},
		"the default":               {want: etcd.DefaultQuota},
		"the default, written as 0": {env: variable("0"), want: etcd.DefaultQuota},
		"a variable from a Secret":  {env: []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", ValueFrom: &corev1.EnvVarSource{}}}, want: 0},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: lifecycle.EtcdContainer, Command: append([]string{"etcd"}, test.args...), Env: test.env}}}}
		var m state.Member
		ObservePod(&m, pod, plantest.Noon)
		if m.PodQuota == nil || *m.PodQuota != test.want {
			t.Errorf("%s: the quota is %d, want %d", name, ptr.Deref(m.PodQuota, -2), test.want)
		}
	}
}

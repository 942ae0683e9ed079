package versions_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/versions"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
)

func withVariable(name string) plantest.Change {
	return plantest.Policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: name, Value: "false"}}})
}

// A cluster can have a variable from before the API refused it. Its user must learn that it does nothing, or what it does.
func TestAStoredVariableThatIsRefusedIsReportedAndRestartsNoMember(t *testing.T) {
	for _, flag := range etcdflags.All() {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), withVariable(flag.Variable()))
		step := plan.Plan(s)
		advice, is := step.(steps.Advice)
		wanted := flag.Refused != nil || flag.NoEffect || (flag.Gate == "" && flag.NameIn(s.Spec.EtcdVersion()) == "")
		if is != wanted || (is && (advice.Reason != v1beta2.ReasonSettingIgnored || !strings.Contains(advice.Message, "spec.pod.etcdEnv has "+flag.Variable()))) {
			t.Errorf("%s: the step is %#v, want a report: %t", flag.Variable(), step, wanted)
		}
		if is && flag.Refused != nil && !strings.Contains(advice.Message, flag.Refused.Why+" ") {
			t.Errorf("%s: the report does not say why: %s", flag.Variable(), advice.Message)
		}
		status := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
		if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionReady) {
			t.Errorf("%s: a cluster that serves is not ready", flag.Variable())
		}
	}
}

func TestAnIgnoredVariableHidesNoAdviceAboutTheVersion(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllRun("3.5.1"), withVariable("ETCD_NAME"))
	if advice := plan.Plan(s).(steps.Advice); !strings.Contains(advice.Message, "ETCD_NAME") || !strings.Contains(advice.Message, "The members run etcd 3.5.1, which is not advised") {
		t.Errorf("the advice is %s", advice.Message)
	}
}

func TestAVariableOfAnotherVersionIsReported(t *testing.T) {
	for variable, version := range map[string]string{"ETCD_FEATURE_GATES": "3.5.35", "ETCD_CORRUPT_CHECK_TIME": "3.5.35", "ETCD_ENABLE_V2": "3.6.16", "ETCD_EXPERIMENTAL_ENABLE_V2V3": "3.7.3"} {
		step, _ := versions.IgnoredSettings(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllRun(version), withVariable(variable))).(steps.Advice)
		if !strings.Contains(step.Message, "etcd "+version+" has no such option") {
			t.Errorf("%s in etcd %s: %s", variable, version, step.Message)
		}
	}
}

package versions

import (
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
)

// IgnoredSettings reports variables of spec.pod.etcdEnv that do not do what they say: those of the operator's options, which a spec can
// have from before the API refused them, and those that the version of etcd does not have.
func IgnoredSettings(s state.State) steps.Step {
	var sentences []string
	for _, e := range s.PodPolicy().EtcdEnv {
		if problem := settingProblem(s, e.Name); problem != "" {
			sentences = append(sentences, problem)
		}
	}
	if len(sentences) == 0 {
		return nil
	}
	message := strings.Join(sentences, " ") + " A change of spec.pod.etcdEnv restarts the members, one at a time."
	if advice := versionAdvice(s); advice != "" {
		message += " " + advice
	}
	return steps.Advice{Reason: v1beta2.ReasonSettingIgnored, Message: message}
}

// settingProblem says why a variable has no effect, or one that is not wanted. It is empty for the others, also for those that etcd does
// not know: a newer patch release may have them.
func settingProblem(s state.State, variable string) string {
	flag, known := etcdflags.Of(variable)
	version := state.VersionFor(s, s.Incarnation)
	switch {
	case !known:
		return ""
	case flag.Refused != nil && flag.Refused.Kept:
		return fmt.Sprintf("spec.pod.etcdEnv has %s. %s The operator leaves it as it is. %s", variable, flag.Refused.Why, flag.Refused.Instead)
	case flag.Refused != nil:
		return fmt.Sprintf("spec.pod.etcdEnv has %s, and the operator starts members without it. %s %s", variable, flag.Refused.Why, flag.Refused.Instead)
	case flag.NoEffect:
		return fmt.Sprintf("spec.pod.etcdEnv has %s, which etcd ignores. Remove the variable.", variable)
	case flag.Gate != "" && etcdflags.Gates(version):
		return "" // it becomes a feature gate
	case flag.NameIn(version) == "":
		return fmt.Sprintf("spec.pod.etcdEnv has %s, and etcd %s has no such option. Remove the variable.", variable, version)
	}
	return ""
}

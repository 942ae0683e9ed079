package pods

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// versions has a release of each minor version.
var versions = []string{"3.4.37", "3.5.35", "3.6.16", "3.7.3"}

func podOf(version string, start state.Start, changes ...plantest.Change) *corev1.Pod {
	s := clustertest.State(append([]plantest.Change{plantest.OfVersion(version)}, changes...)...)
	return NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: start, InitialSize: 3}, "")
}

// What the operator sets for a reason, a user must not set otherwise. What is the user's must arrive, in each version of etcd.
func TestEachVariableReachesEtcdAsTheTableSays(t *testing.T) {
	for _, flag := range etcdflags.All() {
		for _, version := range versions {
			given := corev1.EnvVar{Name: flag.Variable(), Value: "false"}
			etcd := podOf(version, state.StartRejoin, plantest.Policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{given}})).Spec.Containers[0]
			var has []string
			for _, e := range etcd.Env {
				has = append(has, e.Name+"="+e.Value)
			}
			want := []string{flag.Variable() + "=false"}
			gates := ""
			switch name := flag.NameIn(version); {
			case flag.Refused != nil && !flag.Refused.Kept:
				want = nil
			case flag.Gate != "" && etcdflags.Gates(version):
				want, gates = nil, flag.Gate+"=false"
			case flag.Name == "feature-gates" && etcdflags.Gates(version):
				want = nil // the flag has it
			case name != "":
				want = []string{etcdflags.VariableOf(name) + "=false"}
			}
			if !slices.Equal(has, want) {
				t.Errorf("etcd %s: %s arrives as %q, want %q", version, flag.Variable(), has, want)
			}
			if command := strings.Join(etcd.Command, " "); !strings.Contains(command, gates) {
				t.Errorf("etcd %s: %s is lost: %s", version, flag.Variable(), command)
			}
		}
	}
}

// A flag that the operator passes and the table does not know could be set by a variable, and etcd then does not start. The operator leaves
// the check of peers out if a variable sets one.
func TestEachFlagOfTheOperatorIsInTheTable(t *testing.T) {
	everything := func(s *state.State) {
		s.Spec.Etcd = &v1beta2.EtcdPolicy{
			QuotaBackendBytes: resource.NewQuantity(1<<30, resource.BinarySI), MaxRequestBytes: resource.NewQuantity(1<<20, resource.BinarySI),
			AutoCompaction:    &v1beta2.AutoCompactionPolicy{Mode: v1beta2.AutoCompactionPeriodic, Retention: "5m"},
			HeartbeatInterval: &metav1.Duration{Duration: 1e8}, ElectionTimeout: &metav1.Duration{Duration: 1e9}, LogLevel: "info", SnapshotCount: ptr.To(int64(1000)),
		}
		s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	}
	for _, version := range versions {
		for _, start := range []state.Start{state.StartNew, state.StartJoin, state.StartRejoin, state.StartSeed, state.StartForce} {
			for _, arg := range podOf(version, start, everything).Spec.Containers[0].Command[1:] {
				name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
				flag, known := etcdflags.Of(etcdflags.VariableOf(name))
				ours := flag.Refused != nil || flag.Field != "" || flag.Gate != "" || name == "feature-gates" || name+"=" == strings.TrimPrefix(command.PeerNameFlag, "--")
				if !known || !ours || !flag.In(version) {
					t.Errorf("etcd %s, %s: the operator passes --%s, which the table of flags has not as the operator's (%+v)", version, start, name, flag)
				}
			}
		}
	}
}

// etcd 3.7 knows no experimental flag, and ignores its variable: the setting would end with the upgrade.
func TestASettingSurvivesTheUpgradeThatRenamesIt(t *testing.T) {
	env := []corev1.EnvVar{{Name: "ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME", Value: "1h"}, {Name: "ETCD_EXPERIMENTAL_COMPACTION_BATCH_LIMIT", Value: "5"}, {Name: "ETCD_COMPACTION_BATCH_LIMIT", Value: "9"}}
	for version, want := range map[string]string{
		"3.5.35": "ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME=1h ETCD_EXPERIMENTAL_COMPACTION_BATCH_LIMIT=5 ETCD_COMPACTION_BATCH_LIMIT=9",
		"3.7.3":  "ETCD_CORRUPT_CHECK_TIME=1h ETCD_COMPACTION_BATCH_LIMIT=9",
	} {
		var got []string
		for _, e := range podOf(version, state.StartRejoin, plantest.Policy(v1beta2.PodPolicy{EtcdEnv: env})).Spec.Containers[0].Env {
			got = append(got, e.Name+"="+e.Value)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("etcd %s gets %s, want %s", version, text, want)
		}
	}
}

// The operator is upgraded while a cluster has variables that this release leaves out or renames. Its members run on.
func TestNoMemberRestartsForAVariableThatIsRefusedNow(t *testing.T) {
	var env []corev1.EnvVar
	for _, flag := range etcdflags.All() {
		env = append(env, corev1.EnvVar{Name: flag.Variable(), Value: "false"})
	}
	for _, version := range versions {
		s := clustertest.State(plantest.Formed, plantest.Members(3), plantest.OfVersion(version), plantest.Policy(v1beta2.PodPolicy{EtcdEnv: env}))
		pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
		pod.Spec.Containers[0].Env = env // as the earlier release passed them
		for _, noted := range []bool{true, false} {
			if !noted {
				delete(pod.Annotations, AnnotationTemplate)
			}
			var m state.Member
			ObserveTemplate(s, &m, pod)
			if m.Outdated {
				t.Errorf("etcd %s, noted %t: the Pod is recreated", version, noted)
			}
		}
	}
}

// The kubelet takes the last variable of a name. A member could start without its data under its old identity, or with its data below another
// folder of the volume.
func TestNoVariableOfTheUserTakesTheGuardsOfAMemberAway(t *testing.T) {
	for _, name := range []string{command.EnvInitialCluster, lifecycle.EnvAdded, seed.EnvDataRequired} {
		if !slices.Contains(etcdflags.Own, name) {
			t.Errorf("the operator sets %s, and a user may set it, too", name)
		}
		s := clustertest.State(plantest.Formed, plantest.Members(1), plantest.Policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: name, Value: "mine"}}}))
		for _, start := range []state.Start{state.StartJoin, state.StartSeed, state.StartRejoin} {
			pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: start, Waits: start == state.StartJoin}, "")
			for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				for _, e := range c.Env {
					if e.Name == name && e.Value == "mine" {
						t.Errorf("a member that starts by %s has %s of spec.pod.etcdEnv in container %s", start, name, c.Name)
					}
				}
			}
		}
	}
}

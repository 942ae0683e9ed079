package act

import (
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// TestNoPodOfAMemberThatHasStartedStartsEmpty tries every way in which the operator starts etcd. A start that is not listed here fails it:
// whatever the kubelet restarts in a Pod on an empty volume must refuse to run, once its member has started.
func TestNoPodOfAMemberThatHasStartedStartsEmpty(t *testing.T) {
	starts := map[state.Start]bool{ // whether it makes data
		state.StartNew: true, state.StartJoin: true, state.StartSeed: true, state.StartRejoin: false, state.StartForce: false,
	}
	for _, start := range declaredStarts(t) {
		if _, listed := starts[start]; !listed {
			t.Errorf("the start %s is not tried. Does it make data?", start)
		}
	}
	for start, makes := range starts {
		for _, waits := range []bool{false, true} {
			if waits && start != state.StartJoin {
				continue
			}
			a, v := actorBeside(t)
			v.State = clustertest.State(plantest.Formed, plantest.Members(3))
			v.Request = &state.RestoreRequest{Name: "back", UID: "uid-back"}
			create := steps.CreateMember{Name: clustertest.AheadName, Incarnation: 1, Start: start, Waits: waits}
			if start == state.StartNew {
				create.InitialSize = 4
			}
			pod := pods.NewPod(v.State, create, "restore-operator")
			if err := a.Client.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			if waits {
				if err := a.pods.releaseMember(t.Context(), v, clustertest.AheadName); err != nil {
					t.Fatal(err)
				}
			}
			get := func() (*corev1.Pod, state.Member) {
				t.Helper()
				if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
					t.Fatal(err)
				}
				seen := pod.DeepCopy()
				kubecache.Slim(seen)
				var m state.Member
				pods.ObservePod(&m, seen, v.Now)
				return pod, m
			}
			_, m := get()
			if m.MayStartEmpty != makes {
				t.Errorf("%s (waits: %t): it may start empty: %t", start, waits, m.MayStartEmpty)
			}
			if makes && start != state.StartSeed && !strings.Contains(m.Peers, clustertest.AheadName) {
				t.Errorf("%s (waits: %t): etcd finds no other members: %q", start, waits, m.Peers)
			}
			if makes {
				if err := a.Act(t.Context(), v, steps.ForbidEmptyStart{Name: clustertest.AheadName}); err != nil {
					t.Fatal(err)
				}
			}
			pod, m = get()
			if m.MayStartEmpty || !refusesToStartEmpty(pod) {
				t.Errorf("%s (waits: %t): after the member has started: %v %v", start, waits, pod.Spec.Containers[0].Command, pod.Annotations)
			}
		}
	}
}

// refusesToStartEmpty reports whether the containers that a kubelet would start now make no data: --initial-cluster names another member,
// and an init container that restores a snapshot requires data.
func refusesToStartEmpty(pod *corev1.Pod) bool {
	value := pod.Annotations[pods.AnnotationInitialCluster]
	for _, c := range pod.Spec.InitContainers {
		if c.Name == pods.SeedContainer && (!pods.HasEnv(pod.Spec.InitContainers, pods.SeedContainer, seed.EnvDataRequired) || value == "") {
			return false
		}
	}
	for _, arg := range pod.Spec.Containers[0].Command {
		if given, is := strings.CutPrefix(arg, command.InitialClusterFlag); is {
			return strings.ReplaceAll(given, "$("+command.EnvInitialCluster+")", value) == command.RejoinOnly
		}
	}
	return false
}

// Pods of the earlier release have --initial-cluster in their command. They are not restarted for that.
func TestAPodOfAnEarlierReleaseIsNotChanged(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	pod := pods.NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartNew, InitialSize: 3}, "")
	c := &pod.Spec.Containers[0]
	for i, arg := range c.Command {
		c.Command[i] = strings.ReplaceAll(arg, "$("+command.EnvInitialCluster+")", pod.Annotations[pods.AnnotationInitialCluster])
	}
	c.Env = nil
	delete(pod.Annotations, pods.AnnotationInitialCluster)
	var m state.Member
	pods.ObservePod(&m, pod, plantest.Noon)
	pods.ObserveTemplate(s, &m, pod)
	if m.MayStartEmpty || m.Outdated || m.Relabel || !strings.Contains(m.Peers, plantest.NameOf(2)) {
		t.Errorf("%+v", m)
	}
}

func TestAClaimThatAMemberHasNotServedOnIsSeen(t *testing.T) {
	claim := func(uid types.UID, volume string) *corev1.PersistentVolumeClaim {
		meta := clustertest.Controlled("uid-example", plantest.NameOf(0), nil)
		meta.UID = uid
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	start, remove := steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, steps.RemoveMember{Name: plantest.NameOf(0), Cause: state.LostData}
	for name, test := range map[string]struct {
		live    *corev1.PersistentVolumeClaim
		record  map[string]state.VolumeID
		another bool
	}{
		"the same claim":                   {claim("a", "pv-a"), map[string]state.VolumeID{plantest.NameOf(0): {Claim: "a", Volume: "pv-a"}}, false},
		"the same volume, claimed again":   {claim("b", "pv-a"), map[string]state.VolumeID{plantest.NameOf(0): {Claim: "a", Volume: "pv-a"}}, false},
		"a claim that was bound later":     {claim("a", "pv-a"), map[string]state.VolumeID{plantest.NameOf(0): {Claim: "a"}}, false},
		"a copy":                           {claim("b", "pv-b"), map[string]state.VolumeID{plantest.NameOf(0): {Claim: "a", Volume: "pv-a"}}, true},
		"a claim that is not bound yet":    {claim("b", ""), map[string]state.VolumeID{plantest.NameOf(0): {Claim: "a", Volume: "pv-a"}}, true},
		"nothing recorded by this release": {claim("b", "pv-b"), nil, false},
	} {
		a, v := actorBeside(t, test.live)
		v.Members, v.KnownVolumes = []state.Member{{Name: plantest.NameOf(0), Incarnation: 1}}, test.record
		seen := test.live.DeepCopy()
		kubecache.Slim(seen)
		pods.ObserveVolume(&v.Members[0], seen)
		if got := state.OnAnotherVolume(v.State, v.Members[0]); got != test.another {
			t.Errorf("%s: another volume: %t", name, got)
		}
		v.Members[0] = state.Member{Name: plantest.NameOf(0), Incarnation: 1} // the cache is old
		if err := a.confirmer.ConfirmData(t.Context(), v, start); (err != nil) != test.another {
			t.Errorf("%s: the member starts: %v", name, err)
		}
		if err := a.confirmer.ConfirmData(t.Context(), v, remove); (err == nil) != test.another {
			t.Errorf("%s: the member is removed because its data is lost: %v", name, err)
		}
	}
}

// The API server keeps a volume that was set aside under the name of the member. The member is removed nevertheless.
func TestAMemberWhoseVolumeIsSetAsideIsRemoved(t *testing.T) {
	meta := clustertest.Controlled("uid-example", plantest.NameOf(0), map[string]string{v1beta2.LabelReplacedOf: "example"})
	meta.Annotations = map[string]string{v1beta2.AnnotationReplacedAt: "2026-01-01T00:00:00Z"}
	a, v := actorBeside(t, &corev1.PersistentVolumeClaim{ObjectMeta: meta})
	if err := a.confirmer.ConfirmData(t.Context(), v, steps.RemoveMember{Name: plantest.NameOf(0), Cause: state.LostData}); err != nil {
		t.Error(err)
	}
}

func TestThePodDisruptionBudgetKeepsTheOnlyCopyAlsoIfItIsNotReady(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	policy := func() string {
		return string(*objects.DisruptionBudget(s, steps.ApplyBudget{Incarnation: 1, MinAvailable: 2}).Spec.UnhealthyPodEvictionPolicy)
	}
	if got := policy(); got != "AlwaysAllow" {
		t.Errorf("with volumes: %s", got)
	}
	s.Members[0].Volume, s.Members[0].Pod = state.VolumeLost, state.PodRunning
	if got := policy(); got != "IfHealthyBudget" {
		t.Errorf("a drain may take the only copy of a member: %s", got)
	}
}

// declaredStarts reads all ways in which the operator starts etcd.
func declaredStarts(t *testing.T) (starts []state.Start) {
	t.Helper()
	content, err := os.ReadFile("../plan/state/member.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^\tStart\w+ (?:Start )?= "(\w+)"`).FindAllStringSubmatch(string(content), -1) {
		starts = append(starts, state.Start(found[1]))
	}
	if len(starts) < 5 {
		t.Fatalf("plan/start.go declares %v only", starts)
	}
	return starts
}

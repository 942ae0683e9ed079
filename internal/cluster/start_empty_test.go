package cluster

import (
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// TestNoPodOfAMemberThatHasStartedStartsEmpty tries every way in which the operator starts etcd. A start that is not listed here fails it:
// whatever the kubelet restarts in a Pod on an empty volume must refuse to run, once its member has started.
func TestNoPodOfAMemberThatHasStartedStartsEmpty(t *testing.T) {
	starts := map[plan.Start]bool{ // whether it makes data
		plan.StartNew: true, plan.StartJoin: true, plan.StartSeed: true, plan.StartRejoin: false, plan.StartForce: false,
	}
	for _, start := range declaredStarts(t) {
		if _, listed := starts[start]; !listed {
			t.Errorf("the start %s is not tried. Does it make data?", start)
		}
	}
	for start, makes := range starts {
		for _, waits := range []bool{false, true} {
			if waits && start != plan.StartJoin {
				continue
			}
			r, v := beside(t)
			v.State = state(formed, members(3))
			v.Request = &plan.RestoreRequest{Name: "back", UID: "uid-back"}
			create := plan.CreateMember{Name: aheadName, Incarnation: 1, Start: start, Waits: waits}
			if start == plan.StartNew {
				create.InitialSize = 4
			}
			pod := newPod(v.State, create, "restore-operator")
			if err := r.Client.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			if waits {
				if err := r.releaseMember(t.Context(), v, aheadName); err != nil {
					t.Fatal(err)
				}
			}
			get := func() (*corev1.Pod, plan.Member) {
				t.Helper()
				if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
					t.Fatal(err)
				}
				seen := pod.DeepCopy()
				slim(seen)
				var m plan.Member
				observePod(&m, seen, v.Now)
				return pod, m
			}
			_, m := get()
			if m.MayStartEmpty != makes {
				t.Errorf("%s (waits: %t): it may start empty: %t", start, waits, m.MayStartEmpty)
			}
			if makes && start != plan.StartSeed && !strings.Contains(m.Peers, aheadName) {
				t.Errorf("%s (waits: %t): etcd finds no other members: %q", start, waits, m.Peers)
			}
			if makes {
				if err := r.act(t.Context(), v, plan.ForbidEmptyStart{Name: aheadName}); err != nil {
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
	value := pod.Annotations[annotationInitialCluster]
	for _, c := range pod.Spec.InitContainers {
		if c.Name == seedContainer && (!hasEnv(pod.Spec.InitContainers, seedContainer, seed.EnvDataRequired) || value == "") {
			return false
		}
	}
	for _, arg := range pod.Spec.Containers[0].Command {
		if given, is := strings.CutPrefix(arg, initialClusterFlag); is {
			return strings.ReplaceAll(given, "$("+envInitialCluster+")", value) == rejoinOnly
		}
	}
	return false
}

// Pods of the earlier release have --initial-cluster in their command. They are not restarted for that.
func TestAPodOfAnEarlierReleaseIsNotChanged(t *testing.T) {
	s := state(formed, members(3))
	pod := newPod(s, plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartNew, InitialSize: 3}, "")
	c := &pod.Spec.Containers[0]
	for i, arg := range c.Command {
		c.Command[i] = strings.ReplaceAll(arg, "$("+envInitialCluster+")", pod.Annotations[annotationInitialCluster])
	}
	c.Env = nil
	delete(pod.Annotations, annotationInitialCluster)
	var m plan.Member
	observePod(&m, pod, noon)
	observeTemplate(s, &m, pod)
	if m.MayStartEmpty || m.Outdated || m.Relabel || !strings.Contains(m.Peers, nameOf(2)) {
		t.Errorf("%+v", m)
	}
}

func TestAClaimThatAMemberHasNotServedOnIsSeen(t *testing.T) {
	claim := func(uid types.UID, volume string) *corev1.PersistentVolumeClaim {
		meta := controlled("uid-example", nameOf(0), nil)
		meta.UID = uid
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	start, remove := plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartRejoin}, plan.RemoveMember{Name: nameOf(0), Cause: plan.LostData}
	for name, test := range map[string]struct {
		live    *corev1.PersistentVolumeClaim
		record  map[string]plan.VolumeID
		another bool
	}{
		"the same claim":                   {claim("a", "pv-a"), map[string]plan.VolumeID{nameOf(0): {Claim: "a", Volume: "pv-a"}}, false},
		"the same volume, claimed again":   {claim("b", "pv-a"), map[string]plan.VolumeID{nameOf(0): {Claim: "a", Volume: "pv-a"}}, false},
		"a claim that was bound later":     {claim("a", "pv-a"), map[string]plan.VolumeID{nameOf(0): {Claim: "a"}}, false},
		"a copy":                           {claim("b", "pv-b"), map[string]plan.VolumeID{nameOf(0): {Claim: "a", Volume: "pv-a"}}, true},
		"a claim that is not bound yet":    {claim("b", ""), map[string]plan.VolumeID{nameOf(0): {Claim: "a", Volume: "pv-a"}}, true},
		"nothing recorded by this release": {claim("b", "pv-b"), nil, false},
	} {
		r, v := beside(t, test.live)
		v.Members, v.KnownVolumes = []plan.Member{{Name: nameOf(0), Incarnation: 1}}, test.record
		seen := test.live.DeepCopy()
		slim(seen)
		observeVolume(&v.Members[0], seen)
		if got := v.OnAnotherVolume(v.Members[0]); got != test.another {
			t.Errorf("%s: another volume: %t", name, got)
		}
		v.Members[0] = plan.Member{Name: nameOf(0), Incarnation: 1} // the cache is old
		if err := r.confirmData(t.Context(), v, start); (err != nil) != test.another {
			t.Errorf("%s: the member starts: %v", name, err)
		}
		if err := r.confirmData(t.Context(), v, remove); (err == nil) != test.another {
			t.Errorf("%s: the member is removed because its data is lost: %v", name, err)
		}
	}
}

// The API server keeps a volume that was set aside under the name of the member. The member is removed nevertheless.
func TestAMemberWhoseVolumeIsSetAsideIsRemoved(t *testing.T) {
	meta := controlled("uid-example", nameOf(0), map[string]string{v1beta2.LabelReplacedOf: "example"})
	meta.Annotations = map[string]string{v1beta2.AnnotationReplacedAt: "2026-01-01T00:00:00Z"}
	r, v := beside(t, &corev1.PersistentVolumeClaim{ObjectMeta: meta})
	if err := r.confirmData(t.Context(), v, plan.RemoveMember{Name: nameOf(0), Cause: plan.LostData}); err != nil {
		t.Error(err)
	}
}

func TestThePodDisruptionBudgetKeepsTheOnlyCopyAlsoIfItIsNotReady(t *testing.T) {
	s := state(formed, members(3))
	policy := func() string {
		return string(*disruptionBudget(s, plan.ApplyBudget{Incarnation: 1, MinAvailable: 2}).Spec.UnhealthyPodEvictionPolicy)
	}
	if got := policy(); got != "AlwaysAllow" {
		t.Errorf("with volumes: %s", got)
	}
	s.Members[0].Volume, s.Members[0].Pod = plan.VolumeLost, plan.PodRunning
	if got := policy(); got != "IfHealthyBudget" {
		t.Errorf("a drain may take the only copy of a member: %s", got)
	}
}

// declaredStarts reads all ways in which the operator starts etcd.
func declaredStarts(t *testing.T) (starts []plan.Start) {
	t.Helper()
	content, err := os.ReadFile("plan/start.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^\tStart\w+ (?:Start )?= "(\w+)"`).FindAllStringSubmatch(string(content), -1) {
		starts = append(starts, plan.Start(found[1]))
	}
	if len(starts) < 5 {
		t.Fatalf("plan/start.go declares %v only", starts)
	}
	return starts
}

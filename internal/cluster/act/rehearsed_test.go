package act

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// A Pod that ends with its usual grace period keeps its clients for 30 s, if its member is the leader of a cluster that is over.
func TestAPodThatStopsBrieflyHasTheGracePeriodOfADryRun(t *testing.T) {
	for _, briefly := range []bool{true, false} {
		pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(1), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		a, v := actorBeside(t, pod)
		brief := false
		clustertest.RefusesStop(a.KubeAPI, nil, func(options []client.DeleteOption) bool {
			brief = slices.Contains(options, client.DeleteOption(client.GracePeriodSeconds(pods.StopGrace)))
			return false
		})
		if err := a.pods.actOnPods(t.Context(), v, steps.DeletePod{Name: plantest.NameOf(1), Briefly: briefly}); err != nil {
			t.Fatal(err)
		}
		if brief != briefly {
			t.Errorf("the Pod is deleted with a short grace period: %t, want %t", brief, briefly)
		}
	}
}

// rolling is a rehearsal for an actor.
type rolling struct {
	*clustertest.Rehearsal
	a *Actor
}

func newRolling(t *testing.T, answer func(client.Object) error) *rolling {
	t.Helper()
	on := clustertest.NewRehearsal(t, answer)
	return &rolling{Rehearsal: on, a: actorOf(on.API)}
}

// roll deletes the Pod because the spec changed, and reports whether it is gone.
func (on *rolling) roll(t *testing.T) (gone bool, err error) {
	t.Helper()
	err = on.a.Act(t.Context(), on.View, steps.DeletePod{Name: plantest.NameOf(0), Reason: v1beta2.ReasonRolling})
	got := on.a.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: plantest.NameOf(0)}, &corev1.Pod{})
	return apierrors.IsNotFound(got), err
}

func TestNoMemberIsStoppedForAPodThatCannotReplaceIt(t *testing.T) {
	tests := map[string]struct {
		answer func(client.Object) error
		gone   bool
		says   string
	}{
		"an unknown service account": {
			func(o client.Object) error {
				return apierrors.NewForbidden(clustertest.PodResource, o.GetName(), clustertest.ErrText(`error looking up service account ns/x: serviceaccount "x" not found`))
			}, false, `serviceaccount "x" not found`,
		},
		"an invalid Pod":                     {func(client.Object) error { return apierrors.NewBadRequest("maxSkew must not be zero") }, false, "maxSkew must not be zero"},
		"a webhook that removes annotations": {func(o client.Object) error { o.SetAnnotations(nil); return nil }, false, "An admission webhook changes the Pods"},
		"an API server that fails":           {func(client.Object) error { return apierrors.NewInternalError(clustertest.ErrText("no webhook")) }, false, ""},
		"a webhook that rewrites images": {func(o client.Object) error {
			o.(*corev1.Pod).Spec.Containers[0].Image = "mirror.example/etcd"
			return nil
		}, true, ""},
		"a quota that the deletion frees": {func(o client.Object) error {
			return apierrors.NewForbidden(clustertest.PodResource, o.GetName(), clustertest.ErrText("exceeded quota: pods=3"))
		}, true, ""},
		"a webhook without dry runs": {func(client.Object) error {
			return apierrors.NewBadRequest(`admission webhook "x" does not support dry run`)
		}, true, ""},
		"a Pod that is accepted": {func(client.Object) error { return nil }, true, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gone, err := newRolling(t, test.answer).roll(t)
			if gone != test.gone || (err == nil) != test.gone {
				t.Fatalf("gone is %t after %v, want %t", gone, err, test.gone)
			}
			step, refused := dryrun.RefusedStep(err)
			if refused != (test.says != "") {
				t.Fatalf("%v is a refusal: %t", err, refused)
			}
			if refused {
				wait := step.(steps.Wait)
				if !wait.Stalled || wait.Reason != v1beta2.ReasonPodRefused || !strings.Contains(wait.Message, test.says) || wait.Requeue != dryrun.RehearseAgain {
					t.Errorf("reported as %+v", wait)
				}
			}
		})
	}
}

// A quota counts the Pod that is to be stopped. Only the room that is left after the stop decides.
func TestAMemberIsStoppedIfTheQuotaHasRoomForItsPodAfterwards(t *testing.T) {
	for name, test := range map[string]struct {
		quota string
		gone  bool
	}{
		"the quota is full, but sufficient":     {"requested: pods=1, used: pods=3, limited: pods=3", true},
		"the quota was lowered to 0":            {"requested: pods=1, used: pods=3, limited: pods=0", false},
		"the quota was lowered by one":          {"requested: pods=1, used: pods=3, limited: pods=2", false},
		"the stop frees enough CPU":             {"requested: requests.cpu=500m, used: requests.cpu=1500m, limited: requests.cpu=1500m", true},
		"the new spec asks for more CPU":        {"requested: requests.cpu=900m, used: requests.cpu=1500m, limited: requests.cpu=1500m", false},
		"one of two resources does not suffice": {"requested: limits.memory=2Gi,pods=1, used: limits.memory=3Gi,pods=3, limited: limits.memory=3Gi,pods=3", false},
		"the message has another form":          {"requested: pods, used: many", true},
	} {
		t.Run(name, func(t *testing.T) {
			on := newRolling(t, func(o client.Object) error {
				return apierrors.NewForbidden(clustertest.PodResource, o.GetName(), clustertest.ErrText("exceeded quota: compute, "+test.quota))
			})
			gone, err := on.roll(t)
			if gone != test.gone {
				t.Fatalf("gone is %t after %v", gone, err)
			}
			if step, refused := dryrun.RefusedStep(err); !test.gone && (!refused || !strings.Contains(step.(steps.Wait).Message, "exceeded quota: compute")) {
				t.Errorf("reported as %+v", step)
			}
		})
	}
}

func TestARefusedPodIsRehearsedEvery30SecondsAndAtOnceForANewSpec(t *testing.T) {
	on := newRolling(t, func(client.Object) error { return apierrors.NewBadRequest("no") })
	for range 3 {
		if gone, err := on.roll(t); gone || err == nil {
			t.Fatalf("gone is %t after %v", gone, err)
		}
	}
	if on.Created != 1 {
		t.Errorf("%d dry runs within a second, want 1", on.Created)
	}
	on.View.Now = on.View.Now.Add(30 * time.Second)
	_, _ = on.roll(t)
	on.View.Cluster.Generation++
	var live v1beta2.EtcdCluster
	if err := on.a.Client.Get(t.Context(), client.ObjectKeyFromObject(on.View.Cluster), &live); err != nil {
		t.Fatal(err)
	}
	live.Generation = on.View.Cluster.Generation
	if err := on.a.Client.Update(t.Context(), &live); err != nil {
		t.Fatal(err)
	}
	_, _ = on.roll(t)
	if on.Created != 3 {
		t.Errorf("%d dry runs, want one more after 30 s and one more for a new spec", on.Created)
	}
}

// Kubernetes 1.30 to 1.32 drops hostUsers. Without this, all members restart for it, and run with the node's users.
func TestNoMemberRestartsForUserNamespacesThatKubernetesDoesNotHave(t *testing.T) {
	for name, test := range map[string]struct {
		drops, gone bool
	}{"dropped": {true, false}, "kept": {false, true}} {
		on := newRolling(t, func(o client.Object) error {
			if pod, is := o.(*corev1.Pod); is && test.drops {
				pod.Spec.HostUsers = nil
			}
			return nil
		})
		on.View.Spec.Pod = &v1beta2.PodPolicy{HostUsers: ptr.To(false)}
		gone, err := on.roll(t)
		if gone != test.gone {
			t.Errorf("%s: the Pod is gone: %t, %v", name, gone, err)
		}
		if step, refused := dryrun.RefusedStep(err); test.drops && (!refused || !strings.Contains(step.(steps.Wait).Message, "hostUsers")) {
			t.Errorf("%s: reported as %+v", name, step)
		}
	}
}

// Without this, the first members of a cluster run as users of the node, although the spec forbids it.
func TestAClusterDoesNotStartWithoutTheUserNamespacesThatItAsksFor(t *testing.T) {
	on := newRolling(t, func(o client.Object) error {
		if pod, is := o.(*corev1.Pod); is {
			pod.Spec.HostUsers = nil
		}
		return nil
	})
	on.View.Members, on.View.ClusterID, on.View.Spec.Pod = nil, "", &v1beta2.PodPolicy{HostUsers: ptr.To(false), EmptyDir: &corev1.EmptyDirVolumeSource{}}
	err := on.a.pods.createMembers(t.Context(), on.View, steps.CreateMembers{Incarnation: 1, Size: 3})
	if step, refused := dryrun.RefusedStep(err); !refused || !strings.Contains(step.(steps.Wait).Message, "hostUsers") || on.Created != 1 {
		t.Errorf("%v after %d dry runs: %+v", err, on.Created, step)
	}
}

package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// rehearsal is a cluster with one Pod behind an API server whose admission answers creations with answer.
type rehearsal struct {
	r       *Reconciler
	v       *view
	created int
}

func newRehearsal(t *testing.T, answer func(client.Object) error) *rehearsal {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	s := state(formed, members(1))
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, Generation: 1}}
	on := &rehearsal{v: &view{State: s, cluster: cluster, known: &remembered{}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: nameOf(0), UID: "pod", OwnerReferences: []metav1.OwnerReference{{UID: s.UID, Controller: ptr.To(true)}},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: plan.EtcdContainer, Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}}}
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod, cluster.DeepCopy()).Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
			on.created++
			if len(options) != 1 || options[0] != client.CreateOption(client.DryRunAll) || object.GetName() == nameOf(0) {
				t.Errorf("%s is created with %v, want a dry run of another name", object.GetName(), options)
			}
			return answer(object)
		},
	})
	on.r = &Reconciler{Client: api, APIReader: api}
	return on
}

// roll deletes the Pod because the spec changed, and reports whether it is gone.
func (on *rehearsal) roll(t *testing.T) (gone bool, err error) {
	t.Helper()
	err = on.r.act(t.Context(), on.v, plan.DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonRolling})
	got := on.r.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: nameOf(0)}, &corev1.Pod{})
	return apierrors.IsNotFound(got), err
}

var pods = schema.GroupResource{Resource: "pods"}

func TestNoMemberIsStoppedForAPodThatCannotReplaceIt(t *testing.T) {
	tests := map[string]struct {
		answer func(client.Object) error
		gone   bool
		says   string
	}{
		"an unknown service account": {
			func(o client.Object) error {
				return apierrors.NewForbidden(pods, o.GetName(), errText(`error looking up service account ns/x: serviceaccount "x" not found`))
			}, false, `serviceaccount "x" not found`,
		},
		"an invalid Pod":                     {func(client.Object) error { return apierrors.NewBadRequest("maxSkew must not be zero") }, false, "maxSkew must not be zero"},
		"a webhook that removes annotations": {func(o client.Object) error { o.SetAnnotations(nil); return nil }, false, "An admission webhook changes the Pods"},
		"an API server that fails":           {func(client.Object) error { return apierrors.NewInternalError(errText("no webhook")) }, false, ""},
		"a webhook that rewrites images": {func(o client.Object) error {
			o.(*corev1.Pod).Spec.Containers[0].Image = "mirror.example/etcd"
			return nil
		}, true, ""},
		"a quota that the deletion frees": {func(o client.Object) error {
			return apierrors.NewForbidden(pods, o.GetName(), errText("exceeded quota: pods=3"))
		}, true, ""},
		"a webhook without dry runs": {func(client.Object) error {
			return apierrors.NewBadRequest(`admission webhook "x" does not support dry run`)
		}, true, ""},
		"a Pod that is accepted": {func(client.Object) error { return nil }, true, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gone, err := newRehearsal(t, test.answer).roll(t)
			if gone != test.gone || (err == nil) != test.gone {
				t.Fatalf("gone is %t after %v, want %t", gone, err, test.gone)
			}
			step, refused := refusedStep(err)
			if refused != (test.says != "") {
				t.Fatalf("%v is a refusal: %t", err, refused)
			}
			if refused {
				wait := step.(plan.Wait)
				if !wait.Stalled || wait.Reason != v1beta2.ReasonPodRefused || !strings.Contains(wait.Message, test.says) || wait.Requeue != rehearseAgain {
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
			on := newRehearsal(t, func(o client.Object) error {
				return apierrors.NewForbidden(pods, o.GetName(), errText("exceeded quota: compute, "+test.quota))
			})
			gone, err := on.roll(t)
			if gone != test.gone {
				t.Fatalf("gone is %t after %v", gone, err)
			}
			if step, refused := refusedStep(err); !test.gone && (!refused || !strings.Contains(step.(plan.Wait).Message, "exceeded quota: compute")) {
				t.Errorf("reported as %+v", step)
			}
		})
	}
}

func TestNoLearnerIsAddedThatAQuotaRefuses(t *testing.T) {
	on := newRehearsal(t, func(o client.Object) error {
		return apierrors.NewForbidden(pods, o.GetName(), errText("exceeded quota: compute, requested: pods=1, used: pods=3, limited: pods=3"))
	})
	err := on.r.rehearse(t.Context(), on.v, nameOf(3), plan.StartJoin)
	if _, refused := refusedStep(err); !refused {
		t.Errorf("the answer is %v, want a refusal", err)
	}
}

func TestARefusedPodIsRehearsedEvery30SecondsAndAtOnceForANewSpec(t *testing.T) {
	on := newRehearsal(t, func(client.Object) error { return apierrors.NewBadRequest("no") })
	for range 3 {
		if gone, err := on.roll(t); gone || err == nil {
			t.Fatalf("gone is %t after %v", gone, err)
		}
	}
	if on.created != 1 {
		t.Errorf("%d dry runs within a second, want 1", on.created)
	}
	on.v.Now = on.v.Now.Add(30 * time.Second)
	_, _ = on.roll(t)
	on.v.cluster.Generation++
	var live v1beta2.EtcdCluster
	if err := on.r.Client.Get(t.Context(), client.ObjectKeyFromObject(on.v.cluster), &live); err != nil {
		t.Fatal(err)
	}
	live.Generation = on.v.cluster.Generation
	if err := on.r.Client.Update(t.Context(), &live); err != nil {
		t.Fatal(err)
	}
	_, _ = on.roll(t)
	if on.created != 3 {
		t.Errorf("%d dry runs, want one more after 30 s and one more for a new spec", on.created)
	}
}

func TestATemplateOfVolumesThatCannotWorkIsReportedBeforeAMemberNeedsIt(t *testing.T) {
	on := newRehearsal(t, func(client.Object) error { return apierrors.NewBadRequest("access mode Bogus") })
	on.v.Spec.Size, on.v.Budget.MinAvailable = 1, 0
	on.v.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{"Bogus"}}}
	for range 3 {
		on.r.observeVolumeTemplate(t.Context(), on.v)
	}
	wait, waits := plan.Plan(on.v.State).(plan.Wait)
	if !waits || wait.Reason != v1beta2.ReasonInvalidSpec || !wait.Stalled || !strings.Contains(wait.Message, "access mode Bogus") || on.created != 1 {
		t.Errorf("after %d dry runs the plan is %+v", on.created, plan.Plan(on.v.State))
	}
}

type errText string

func (e errText) Error() string { return string(e) }

// Kubernetes 1.30 to 1.32 drops hostUsers. Without this, all members restart for it, and run with the node's users.
func TestNoMemberRestartsForUserNamespacesThatKubernetesDoesNotHave(t *testing.T) {
	for name, test := range map[string]struct {
		drops, gone bool
	}{"dropped": {true, false}, "kept": {false, true}} {
		on := newRehearsal(t, func(o client.Object) error {
			if pod, is := o.(*corev1.Pod); is && test.drops {
				pod.Spec.HostUsers = nil
			}
			return nil
		})
		on.v.Spec.Pod = &v1beta2.PodPolicy{HostUsers: ptr.To(false)}
		gone, err := on.roll(t)
		if gone != test.gone {
			t.Errorf("%s: the Pod is gone: %t, %v", name, gone, err)
		}
		if step, refused := refusedStep(err); test.drops && (!refused || !strings.Contains(step.(plan.Wait).Message, "hostUsers")) {
			t.Errorf("%s: reported as %+v", name, step)
		}
	}
}

// Without this, the first members of a cluster run as users of the node, although the spec forbids it.
func TestAClusterDoesNotStartWithoutTheUserNamespacesThatItAsksFor(t *testing.T) {
	on := newRehearsal(t, func(o client.Object) error {
		if pod, is := o.(*corev1.Pod); is {
			pod.Spec.HostUsers = nil
		}
		return nil
	})
	on.v.Members, on.v.ClusterID, on.v.Spec.Pod = nil, "", &v1beta2.PodPolicy{HostUsers: ptr.To(false), EmptyDir: &corev1.EmptyDirVolumeSource{}}
	err := on.r.createMembers(t.Context(), on.v, plan.CreateMembers{Incarnation: 1, Size: 3})
	if step, refused := refusedStep(err); !refused || !strings.Contains(step.(plan.Wait).Message, "hostUsers") || on.created != 1 {
		t.Errorf("%v after %d dry runs: %+v", err, on.created, step)
	}
}

// A cluster lacks a member, and etcd refuses writes because its quota is used up. A compaction needs no Pod, but it waited for as long as the
// webhook for Pods was down.
func TestAWebhookForPodsHoldsUpNoRepairWithoutAPod(t *testing.T) {
	for what, answer := range map[string]error{
		"refuses": apierrors.NewForbidden(pods, "x", errText(`admission webhook "w" denied the request: no`)),
		"is down": apierrors.NewInternalError(errText(`failed calling webhook "w": failed to call webhook: no endpoints available for service "w"`)),
	} {
		on := newRehearsal(t, func(client.Object) error { return answer })
		on.v.Spec.Size = 2
		m := &on.v.Members[0]
		m.DBSize, m.DBSizeInUse, m.DBQuota, m.Revision = 100<<20, 95<<20, 100<<20, 5000
		m.Alarms = []etcd.Alarm{{Kind: etcd.AlarmNoSpace, Member: 1}}
		on.v.Budget.MinAvailable = 0
		step, err := on.r.planAndAct(t.Context(), on.v)
		if _, is := step.(plan.CompactHistory); !is {
			t.Errorf("the webhook %s: the pass ends with %T, %v", what, step, err)
		}
	}
}

func TestAWebhookThatDoesNotAnswerIsReported(t *testing.T) {
	on := newRehearsal(t, func(client.Object) error {
		return apierrors.NewInternalError(errText(`failed calling webhook "w": no endpoints available for service "w"`))
	})
	on.v.Spec.Size = 2
	on.v.Budget.MinAvailable = 0
	step, err := on.r.planAndAct(t.Context(), on.v)
	if wait, is := step.(plan.Wait); err != nil || !is || wait.Stalled || !strings.Contains(wait.Message, `webhook "w"`) {
		t.Errorf("%+v, %v", step, err)
	}
}

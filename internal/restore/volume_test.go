package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func theClaim(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "kept", UID: "uid-claim"}}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}
	if change != nil {
		change(claim)
	}
	return claim
}

// controlledBy makes the claim that of a member, which its EtcdCluster owns.
func controlledBy(uid types.UID) func(*corev1.PersistentVolumeClaim) {
	return func(claim *corev1.PersistentVolumeClaim) {
		claim.Labels = map[string]string{v1beta2.LabelCluster: "other"}
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdCluster", Name: "other", UID: uid, Controller: ptr.To(true)}}
	}
}

// retained makes the claim that of a member whose volumes outlive their EtcdCluster. It has no owner.
func retained(claim *corev1.PersistentVolumeClaim) {
	claim.Labels, claim.Annotations = map[string]string{v1beta2.LabelCluster: "other"}, map[string]string{v1beta2.AnnotationClusterUID: "uid-other"}
}

// setAside makes the claim one with data from before a restore of its EtcdCluster.
func setAside(claim *corev1.PersistentVolumeClaim) {
	controlledBy("uid-other")(claim)
	claim.Labels = map[string]string{v1beta2.LabelReplacedOf: "other"}
}

func theOther() *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "uid-other"}}
}

func podWith(phase corev1.PodPhase, v corev1.VolumeSource) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd-0"}, Status: corev1.PodStatus{Phase: phase},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data", VolumeSource: v}}},
	}
}

func ofClaim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// Two writers on one volume destroy the data of both, and a reader beside a writer reads half of a write.
func TestAVolumeIsReadyIfNoPodUsesIt(t *testing.T) {
	elsewhere := podWith(corev1.PodRunning, ofClaim("kept"))
	elsewhere.Namespace = "other"
	for name, c := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"a claim that nothing uses":        {[]client.Object{theClaim(nil)}, v1beta2.ReasonVerified},
		"no claim":                         {nil, v1beta2.ReasonClaimNotFound},
		"a claim that a Pod uses":          {[]client.Object{theClaim(nil), podWith(corev1.PodRunning, ofClaim("kept"))}, v1beta2.ReasonClaimInUse},
		"a claim that a Pod waits for":     {[]client.Object{theClaim(nil), podWith(corev1.PodPending, ofClaim("kept"))}, v1beta2.ReasonClaimInUse},
		"a claim of a Pod that has ended":  {[]client.Object{theClaim(nil), podWith(corev1.PodSucceeded, ofClaim("kept"))}, v1beta2.ReasonVerified},
		"another claim that a Pod uses":    {[]client.Object{theClaim(nil), podWith(corev1.PodRunning, ofClaim("other"))}, v1beta2.ReasonVerified},
		"a claim of that name elsewhere":   {[]client.Object{theClaim(nil), elsewhere}, v1beta2.ReasonVerified},
		"an ephemeral volume of a Pod":     {[]client.Object{theClaim(func(c *corev1.PersistentVolumeClaim) { c.Name = "etcd-0-data" }), podWith(corev1.PodRunning, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})}, v1beta2.ReasonClaimInUse},
		"a claim of a member":              {[]client.Object{theClaim(controlledBy("uid-other")), theOther()}, v1beta2.ReasonClaimInUse},
		"a claim of a member to be kept":   {[]client.Object{theClaim(retained), theOther()}, v1beta2.ReasonClaimInUse},
		"a claim that was kept":            {[]client.Object{theClaim(retained)}, v1beta2.ReasonVerified},
		"a claim of an earlier cluster":    {[]client.Object{theClaim(controlledBy("uid-earlier")), theOther()}, v1beta2.ReasonVerified},
		"a claim that was set aside":       {[]client.Object{theClaim(setAside), theOther()}, v1beta2.ReasonVerified},
		"a claim that has lost its volume": {[]client.Object{theClaim(func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost })}, v1beta2.ReasonClaimNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, interceptor.Funcs{}, c.objects...)
			claim := "kept"
			if len(c.objects) > 0 {
				claim = c.objects[0].GetName()
			}
			b.restoresFrom(claim)
			b.pass()
			restore := b.restore()
			ready := meta.FindStatusCondition(restore.Status.Conditions, v1beta2.ConditionReady)
			if ready == nil || ready.Reason != c.want || (restore.Status.Volume != nil) != (c.want == v1beta2.ReasonVerified) {
				t.Fatalf("%+v, volume %+v", ready, restore.Status.Volume)
			}
			if v := restore.Status.Volume; v != nil && (v.ClaimUID != "uid-claim" || v.Size != 8<<30) {
				t.Errorf("%+v", v)
			}
			if b.reads.Load() > 0 {
				t.Error("a store is read")
			}
		})
	}
}

// restoresFrom has the EtcdRestore name a claim.
func (b *bench) restoresFrom(claim string) {
	b.Helper()
	restore := b.restore()
	restore.Spec.BackupStorageType, restore.Spec.Storage, restore.Spec.Volume = "", v1beta2.Storage{}, &v1beta2.RestoreVolume{ClaimName: claim}
	if err := b.client.Update(b.Context(), restore); err != nil {
		b.Fatal(err)
	}
}

// A restore waited for a Pod that nobody stopped, and read all Pods of the namespace every 15 seconds for weeks. The API server had less time for others.
func TestARestoreThatWaitsForAPodReadsOnlyThatPod(t *testing.T) {
	const others = 50
	read := 0
	counted := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		err := c.List(ctx, list, options...)
		if pods, is := list.(*corev1.PodList); is {
			read += len(pods.Items)
		}
		return err
	}}
	user, next := podWith(corev1.PodRunning, ofClaim("kept")), podWith(corev1.PodRunning, ofClaim("kept"))
	next.Name = "etcd-1"
	objects := []client.Object{theClaim(nil), user}
	for i := range others {
		other := podWith(corev1.PodRunning, ofClaim("other"))
		other.Name = fmt.Sprintf("web-%d", i)
		objects = append(objects, other)
	}
	b := newBench(t, nil, counted, objects...)
	b.restoresFrom("kept")
	waitsFor := func(pod string, most int) {
		t.Helper()
		read = 0
		b.pass()
		restore := b.restore()
		ready := meta.FindStatusCondition(restore.Status.Conditions, v1beta2.ConditionReady)
		if ready.Reason != v1beta2.ReasonClaimInUse || !strings.Contains(ready.Message, "Pod "+pod+" uses") || read > most {
			t.Errorf("%d Pods were read, at most %d are needed: %+v", read, most, ready)
		}
	}
	waitsFor("etcd-0", others+1)
	for range 5 {
		waitsFor("etcd-0", 1)
	}
	if err := errors.Join(b.client.Delete(t.Context(), user), b.client.Create(t.Context(), next)); err != nil {
		t.Fatal(err)
	}
	waitsFor("etcd-1", others+1) // another Pod may use the claim, so all are read once
	waitsFor("etcd-1", 1)
	if err := b.client.Delete(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	b.pass()
	if restore := b.restore(); restore.Status.Volume == nil {
		t.Errorf("the volume is not accepted: %+v", restore.Status)
	}
	b.pass()
	if len(b.r.users.pods) > 0 {
		t.Errorf("the operator remembers %v", b.r.users.pods)
	}
}

// A volume of a member is refused, however many Pods there are.
func TestNoPodsAreReadForAVolumeThatIsRefused(t *testing.T) {
	lists := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, is := list.(*corev1.PodList); is {
			t.Error("the Pods are read")
		}
		return c.List(ctx, list, options...)
	}}
	b := newBench(t, nil, lists, theClaim(controlledBy("uid-other")), theOther())
	b.restoresFrom("kept")
	b.pass()
}

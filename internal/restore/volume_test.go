package restore

import (
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
			restore := &v1beta2.EtcdRestore{}
			if err := b.client.Get(t.Context(), b.request.NamespacedName, restore); err != nil {
				t.Fatal(err)
			}
			claim := "kept"
			if len(c.objects) > 0 {
				claim = c.objects[0].GetName()
			}
			restore.Spec.BackupStorageType, restore.Spec.Storage, restore.Spec.Volume = "", v1beta2.Storage{}, &v1beta2.RestoreVolume{ClaimName: claim}
			if err := b.client.Update(t.Context(), restore); err != nil {
				t.Fatal(err)
			}
			b.pass()
			if err := b.client.Get(t.Context(), b.request.NamespacedName, restore); err != nil {
				t.Fatal(err)
			}
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

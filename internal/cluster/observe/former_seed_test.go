package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// After a restore a user deletes the Secret of the store. Then the node of the former seed reboots, and mounts all volumes of
// the Pod.
func TestTheCredentialsOfASeedAreNoReasonNotToStartAgain(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.FromBucket)
	pod := pods.NewPod(s, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartSeed}, "seed")
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret != nil && (volume.Secret.Optional == nil || !*volume.Secret.Optional) {
			t.Errorf("the Pod cannot start without Secret %s", volume.Secret.SecretName)
		}
	}
}

// formerSeed returns a Pod that an earlier release created and that has not restarted yet.
func formerSeed(s state.State, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := pods.NewPod(s, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartSeed}, "seed")
	pod.Namespace, pod.OwnerReferences = "ns", clustertest.Controlled("uid-example", pod.Name, nil).OwnerReferences
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Name == pods.CredentialsVolume {
			pod.Spec.Volumes[i].Secret.Optional = nil
		}
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func TestAFormerSeedWhoseSecretIsDeletedIsRecreatedWithoutIt(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s3-credentials"}, Data: map[string][]byte{"k": []byte("v")}}
	runs := func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	}
	for name, test := range map[string]struct {
		change      []func(*corev1.Pod)
		objects     []client.Object
		incarnation int32
		recreated   bool
	}{
		"the Secret is deleted":                 {nil, nil, 2, true},
		"the Secret exists":                     {nil, []client.Object{secret}, 2, false},
		"the Pod runs":                          {[]func(*corev1.Pod){runs}, nil, 2, false},
		"the restore has not read the data yet": {nil, nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			seeding := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.FromBucket)
			pod := formerSeed(seeding, test.change...)
			pod.Spec.NodeName = "node-1" // one without a node waits for the scheduler
			secret.Name = seeding.Request.Source.Secret
			volume := pods.NewVolume(seeding, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2})
			volume.OwnerReferences = pod.OwnerReferences
			o, v := observerBeside(t, append(test.objects, pod, volume)...)
			v.ClusterID, v.Incarnation = plantest.SeedID, test.incarnation
			v.Services.ClientExists, v.Services.ClientIncarnation = true, test.incarnation
			if err := o.ObserveMembers(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			o.observeRequired(t.Context(), v)
			v.Services = state.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: test.incarnation, ClientClusterID: plantest.SeedID}
			step, recreated := plan.Plan(v.State).(steps.DeletePod)
			if recreated != test.recreated {
				t.Errorf("the Pod is recreated: %t, want %t; the plan is %+v", recreated, test.recreated, plan.Plan(v.State))
			}
			if recreated && step.Name != clustertest.SeedName {
				t.Errorf("the plan is %+v", step)
			}
		})
	}
}

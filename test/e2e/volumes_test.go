package e2e

import (
	"context"
	"fmt"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// grows has a user ask for larger volumes: their StorageClass does not let them, then their driver has not as much,
// and then they grow, one after the other, under members that run on.
func (n *namespaced) grows(cluster string) {
	n.Helper()
	n.asksFor(cluster, "40Gi")
	says(n, &v1beta2.EtcdCluster{}, cluster, v1beta2.ConditionReady, v1beta2.ReasonVolumeCannotGrow, "StorageClass", "set allowVolumeExpansion", "every 10s")
	if suite.Local == nil {
		n.kubectl("patch", "etcdcluster/"+cluster, "--type=json", "-p", `[{"op":"remove","path":"/spec/pod/persistentVolumeClaimSpec/resources"}]`)
		return // drivers of yours do what they do
	}
	pods, traffic := n.podUIDs(cluster), n.traffic(cluster, nil)
	n.allowsExpansion(*n.claims(cluster)[0].Spec.StorageClassName)
	var asked corev1.PersistentVolumeClaim
	n.eventually("the operator sees by itself that the StorageClass allows it", func(context.Context) error {
		small := n.tooSmall(cluster)
		if len(small) != 1 {
			return fmt.Errorf("%d volumes are asked to grow", len(small))
		}
		asked = small[0]
		return nil
	})
	n.refuses(&asked)
	says(n, &v1beta2.EtcdCluster{}, cluster, v1beta2.ConditionStalled, v1beta2.ReasonVolumeCannotGrow, "ControllerResizeInfeasible", "take resources out")

	n.kubectl("patch", "etcdcluster/"+cluster, "--type=json", "-p", `[{"op":"remove","path":"/spec/pod/persistentVolumeClaimSpec/resources"}]`)
	n.ready(cluster) // no more is asked for than there is
	n.asksFor(cluster, "20Gi")
	n.eventually("every volume holds 20Gi", func(context.Context) error { return n.expands(cluster, "20Gi") })
	for _, m := range n.ready(cluster).Status.MemberStatuses {
		if m.VolumeSize != 20<<30 {
			n.Errorf("the status says that the volume of member %s holds %d bytes", m.Name, m.VolumeSize)
		}
	}
	traffic.stop("growth of all volumes").without(n, 0)
	if diff := cmp.Diff(pods, n.podUIDs(cluster)); diff != "" {
		n.Errorf("members were restarted (-before +after):\n%s", diff)
	}
}

func (n *namespaced) asksFor(cluster, size string) {
	n.Helper()
	n.patch(cluster, fmt.Sprintf(`{"spec":{"pod":{"persistentVolumeClaimSpec":{"resources":{"requests":{"storage":%q}}}}}}`, size))
}

// allowsExpansion of the volumes of a StorageClass until the test is over.
func (n *namespaced) allowsExpansion(name string) {
	n.Helper()
	class := &storagev1.StorageClass{}
	if err := suite.Client.Get(n.Context(), client.ObjectKey{Name: name}, class); err != nil {
		n.Fatal(err)
	}
	allow := func(ctx context.Context, is *bool) error {
		before := class.DeepCopy()
		class.AllowVolumeExpansion = is
		return suite.Client.Patch(ctx, class, client.MergeFrom(before))
	}
	was := class.AllowVolumeExpansion
	n.Cleanup(func() {
		if err := allow(context.WithoutCancel(n.Context()), was); err != nil {
			n.Error(err)
		}
	})
	if err := allow(n.Context(), ptr.To(true)); err != nil {
		n.Fatal(err)
	}
}

// claims are the volumes of a cluster's members.
func (n *namespaced) claims(cluster string) []corev1.PersistentVolumeClaim {
	n.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := suite.Client.List(n.Context(), &list, client.InNamespace(n.name), client.MatchingLabels{v1beta2.LabelCluster: cluster}); err != nil {
		n.Fatal(err)
	}
	return list.Items
}

// tooSmall are those that were asked to hold more than they do.
func (n *namespaced) tooSmall(cluster string) []corev1.PersistentVolumeClaim {
	n.Helper()
	var small []corev1.PersistentVolumeClaim
	for _, claim := range n.claims(cluster) {
		if claim.Spec.Resources.Requests.Storage().Cmp(*claim.Status.Capacity.Storage()) > 0 {
			small = append(small, claim)
		}
	}
	return small
}

// The local Kubernetes has no driver that expands, so what follows does what the external-resizer of one does, by the
// rules of Kubernetes: the API server judges each change.

// refuses says of a volume that its driver has not what it is asked for.
func (n *namespaced) refuses(claim *corev1.PersistentVolumeClaim) {
	n.Helper()
	n.report(claim, func(status *corev1.PersistentVolumeClaimStatus) {
		status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: *claim.Spec.Resources.Requests.Storage()}
		status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible,
		}
	})
}

// expands the one volume that is asked to grow, and complains until all hold so much.
func (n *namespaced) expands(cluster, size string) error {
	n.Helper()
	small := n.tooSmall(cluster)
	if len(small) > 1 {
		n.Errorf("%d volumes grow at once", len(small))
	}
	for _, claim := range small {
		want := *claim.Spec.Resources.Requests.Storage()
		if want.Cmp(resource.MustParse(size)) != 0 {
			return fmt.Errorf("volume %s is asked to hold %s", claim.Name, want.String())
		}
		volume := &corev1.PersistentVolume{}
		volume.Name = claim.Spec.VolumeName
		patch := fmt.Appendf(nil, `{"spec":{"capacity":{"storage":%q}}}`, want.String())
		if err := suite.Client.Patch(n.Context(), volume, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			n.Fatal(err)
		}
		n.report(&claim, func(status *corev1.PersistentVolumeClaimStatus) {
			status.Capacity = corev1.ResourceList{corev1.ResourceStorage: want}
			status.AllocatedResources, status.AllocatedResourceStatuses = status.Capacity.DeepCopy(), nil
		})
	}
	for _, claim := range n.claims(cluster) {
		if claim.Status.Capacity.Storage().Cmp(resource.MustParse(size)) < 0 {
			return fmt.Errorf("volume %s holds %s", claim.Name, claim.Status.Capacity.Storage())
		}
	}
	return nil
}

func (n *namespaced) report(claim *corev1.PersistentVolumeClaim, change func(*corev1.PersistentVolumeClaimStatus)) {
	n.Helper()
	before := claim.DeepCopy()
	change(&claim.Status)
	if err := suite.Client.Status().Patch(n.Context(), claim, client.MergeFrom(before)); err != nil {
		n.Fatal(err)
	}
}

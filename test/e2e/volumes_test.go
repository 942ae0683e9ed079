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

// expandsVolumes requests larger volumes. First the StorageClass does not allow expansion, then the driver lacks space.
// Finally the volumes grow one by one, and no member restarts.
func (n *namespaced) expandsVolumes(cluster string) {
	n.Helper()
	n.requestVolumeSize(cluster, "40Gi")
	says(n, &v1beta2.EtcdCluster{}, cluster, v1beta2.ConditionReady, v1beta2.ReasonVolumeCannotGrow, "StorageClass", "set allowVolumeExpansion", "every 10s")
	n.statusNames(cluster, "class-without-expansion", "The StorageClass of volume", "The class does not allow it")
	if suite.Local == nil {
		n.kubectl("patch", "etcdcluster/"+cluster, "--type=json", "-p", `[{"op":"remove","path":"/spec/pod/persistentVolumeClaimSpec/resources"}]`)
		return // the behaviour of another Kubernetes' driver is unknown
	}
	pods, traffic := n.podUIDs(cluster), n.traffic(cluster, nil)
	n.allowsExpansion(*n.claims(cluster)[0].Spec.StorageClassName)
	var asked corev1.PersistentVolumeClaim
	n.eventually("the operator detects that the StorageClass allows expansion", func(context.Context) error {
		small := n.pendingExpansion(cluster)
		if len(small) != 1 {
			return fmt.Errorf("%d volumes have a pending expansion, expected 1", len(small))
		}
		asked = small[0]
		return nil
	})
	n.reportInfeasible(&asked)
	says(n, &v1beta2.EtcdCluster{}, cluster, v1beta2.ConditionStalled, v1beta2.ReasonVolumeCannotGrow, "ControllerResizeInfeasible", "take resources out")

	n.kubectl("patch", "etcdcluster/"+cluster, "--type=json", "-p", `[{"op":"remove","path":"/spec/pod/persistentVolumeClaimSpec/resources"}]`)
	n.ready(cluster) // the spec no longer requests a larger size
	n.requestVolumeSize(cluster, "20Gi")
	n.eventually("every volume has 20Gi", func(context.Context) error { return n.expandPending(cluster, "20Gi") })
	for _, m := range n.ready(cluster).Status.MemberStatuses {
		if m.VolumeSize != 20<<30 {
			n.Errorf("the status reports a volume of %d bytes for member %s, expected 20Gi", m.VolumeSize, m.Name)
		}
	}
	traffic.stop("growth of all volumes").quiet(n)
	if diff := cmp.Diff(pods, n.podUIDs(cluster)); diff != "" {
		n.Errorf("the expansion restarted members (-before +after):\n%s", diff)
	}
}

func (n *namespaced) requestVolumeSize(cluster, size string) {
	n.Helper()
	n.patch(cluster, fmt.Sprintf(`{"spec":{"pod":{"persistentVolumeClaimSpec":{"resources":{"requests":{"storage":%q}}}}}}`, size))
}

// allowsExpansion makes a StorageClass allow expansion until the test ends.
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

// claims returns the PersistentVolumeClaims of a cluster's members.
func (n *namespaced) claims(cluster string) []corev1.PersistentVolumeClaim {
	n.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := suite.Client.List(n.Context(), &list, client.InNamespace(n.name), client.MatchingLabels{v1beta2.LabelCluster: cluster}); err != nil {
		n.Fatal(err)
	}
	return list.Items
}

// pendingExpansion returns the claims that request more than their capacity.
func (n *namespaced) pendingExpansion(cluster string) []corev1.PersistentVolumeClaim {
	n.Helper()
	var small []corev1.PersistentVolumeClaim
	for _, claim := range n.claims(cluster) {
		if claim.Spec.Resources.Requests.Storage().Cmp(*claim.Status.Capacity.Storage()) > 0 {
			small = append(small, claim)
		}
	}
	return small
}

// The local Kubernetes has no driver that expands volumes. The functions below make the same API calls as the
// external-resizer of a driver, and the API server validates them.

// reportInfeasible reports that the driver cannot expand a volume.
func (n *namespaced) reportInfeasible(claim *corev1.PersistentVolumeClaim) {
	n.Helper()
	n.patchClaimStatus(claim, func(status *corev1.PersistentVolumeClaimStatus) {
		status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: *claim.Spec.Resources.Requests.Storage()}
		status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible,
		}
	})
}

// expandPending expands the volume with a pending expansion. It returns an error until all volumes have the size.
func (n *namespaced) expandPending(cluster, size string) error {
	n.Helper()
	small := n.pendingExpansion(cluster)
	if len(small) > 1 {
		n.Errorf("%d volumes have a pending expansion at the same time, expected 1", len(small))
	}
	for _, claim := range small {
		want := *claim.Spec.Resources.Requests.Storage()
		if want.Cmp(resource.MustParse(size)) != 0 {
			return fmt.Errorf("the claim %s requests %s, expected %s", claim.Name, want.String(), size)
		}
		volume := &corev1.PersistentVolume{}
		volume.Name = claim.Spec.VolumeName
		patch := fmt.Appendf(nil, `{"spec":{"capacity":{"storage":%q}}}`, want.String())
		if err := suite.Client.Patch(n.Context(), volume, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			n.Fatal(err)
		}
		n.patchClaimStatus(&claim, func(status *corev1.PersistentVolumeClaimStatus) {
			status.Capacity = corev1.ResourceList{corev1.ResourceStorage: want}
			status.AllocatedResources, status.AllocatedResourceStatuses = status.Capacity.DeepCopy(), nil
		})
	}
	for _, claim := range n.claims(cluster) {
		if claim.Status.Capacity.Storage().Cmp(resource.MustParse(size)) < 0 {
			return fmt.Errorf("the volume of claim %s has %s, expected %s", claim.Name, claim.Status.Capacity.Storage(), size)
		}
	}
	return nil
}

func (n *namespaced) patchClaimStatus(claim *corev1.PersistentVolumeClaim, change func(*corev1.PersistentVolumeClaimStatus)) {
	n.Helper()
	before := claim.DeepCopy()
	change(&claim.Status)
	if err := suite.Client.Status().Patch(n.Context(), claim, client.MergeFrom(before)); err != nil {
		n.Fatal(err)
	}
}

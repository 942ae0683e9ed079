package killer_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// driver makes the same API calls as the external-resizer of a storage driver. The API server validates them.
type driver struct {
	*bench
	// room is the largest volume size that it can provide.
	room resource.Quantity
	// passes of the operator since it was killed last.
	passes int
}

// passesBeforeResize is how many passes the driver waits, so that the operator is killed at every call that it makes
// while it waits.
const passesBeforeResize = 4

// wait restarts the count of passes after a kill.
func (d *driver) wait() { d.passes = 0 }

// act expands the volume with a pending expansion, or reports that it cannot. It returns no error if no expansion is
// pending, and fails the test if several are.
func (d *driver) act() error {
	d.Helper()
	d.passes++
	var small []corev1.PersistentVolumeClaim
	for _, claim := range d.claims() {
		if claim.Spec.Resources.Requests.Storage().Cmp(*claim.Status.Capacity.Storage()) > 0 {
			small = append(small, claim)
		}
	}
	if len(small) == 0 {
		return nil
	}
	if len(small) > 1 {
		d.Errorf("%d volumes have a pending expansion at the same time, expected 1", len(small))
	}
	if d.passes >= passesBeforeResize {
		d.resize(&small[0])
		d.passes = 0
	}
	return fmt.Errorf("volume %s has a pending expansion", small[0].Name)
}

func (d *driver) resize(claim *corev1.PersistentVolumeClaim) {
	d.Helper()
	before, want := claim.DeepCopy(), *claim.Spec.Resources.Requests.Storage()
	claim.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: want}
	claim.Status.AllocatedResourceStatuses = nil
	if want.Cmp(d.room) > 0 {
		claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible,
		}
	} else {
		claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: want}
	}
	if err := d.client.Status().Patch(d.Context(), claim, client.MergeFrom(before)); err != nil {
		d.Fatal(err)
	}
}

// claims returns the PersistentVolumeClaims of the cluster's members.
func (b *bench) claims() []corev1.PersistentVolumeClaim {
	b.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := b.client.List(b.Context(), &list, client.InNamespace(b.cluster.Namespace), client.MatchingLabels{v1beta2.LabelCluster: b.cluster.Name}); err != nil {
		b.Fatal(err)
	}
	return list.Items
}

func (b *bench) requestVolumeSize(size string) {
	b.Helper()
	b.change(func(spec *v1beta2.EtcdClusterSpec) {
		spec.Pod.PersistentVolumeClaimSpec = &corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		}}
	})
}

// volumesHave fails the test unless every volume has the size in its spec, in its capacity and in the cluster's status.
func (b *bench) volumesHave(size resource.Quantity) {
	b.Helper()
	for _, claim := range b.claims() {
		asked, holds := claim.Spec.Resources.Requests.Storage(), claim.Status.Capacity.Storage()
		if asked.Cmp(size) != 0 || holds.Cmp(size) != 0 {
			b.Errorf("volume %s requests %s and has %s, expected %s", claim.Name, asked, holds, size.String())
		}
	}
	for _, m := range b.cluster.Status.MemberStatuses {
		if m.VolumeSize != size.Value() {
			b.Errorf("the status reports a volume of %d bytes for member %s, expected %s", m.VolumeSize, m.Name, size.String())
		}
	}
}

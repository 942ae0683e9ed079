package killer_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// driver does what the external-resizer of a storage driver does, by the rules of Kubernetes: the API server judges
// each change.
type driver struct {
	*bench
	// room that it has for a volume.
	room resource.Quantity
	// lived is how many passes the operator lived through since it died last.
	lived int
}

// patience is how many passes a driver lets go by: until the operator has died of all that it does while it waits.
const patience = 4

// wait is for the operator's death.
func (d *driver) wait() { d.lived = 0 }

// act gives the one volume room that was asked to grow, or says that there is none. It fails the test where more were
// asked, and has no error when none is.
func (d *driver) act() error {
	d.Helper()
	d.lived++
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
		d.Errorf("%d volumes grow at once", len(small))
	}
	if d.lived >= patience {
		d.resize(&small[0])
		d.lived = 0
	}
	return fmt.Errorf("volume %s grows", small[0].Name)
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

// claims are the volumes of the cluster's members.
func (b *bench) claims() []corev1.PersistentVolumeClaim {
	b.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := b.client.List(b.Context(), &list, client.InNamespace(b.cluster.Namespace), client.MatchingLabels{v1beta2.LabelCluster: b.cluster.Name}); err != nil {
		b.Fatal(err)
	}
	return list.Items
}

func (b *bench) asksFor(size string) {
	b.Helper()
	b.change(func(spec *v1beta2.EtcdClusterSpec) {
		spec.Pod.PersistentVolumeClaimSpec = &corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		}}
	})
}

// roomy fails the test unless every volume was asked to hold so much, holds it, and the status says so.
func (b *bench) roomy(size resource.Quantity) {
	b.Helper()
	for _, claim := range b.claims() {
		asked, holds := claim.Spec.Resources.Requests.Storage(), claim.Status.Capacity.Storage()
		if asked.Cmp(size) != 0 || holds.Cmp(size) != 0 {
			b.Errorf("volume %s is asked to hold %s, and holds %s", claim.Name, asked, holds)
		}
	}
	for _, m := range b.cluster.Status.MemberStatuses {
		if m.VolumeSize != size.Value() {
			b.Errorf("the status says that the volume of member %s holds %d bytes", m.Name, m.VolumeSize)
		}
	}
}

package observe

import (
	"context"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

func (o *Observer) observeRestores(ctx context.Context, v *view.View) error {
	keys := []string{kubecache.KeyOfName(v.Name)}
	for _, volume := range v.SetAside { // an EtcdRestore into another EtcdCluster may need it
		keys = append(keys, kubecache.KeyOfSource(volume.Name))
	}
	found, err := o.ListIndexed(ctx, v, &v1beta2.EtcdRestoreList{}, keys...)
	if err != nil {
		return err
	}
	var restores []v1beta2.EtcdRestore
	for _, object := range found {
		if restore, ok := object.(*v1beta2.EtcdRestore); ok {
			restores = append(restores, *restore.DeepCopy())
		}
	}
	slices.SortFunc(restores, v1beta2.CompareRestores)
	restore.ChooseRestore(&v.State, restores)
	return nil
}

package migrate

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// syncUsers gives the new EtcdCluster the users that the source has now. If a person has changed them there, the person must join both.
func (m *migration) syncUsers(ctx context.Context) (err error) {
	r := &m.flags.request
	if r.From == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	if r.From, err = find(ctx, m.w, client.ObjectKeyFromObject(r.From), &v1beta2.EtcdCluster{}); err != nil {
		return err
	}
	users := r.UsersOf(m.objects)
	switch {
	case !users.Outdated:
		return nil
	case users.Edited:
		return errors.New(moving.JoinUsers(m.objects, *r.From, users.Digest))
	}
	if err := m.checkSecrets(ctx, *m.objects.Backup); err != nil {
		return err
	}
	before := m.objects.Cluster.DeepCopy()
	m.objects.Cluster.Spec.Auth = users.Auth
	if err := m.patch(ctx, m.objects.Cluster, before); err != nil {
		return fmt.Errorf("EtcdCluster %s cannot be changed: %w", before.Name, err)
	}
	restore := m.objects.Restore.DeepCopy()
	m.objects.Restore.Annotations[moving.AnnotationAuth] = users.Digest // of what the next change is one from
	if err := m.patch(ctx, m.objects.Restore, restore); err != nil {
		return fmt.Errorf("EtcdRestore %s cannot be changed: %w", restore.Name, err)
	}
	return m.say(fmt.Sprintf("EtcdCluster %s now has the users that the source has been given since it was created.", before.Name))
}

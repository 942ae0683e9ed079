package cli

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// intercept changes how the API server answers the command.
func (k *kit) intercept(funcs interceptor.Funcs) {
	k.Known.Client = interceptor.NewClient(k.Known.Client.(client.WithWatch), funcs)
}

// asksFor reports whether a request asks for a switchover, or calls one off.
func asksFor(object client.Object, is bool) bool {
	b, ok := object.(*v1beta2.EtcdBackup)
	return ok && b.Spec.Continuous != nil && b.Spec.Continuous.Switchover == is
}

var errServer = errors.New("the connection was lost")

// A source whose writes are stopped takes none until somebody calls that off. The command has promised to do so, whatever fails while it waits.
func TestMigrateLeavesNoSourceWithoutWrites(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(*kit, *atomic.Int32) interceptor.Funcs
		want  string
	}{
		"the request that calls it off fails three times": {func(_ *kit, n *atomic.Int32) interceptor.Funcs {
			return interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if asksFor(o, false) && n.Add(1) <= 3 {
					return errServer
				}
				return c.Patch(ctx, o, p, opts...)
			}}
		}, "It waits"},
		"the API server does not answer after the writes were stopped": {func(_ *kit, n *atomic.Int32) interceptor.Funcs {
			return interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if asksFor(o, true) {
						n.Store(2)
					}
					return c.Patch(ctx, o, p, opts...)
				},
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, limited := ctx.Deadline(); limited && n.Load() == 2 { // the operators of this test have no deadline
						<-ctx.Done()
						n.Store(3)
						return ctx.Err()
					}
					return c.Get(ctx, key, o, opts...)
				},
			}
		}, "not taken over within 3s"},
		"the answer to the request that stops them is lost": {func(_ *kit, _ *atomic.Int32) interceptor.Funcs {
			return interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				lost := asksFor(o, true)
				if err := c.Patch(ctx, o, p, opts...); err != nil || !lost {
					return err
				}
				return errServer
			}}
		}, "did not say whether"},
		"the EtcdRestore is deleted": {func(k *kit, _ *atomic.Int32) interceptor.Funcs {
			return interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				stops := asksFor(o, true)
				err := c.Patch(ctx, o, p, opts...)
				if stops && err == nil {
					err = c.Delete(ctx, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "moved-move"}})
				}
				return err
			}}
		}, "there is no standby"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kitOf(t, storeSecret())
			var n atomic.Int32
			k.operators(t, false)
			k.intercept(c.fault(k, &n))
			_, err := k.run(t, append(strings.Fields(fromEndpoints), "--yes", "--max-outage=3s", "--timeout=20s")...)
			if err == nil || !strings.Contains(err.Error(), "the source takes writes again") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if b, _, _ := k.objects(t); b.Spec.Continuous.Switchover || b.Status.Switchover != nil {
				t.Errorf("the source refuses writes: %+v", b.Status.Switchover)
			}
		})
	}
}

// Somebody else ends the migration while the command waits with the writes of the source stopped. The command ended with a panic, or waited for nothing.
func TestMigrateEndsWhenSomebodyElseEndsTheSwitchover(t *testing.T) {
	for name, c := range map[string]struct {
		change func(context.Context, client.WithWatch, *v1beta2.EtcdBackup) error
		want   string
	}{
		"the EtcdBackup is deleted": {func(ctx context.Context, c client.WithWatch, b *v1beta2.EtcdBackup) error { return c.Delete(ctx, b) }, "was deleted"},
		"it is called off": {func(ctx context.Context, c client.WithWatch, b *v1beta2.EtcdBackup) error {
			before := b.DeepCopy()
			b.Spec.Continuous.Switchover = false
			return c.Patch(ctx, b, client.MergeFrom(before))
		}, "somebody has called the switchover off"},
		"the archive is removed": {func(ctx context.Context, c client.WithWatch, b *v1beta2.EtcdBackup) error {
			before := b.DeepCopy()
			b.Spec.Continuous = nil
			return c.Patch(ctx, b, client.MergeFrom(before))
		}, "write continuous back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kitOf(t, storeSecret())
			k.operators(t, false)
			k.intercept(interceptor.Funcs{Patch: func(ctx context.Context, on client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				stops := asksFor(o, true)
				err := on.Patch(ctx, o, p, opts...)
				if stops && err == nil {
					err = c.change(ctx, on, o.DeepCopyObject().(*v1beta2.EtcdBackup))
				}
				return err
			}})
			if _, err := k.run(t, append(strings.Fields(fromEndpoints), "--yes", "--max-outage=3s", "--timeout=20s")...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// An object with the name of one of the migration may be of somebody else, who made it before the command or while it runs. By it, the command stopped the writes of a
// cluster that the user has not named, or those of a source that no standby follows.
func TestMigrateTouchesNothingOfOthers(t *testing.T) {
	theirs := func(change func(*v1beta2.EtcdBackup)) *v1beta2.EtcdBackup {
		b := hourly()
		b.Name, b.Spec.EtcdCluster, b.Spec.EtcdEndpoints = "moved-move", nil, []string{"http://127.0.0.1:1"}
		b.Spec.Continuous, b.Spec.S3.Path = &v1beta2.ContinuousArchive{MaxLag: "1s"}, "etcd-backups/old"
		change(b)
		return b
	}
	restore := func(change func(*v1beta2.EtcdRestore)) *v1beta2.EtcdRestore {
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "moved-move", Annotations: map[string]string{}}}
		r.Spec.EtcdCluster.Name, r.Spec.Follow = "moved", &v1beta2.FollowSpec{Promote: v1beta2.FollowPromotePlanned}
		r.Spec.EtcdBackup = &v1beta2.BackupReference{Name: "moved-move"}
		change(r)
		return r
	}
	same := theirs(func(*v1beta2.EtcdBackup) {})
	victim := theirs(func(b *v1beta2.EtcdBackup) { b.Namespace, b.Name = "victim", "theirs" })
	for name, c := range map[string]struct {
		objects []client.Object
		args    string
	}{
		"an EtcdBackup of another etcd":         {[]client.Object{theirs(func(b *v1beta2.EtcdBackup) { b.Spec.EtcdEndpoints = []string{"http://other:2379"} })}, fromEndpoints},
		"an EtcdBackup to another place":        {[]client.Object{theirs(func(b *v1beta2.EtcdBackup) { b.Spec.S3.Path = "other/place" })}, fromEndpoints},
		"an EtcdBackup with another user":       {[]client.Object{theirs(func(b *v1beta2.EtcdBackup) { b.Spec.ClientAuthSecret = "theirs" })}, fromEndpoints + " --client-auth-secret root"},
		"another source than it began":          {[]client.Object{same, restore(func(*v1beta2.EtcdRestore) {})}, "migrate moved --from-endpoints http://other:2379 --storage S3 --path etcd-backups/old --secret s3"},
		"another cluster than it began":         {[]client.Object{same, example(), restore(func(*v1beta2.EtcdRestore) {})}, "migrate moved --from-cluster example --storage S3 --path etcd-backups/old --secret s3"},
		"another EtcdBackup than it began":      {[]client.Object{same, hourly(), restore(func(*v1beta2.EtcdRestore) {})}, "migrate moved --backup hourly"},
		"an EtcdRestore of another EtcdCluster": {[]client.Object{same, restore(func(r *v1beta2.EtcdRestore) { r.Spec.EtcdCluster.Name = "other" })}, "migrate moved"},
		"an EtcdRestore that follows nothing":   {[]client.Object{same, restore(func(r *v1beta2.EtcdRestore) { r.Spec.Follow = nil })}, "migrate moved"},
		"an EtcdRestore whose annotation names a cluster of another namespace": {[]client.Object{victim, restore(func(r *v1beta2.EtcdRestore) {
			r.Annotations[moving.AnnotationFrom] = "victim/theirs"
		})}, "migrate moved"},
		"the same, with the folder in a store of its own": {[]client.Object{victim, restore(func(r *v1beta2.EtcdRestore) {
			r.Annotations[moving.AnnotationFrom] = "victim/theirs"
			r.Spec.EtcdBackup, r.Spec.BackupStorageType = nil, v1beta2.StorageS3
			r.Spec.S3 = &v1beta2.S3Source{Path: "etcd-backups/old/victim/theirs", Endpoint: "http://own", AWSSecret: "s3"}
		})}, "migrate moved"},
	} {
		for _, late := range []bool{false, true} {
			if late && !strings.Contains(c.args, "--from-endpoints") {
				continue // the command begins with what exists
			}
			root := storeSecret()
			root.Name = "root"
			k := kitOf(t, storeSecret(), root)
			put := func(ctx context.Context, on client.Client) {
				for _, o := range c.objects {
					if err := on.Create(ctx, o.DeepCopyObject().(client.Object)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !late {
				put(t.Context(), k.Known.Client)
			}
			k.intercept(interceptor.Funcs{Create: func(ctx context.Context, on client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if late {
					put(ctx, on)
				}
				return on.Create(ctx, o, opts...)
			}})
			args := append(strings.Fields(c.args), "--yes", "--timeout=3s")
			if _, err := k.run(t, args...); err == nil || !strings.Contains(err.Error(), "exists") || strings.Contains(err.Error(), "delete EtcdCluster") {
				t.Errorf("%s, late %t: %v", name, late, err)
			}
			if _, _, cluster := k.objects(t); cluster != nil {
				t.Errorf("%s, late %t: an EtcdCluster was created", name, late)
			}
		}
	}
}

// After the move, the EtcdBackup of the source is deleted with it. The command then advised to delete the new EtcdCluster, which was the only one with the data.
func TestMigrateAdvisesNoDeletionOfTheNewCluster(t *testing.T) {
	k := kitOf(t, storeSecret())
	k.operators(t, true)
	if _, err := k.run(t, append(strings.Fields(fromEndpoints), "--yes")...); err == nil || !strings.Contains(err.Error(), "the keys were not compared") {
		t.Errorf("nothing was compared: %v", err)
	}
	b, _, _ := k.objects(t)
	if err := k.Known.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	out, err := k.run(t, "migrate", "moved", "--yes")
	if err == nil || strings.Contains(err.Error(), "delete") || !strings.Contains(err.Error(), "the new cluster serves") {
		t.Errorf("%v\n%s", err, out)
	}
}

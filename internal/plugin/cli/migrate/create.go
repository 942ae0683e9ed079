package migrate

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// prepare creates the objects that are missing, after a question.
func (m *migration) prepare(ctx context.Context, now moving.Progress) error {
	if m.objects.Backup != nil && m.objects.Restore != nil && m.objects.Cluster != nil {
		return nil
	}
	r := m.flags.request
	backup, err := r.NewBackup()
	if err != nil {
		return err
	}
	if err := m.checkSecrets(ctx, backup); err != nil {
		return err
	}
	if err := m.p.Confirm(ctx, moving.CreateQuestion(r, backup)); err != nil {
		return m.ended(ctx, now.Stage, err)
	}
	if m.objects.Backup == nil {
		if err := m.create(ctx, &backup, "EtcdBackup"); err != nil {
			return err
		}
		m.objects.Backup = &backup
	}
	if m.p.Wait {
		if _, err = m.await(ctx, moving.Archived, m.p.Timeout); err != nil {
			return err
		}
	}
	return m.createStandby(ctx)
}

// createStandby creates the EtcdRestore before the EtcdCluster, which would begin empty without it.
func (m *migration) createStandby(ctx context.Context) error {
	if m.objects.Backup == nil {
		return fmt.Errorf("EtcdBackup %s was deleted. Run the command again to begin", m.backup.Name)
	}
	r, version := m.flags.request, m.objects.Backup.Status.EtcdVersion
	if why := r.Unsupported(version); why != "" {
		return m.ended(ctx, moving.Archived, errors.New(why))
	}
	restore := r.NewRestore(*m.objects.Backup)
	cluster, err := r.NewCluster(version)
	if err != nil {
		return m.ended(ctx, moving.Archived, err)
	}
	if m.objects.Restore == nil {
		if err := m.create(ctx, &restore, "EtcdRestore"); err != nil {
			return m.ended(ctx, moving.Archived, err)
		}
		m.objects.Restore = &restore
	}
	if m.objects.Cluster == nil { // also after Ctrl-C: another run would not know the flags
		both, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
		defer cancel()
		if err := m.create(both, &cluster, "EtcdCluster"); err != nil {
			return m.ended(ctx, moving.Archived, err)
		}
	}
	if _, err = m.read(ctx); err != nil {
		return m.ended(ctx, moving.Following, err)
	}
	return nil
}

func (m *migration) create(ctx context.Context, object client.Object, kind string) error {
	err := m.w.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) { // another run of the command was faster, or somebody else has made an object with that name
		_, err = m.read(ctx)
		return err
	}
	if err != nil {
		return fmt.Errorf("%s %s cannot be created in namespace %s: %w", kind, object.GetName(), object.GetNamespace(), err)
	}
	return m.say(fmt.Sprintf("%s %s is created in namespace %s.", kind, object.GetName(), object.GetNamespace()))
}

// checkSecrets returns which Secret does not exist, or has another user or password than that of the source. Without the right to read Secrets, the operators report the former.
func (m *migration) checkSecrets(ctx context.Context, b v1beta2.EtcdBackup) error {
	r, read := m.flags.request, map[client.ObjectKey]*corev1.Secret{}
	for _, namespace := range []string{b.Namespace, r.Namespace} {
		for _, name := range append(r.Secrets(namespace, b), r.UserSecrets(b)...) {
			secret, err := m.w.Core.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return fmt.Errorf("Secret %s does not exist in namespace %s. Nothing was changed. Create it first", name, namespace) //nolint:staticcheck // a kind
			}
			if err == nil {
				read[client.ObjectKey{Namespace: namespace, Name: name}] = secret
			}
		}
	}
	for _, name := range r.UserSecrets(b) {
		of, to := read[client.ObjectKey{Namespace: b.Namespace, Name: name}], read[client.ObjectKey{Namespace: r.Namespace, Name: name}]
		if of != nil && to != nil && !sameUser(of.Data, to.Data) {
			return fmt.Errorf("Secret %s has another user or password in namespace %s than in namespace %s. Nothing was changed. The new cluster has the users of the source, so copy the Secret. If it is for something else, change its name in spec.auth of the source first", //nolint:staticcheck // a kind
				name, r.Namespace, b.Namespace)
		}
	}
	return nil
}

// sameUser reports whether two Secrets have the same user and password.
func sameUser(of, to map[string][]byte) bool {
	same := func(key string) bool { return etcd.Password(of[key]) == etcd.Password(to[key]) }
	return same(v1beta2.AuthUsernameKey) && same(v1beta2.AuthPasswordKey)
}

// print writes the manifests that a run would create.
func (m *migration) print() error {
	r := m.flags.request
	backup, err := r.NewBackup()
	if err != nil {
		return err
	}
	cluster, err := r.NewCluster(m.version)
	if err != nil {
		return err
	}
	restore := r.NewRestore(backup)
	objects := []client.Object{&backup, &restore, &cluster}
	if r.Archive != nil {
		objects = objects[1:]
	}
	text, err := moving.Manifests(objects...)
	if err == nil {
		_, err = m.p.Out.Write(text)
	}
	return err
}

package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// Migrate returns the command migrate.
func Migrate(p *session.Session) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: "migrate <cluster>", Short: "Move the clients of a running etcd to a new EtcdCluster, without the loss of a write", Args: cobra.ExactArgs(1),
		Example: "  kubectl etcd migrate example --from-endpoints http://old.default.svc:2379 --storage S3 --path etcd-backups/old --secret s3\n" +
			"  kubectl etcd migrate example --from-cluster other-team/example --secret s3 --storage S3 --path etcd-backups/move\n  kubectl etcd migrate example",
	}
	f.bind(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := p.Connect()
		if err != nil {
			return err
		}
		f.request.Namespace, f.request.Name = w.Namespace, args[0]
		m := &migration{watcher: watcher{p: p, w: w, flags: &f}}
		if err := m.choose(c.Context()); err != nil {
			return err
		}
		if f.dryRun {
			return m.print()
		}
		return m.run(c.Context())
	}
	return p.Writes(c)
}

// keyOf parses "<namespace>/<name>".
func keyOf(text, namespace string) client.ObjectKey {
	if in, name, ok := strings.Cut(text, "/"); ok {
		return client.ObjectKey{Namespace: in, Name: name}
	}
	return client.ObjectKey{Namespace: namespace, Name: text}
}

// choose finds the source and its EtcdBackup: those of a run before, or those that the flags name.
func (m *migration) choose(ctx context.Context) error {
	r := &m.flags.request
	if r.BackupNamespace == "" {
		r.BackupNamespace = r.Namespace
	}
	if m.flags.cluster != "" {
		r.Cluster = keyOf(m.flags.cluster, r.Namespace).String()
	}
	if m.flags.backup != "" {
		r.Backup = keyOf(m.flags.backup, r.Namespace).String()
	}
	restore, err := find(ctx, m.w, client.ObjectKey{Namespace: r.Namespace, Name: r.ObjectName()}, &v1beta2.EtcdRestore{})
	if err != nil {
		return err
	}
	switch {
	case restore != nil:
		m.backup = backupOf(*restore)
		r.Archive, err = find(ctx, m.w, m.backup, &v1beta2.EtcdBackup{})
	case m.flags.backup != "":
		m.backup = keyOf(m.flags.backup, r.Namespace)
		if r.Archive, err = find(ctx, m.w, m.backup, &v1beta2.EtcdBackup{}); err == nil && r.Archive == nil {
			err = fmt.Errorf("EtcdBackup %s does not exist. Nothing was changed. List them: kubectl get etcdbackups -n %s", m.backup.Name, m.backup.Namespace)
		}
	case m.flags.cluster != "":
		err = m.chooseCluster(ctx, keyOf(m.flags.cluster, r.Namespace))
	default:
		m.backup = client.ObjectKey{Namespace: r.BackupNamespace, Name: r.ObjectName()}
		r.Archive, err = find(ctx, m.w, m.backup, &v1beta2.EtcdBackup{}) // of a run before that has ended before the standby was created
	}
	if err == nil && r.Archive != nil && r.Archive.Spec.EtcdCluster != nil && r.From == nil {
		r.From, err = find(ctx, m.w, client.ObjectKey{Namespace: r.Archive.Namespace, Name: r.Archive.Spec.EtcdCluster.Name}, &v1beta2.EtcdCluster{})
	}
	if err != nil {
		return err
	}
	return m.check(ctx, restore)
}

// backupOf returns the EtcdBackup that a run before has written into its EtcdRestore, or that a person has named there.
func backupOf(r v1beta2.EtcdRestore) client.ObjectKey {
	if from := r.Annotations[moving.AnnotationFrom]; from != "" {
		return keyOf(from, r.Namespace)
	}
	if r.Spec.EtcdBackup != nil {
		return client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.EtcdBackup.Name}
	}
	return client.ObjectKey{Namespace: r.Namespace, Name: r.Name}
}

// chooseCluster reads the EtcdCluster of --from-cluster. Without a store, its only EtcdBackup with a continuous archive is used.
func (m *migration) chooseCluster(ctx context.Context, key client.ObjectKey) (err error) {
	r := &m.flags.request
	if r.From, err = find(ctx, m.w, key, &v1beta2.EtcdCluster{}); err != nil {
		return err
	}
	if r.From == nil {
		return fmt.Errorf("EtcdCluster %s does not exist. Nothing was changed. List them: kubectl get etcd -n %s", key.Name, key.Namespace)
	}
	m.backup = client.ObjectKey{Namespace: key.Namespace, Name: r.ObjectName()}
	if r.Store.Type != "" {
		r.Archive, err = find(ctx, m.w, m.backup, &v1beta2.EtcdBackup{})
		return err
	}
	var all v1beta2.EtcdBackupList
	if err := m.w.List(ctx, &all, client.InNamespace(key.Namespace)); err != nil {
		return fmt.Errorf("EtcdBackups cannot be listed in namespace %s: %w. Nothing was changed", key.Namespace, err)
	}
	archives := slices.DeleteFunc(backups.SeriesOf(key.Name, all.Items), func(b v1beta2.EtcdBackup) bool { return b.Spec.Continuous == nil })
	if len(archives) != 1 {
		return fmt.Errorf("EtcdCluster %s has %d EtcdBackups with a continuous archive. Nothing was changed. Name one with --backup %s/<name>, or a store for another one: --storage S3 --path <bucket>/<folder> --secret <name>",
			key.Name, len(archives), key.Namespace)
	}
	r.Archive, m.backup = &archives[0], client.ObjectKeyFromObject(&archives[0])
	return nil
}

// check refuses what cannot end well, before anything is created.
func (m *migration) check(ctx context.Context, restore *v1beta2.EtcdRestore) error {
	r := m.flags.request
	if why := r.Foreign(moving.Objects{Backup: r.Archive, Restore: restore}); why != "" {
		return fmt.Errorf("%s. Nothing was changed", why)
	}
	if moving.HasTakenOver(moving.Objects{Restore: restore}) {
		return nil // only the end is left, and the source may be deleted
	}
	if r.Archive == nil && r.From == nil && len(r.Endpoints) == 0 {
		if restore != nil {
			return fmt.Errorf("EtcdRestore %s follows EtcdBackup %s/%s, which does not exist. Nothing was changed. Create it again with the same location, or delete the EtcdRestore and its EtcdCluster", restore.Name, m.backup.Namespace, m.backup.Name)
		}
		return errors.New("no source is named, and no earlier run has begun. Nothing was changed. Name the source: --from-endpoints <url>, --from-cluster <namespace>/<name> or --backup <name>")
	}
	if r.Archive == nil && (r.Store.Type == "" || r.Store.Secret == "") {
		return errors.New("the archive needs a store, and the standby reads it with a Secret. Nothing was changed. Name both: --storage S3 --path <bucket>/<folder> --secret <name>")
	}
	if r.Archive != nil && r.Archive.Spec.Continuous == nil {
		return fmt.Errorf("EtcdBackup %s/%s has no continuous archive. Nothing was changed. Add continuous: {maxLag: 1s} to its spec, or name a store for another one: --storage S3 --path <bucket>/<folder> --secret <name>", m.backup.Namespace, m.backup.Name)
	}
	if restore == nil {
		if exists, err := find(ctx, m.w, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, &v1beta2.EtcdCluster{}); err != nil || exists != nil {
			return cmp.Or(err, fmt.Errorf("EtcdCluster %s exists already. Nothing was changed. A standby begins with a new EtcdCluster, so choose another name", r.Name))
		}
	}
	if why := r.StrangeStore(); why != "" && restore == nil {
		return fmt.Errorf("%s. Nothing was changed", why)
	}
	return m.checkVersionAndUsers(ctx, restore)
}

// checkVersionAndUsers refuses a source that no standby follows, and one whose users the new cluster would refuse.
func (m *migration) checkVersionAndUsers(ctx context.Context, restore *v1beta2.EtcdRestore) error {
	r := m.flags.request
	m.version = sidesOf(m).version(ctx)
	if why := r.Unsupported(m.version); why != "" && restore == nil {
		return fmt.Errorf("%s\nNothing was changed", strings.TrimSuffix(why, "."))
	}
	if why := r.LockedOut(); why != "" && restore == nil && sidesOf(m).authenticationOn(ctx) {
		return fmt.Errorf("%s. Nothing was changed", why)
	}
	_, err := r.VersionFor(m.version)
	return err
}

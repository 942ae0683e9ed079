package snapshots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// Import returns the command import.
func Import(p *session.Session, version string) *cobra.Command {
	var like, via string
	var target backups.Target
	c := &cobra.Command{
		Use: "import <cluster> <file or data directory>", Short: "Verify a snapshot file, write it to a store, and print the EtcdRestore that restores it", Args: cobra.ExactArgs(2),
		Example: "  kubectl etcd import example snapshot.db\n  kubectl etcd import example snapshot.db --yes -o yaml > restore.yaml\n  kubectl etcd import example /var/lib/etcd",
		RunE: func(c *cobra.Command, args []string) error {
			w, err := p.Connect()
			if err != nil {
				return err
			}
			to, err := importTo(c.Context(), p, w, args[0], like, target)
			if err != nil {
				return err
			}
			cluster := v1beta2.EtcdCluster{} // it need not exist: a restore creates it from the snapshot
			if err := w.Get(c.Context(), client.ObjectKey{Namespace: w.Namespace, Name: args[0]}, &cluster); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("EtcdCluster %s cannot be read: %w. Nothing was written", args[0], err)
			}
			if target.Type != "" {
				via = cmp.Or(via, target.Endpoint) // the user wrote both
			}
			saved, err := store(c.Context(), p, w, to, args[0], args[1], via, version)
			if err != nil {
				return err
			}
			restore := backups.RestoreOf(to, args[0], cluster.Status.ClusterID)
			if done, err := p.Print(restore); done {
				return err
			}
			text, err := yaml.Marshal(restore)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Out, "%sTo restore it into EtcdCluster %s, apply this:\n\n%s", backups.Stored(backups.Path(to.Spec.Storage), saved.Manifest, p.Width), args[0], text)
			return err
		},
	}
	bindTarget(c, &target, &like)
	c.Flags().StringVar(&via, "via", "", "URL by which your machine reaches the store; default: that of the EtcdBackup or of --endpoint")
	c.Flags().BoolVarP(&p.Yes, "yes", "y", false, "do not ask before the change")
	return p.Formats(c, "json or yaml")
}

// importTo returns where a snapshot is written to.
func importTo(ctx context.Context, p *session.Session, w *session.World, cluster, like string, target backups.Target) (v1beta2.EtcdBackup, error) {
	if target.Type != "" {
		return backups.BackupTo(target, w.Namespace, cluster, p.Now())
	}
	var all v1beta2.EtcdBackupList
	if err := w.List(ctx, &all, client.InNamespace(w.Namespace)); err != nil {
		return v1beta2.EtcdBackup{}, fmt.Errorf("list EtcdBackups: %w", err)
	}
	series, err := backups.Series(cluster, like, all.Items)
	if err != nil {
		return v1beta2.EtcdBackup{}, err
	}
	return backups.ImportLike(*series, cluster, p.Now()), nil
}

// store asks, verifies a file and writes it to a store with its manifest. A file that fails the check never becomes an object.
func store(ctx context.Context, p *session.Session, w *session.World, to v1beta2.EtcdBackup, cluster, file, via, version string) (save.Saved, error) {
	given, err := givenAt(ctx, file)
	if err != nil {
		return save.Saved{}, fmt.Errorf("%w. Nothing was written", err)
	}
	defer given.done()
	content, err := os.Open(given.file)
	if err != nil {
		return save.Saved{}, fmt.Errorf("the snapshot cannot be read: %w. Nothing was written", err)
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return save.Saved{}, fmt.Errorf("the snapshot cannot be read: %w. Nothing was written", err)
	}
	if err := p.Confirm(ctx, backups.ImportQuestion(given.what, info.Size(), to)); err != nil {
		return save.Saved{}, err
	}
	opened, err := openStore(ctx, p, w, to.Spec.StorageType, to.Spec.Storage, via, "")
	if err != nil {
		return save.Saved{}, fmt.Errorf("%w. Nothing was written", err)
	}
	saved, err := save.Snapshot(ctx, save.Request{
		Namespace: w.Namespace, Source: fileSource{content, info.Size()}, Store: opened.store, Key: opened.at.Key,
		SpoolDir: os.TempDir(), Spool: ownDisk{},
		Cluster: snapshot.Cluster{Namespace: w.Namespace, Name: cluster}, Time: p.Now(), Encoder: backups.EncoderOf(to.Spec), Tool: "kubectl-etcd " + version,
	})
	switch {
	case errors.Is(err, dbfile.ErrNoTrailer):
		return saved, fmt.Errorf("%s is no snapshot: %w. Nothing was written. A file of etcdctl snapshot save ends with the SHA-256 of its content. A copy of member/snap/db does not, and it can lack writes: name the whole data directory instead", file, err)
	case err != nil:
		return saved, fmt.Errorf("%s cannot be imported: %w.%s", file, err, backups.InsideHint(opened.at.Endpoint))
	}
	return saved, nil
}

// fileSource is a file in place of a member.
type fileSource struct {
	file *os.File
	size int64
}

// Snapshot returns the content of the file.
func (s fileSource) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(s.file), s.size, nil
}

// ownDisk admits everything, because no other namespace uses the disk of the user.
type ownDisk struct{}

// Reserve reserves nothing.
func (ownDisk) Reserve(context.Context, int64) (*spool.Share, error) { return nil, nil } //nolint:nilnil // a nil Share has no bound

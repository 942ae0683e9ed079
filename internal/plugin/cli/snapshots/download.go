package snapshots

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// Download returns the command download.
func Download(p *session.Session) *cobra.Command {
	var d downloading
	c := &cobra.Command{
		Use: "download <cluster>", Short: "Write a snapshot of a store, or of a member, to a file, and verify it", Args: cobra.ExactArgs(1),
		Example: "  kubectl etcd download example\n  kubectl etcd download example --now --file example.db",
		RunE: func(c *cobra.Command, args []string) error {
			signers, err := d.keys.signers()
			if err != nil {
				return err
			}
			w, err := p.Connect()
			if err != nil {
				return err
			}
			open := func(ctx context.Context, w *session.World, cluster string, d downloading) (remote, error) {
				return fromStore(ctx, p, w, cluster, d)
			}
			if d.now {
				open = func(ctx context.Context, w *session.World, name string, d downloading) (remote, error) {
					return fromMember(ctx, p, w, name, d)
				}
			}
			from, err := open(c.Context(), w, args[0], d)
			if err != nil {
				return err
			}
			defer from.close()
			if d.file != "" {
				from.file = d.file
			}
			return write(c.Context(), p, from, signers)
		},
	}
	flags := c.Flags()
	flags.StringVar(&d.snapshot, "snapshot", "", "path or file name of the snapshot; default: the newest one")
	flags.StringVar(&d.backup, "backup", "", "EtcdBackup that took the snapshot; default: any of the cluster")
	flags.StringVarP(&d.file, "file", "f", "", "file to write; default: <cluster>-<name of the snapshot>.db")
	flags.StringVar(&d.via, "via", "", "URL by which your machine reaches the store; default: that of the EtcdBackup")
	flags.StringArrayVar(&d.identities, "identity", nil, "file with an age identity that decrypts the snapshot; default: that in the store's Secret")
	flags.BoolVar(&d.now, "now", false, "have a member send its data now, without a store")
	flags.StringVar(&d.member, "member", "", "member that sends its data; default: one that is ready")
	d.keys.bind(c)
	for _, ofStore := range []string{"snapshot", "backup", "via", "identity", "public-key"} {
		c.MarkFlagsMutuallyExclusive("now", ofStore)
		c.MarkFlagsMutuallyExclusive("member", ofStore)
	}
	return c
}

// fromStore opens a snapshot of an EtcdBackup. The EtcdCluster need not exist any more.
func fromStore(ctx context.Context, p *session.Session, w *session.World, cluster string, d downloading) (remote, error) {
	var all v1beta2.EtcdBackupList
	if err := w.List(ctx, &all, client.InNamespace(w.Namespace)); err != nil {
		return remote{}, fmt.Errorf("list EtcdBackups: %w", err)
	}
	listed := backups.OnlyNamed(d.backup, observed.BackupsOf(cluster, all.Items))
	chosen, err := backups.ChooseObject(cluster, d.backup, d.snapshot, listed)
	if err != nil {
		return remote{}, err
	}
	b := listed[slices.IndexFunc(listed, func(b v1beta2.EtcdBackup) bool { return b.Name == chosen.Backup })]
	opened, err := openStore(ctx, p, w, b.Spec.StorageType, b.Spec.Storage, d.via, chosen.Path)
	if err != nil {
		return remote{}, fmt.Errorf("%w. No file was written", err)
	}
	identities := connect.Identity(opened.data)
	for _, file := range d.identities {
		text, err := os.ReadFile(file)
		if err != nil {
			return remote{}, fmt.Errorf("read the age identity: %w. No file was written", err)
		}
		identities = append(append(identities, '\n'), text...)
	}
	return remote{
		store: opened.store, key: opened.at.Key, what: "snapshot " + chosen.Path, file: backups.FileName(cluster, chosen.Path), size: chosen.Size,
		identities: identities, hint: backups.InsideHint(opened.at.Endpoint), close: func() {},
	}, nil
}

// write writes a snapshot to a file that does not exist, and verifies it. After an error there is no file.
func write(ctx context.Context, p *session.Session, from remote, signers snapshot.Signers) error {
	target, err := os.OpenFile(from.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("the snapshot cannot be written: %w. Nothing was downloaded. Choose another file with --file", err)
	}
	target.Close()
	fetched, err := proof.Fetch(ctx, counted(p, from.store, from.key, from.size), from.key, proof.Alone(filepath.Dir(from.file)), from.identities, signers)
	if p.Terminal {
		fmt.Fprint(p.Raw.Out, clearLine)
	}
	if err == nil {
		if err = os.Rename(fetched.Path, from.file); err != nil {
			_ = os.Remove(fetched.Path)
		}
	}
	if err != nil {
		_ = os.Remove(from.file)
		return fmt.Errorf("%s cannot be downloaded: %w. No file was written.%s", from.what, err, from.hint)
	}
	_, err = fmt.Fprint(p.Out, backups.Downloaded(from.file, fetched, signers.Required(), p.Width))
	return err
}

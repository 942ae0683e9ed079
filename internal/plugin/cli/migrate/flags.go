package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/snapshots"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// defaultOutage is how long the source refuses writes at most before the switchover is called off.
const defaultOutage = 2 * time.Minute

// flags are those of the command.
type flags struct {
	request   moving.Request
	cluster   string // "<namespace>/<name>" or "<name>"
	backup    string // "<namespace>/<name>" or "<name>"
	via       string
	maxOutage time.Duration
	dryRun    bool
}

func (f *flags) bind(c *cobra.Command) {
	r := &f.request
	c.Flags().StringSliceVar(&r.Endpoints, "from-endpoints", nil, "client URLs of the source, as backup-operator reaches them")
	c.Flags().StringVar(&f.cluster, "from-cluster", "", "EtcdCluster to move, as <namespace>/<name>, or <name> in this namespace")
	c.Flags().StringVar(&f.backup, "backup", "", "EtcdBackup that archives the source continuously, as <namespace>/<name>, or <name> in this namespace")
	c.Flags().StringVar(&r.BackupNamespace, "backup-namespace", "", "namespace of the EtcdBackup of --from-endpoints; default: that of the new cluster")
	c.Flags().StringVar(&r.TLSSecret, "client-tls-secret", "", "Secret with the client certificate for --from-endpoints, in the namespace of the EtcdBackup")
	c.Flags().StringVar(&r.AuthSecret, "client-auth-secret", "", "Secret with a user of the source that has the role root, in both namespaces")
	c.Flags().StringVar(&f.via, "via", "", "address by which this machine reaches the source to verify the data, for example localhost:2379 of a port-forward")
	snapshots.BindStore(c, &r.Store)
	c.Flags().Lookup("path").Usage = "<bucket>/<folder> for the archive and the snapshots of the source"
	c.Flags().Lookup("secret").Usage = "Secret with the credentials of the store, in both namespaces"
	c.Flags().IntVar(&r.Size, "size", 0, "number of members of the new cluster; default: that of --from-cluster, or 3")
	c.Flags().StringVar(&r.Version, "etcd-version", "", "version of etcd of the new cluster; default: "+v1beta2.DefaultVersion+", or that of the source if that is newer")
	c.Flags().BoolVar(&r.PlainText, "no-tls", false, "create the new cluster without TLS, which cannot be turned on later")
	c.Flags().DurationVar(&f.maxOutage, "max-outage", defaultOutage, "after how long without writes the switchover is called off; 0 for never")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the manifests and create nothing")
	c.MarkFlagsMutuallyExclusive("from-endpoints", "from-cluster", "backup")
	for _, flag := range []string{"storage", "client-tls-secret", "client-auth-secret", "backup-namespace"} {
		c.MarkFlagsMutuallyExclusive("backup", flag)
	}
	for _, flag := range []string{"client-tls-secret", "client-auth-secret", "backup-namespace"} {
		c.MarkFlagsMutuallyExclusive("from-cluster", flag)
	}
}

// find reads an object, and returns nil if it does not exist.
func find[T client.Object](ctx context.Context, w *session.World, key client.ObjectKey, object T) (found T, err error) {
	err = w.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("%s cannot be read in namespace %s: %w", key.Name, key.Namespace, err)
	}
	return object, nil
}

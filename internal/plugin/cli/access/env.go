package access

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// Env returns the command env.
func Env(p *session.Session) *cobra.Command {
	var directory string
	var port uint16
	c := &cobra.Command{
		Use: "env <cluster>", Short: "Print the variables of etcdctl for kubectl etcd port-forward, and write the client's certificate", Args: cobra.ExactArgs(1),
		Example: "  eval \"$(kubectl etcd env example)\"",
		RunE: func(c *cobra.Command, args []string) error {
			w, cluster, err := p.ConnectTo(c.Context(), args)
			if err != nil {
				return err
			}
			return printEnv(c.Context(), p, w, clientFiles{cluster: cluster, secret: cluster.Spec.TLS.ClientSecret(cluster.Name), of: cluster.Name, directory: directory, port: port})
		},
	}
	filesOf(c, &directory, &port)
	return c
}

// filesOf adds the flags of a command that writes a certificate.
func filesOf(c *cobra.Command, directory *string, port *uint16) {
	c.Flags().StringVar(directory, "dir", "", "directory for the client's certificate and key; default: one in your cache directory")
	c.Flags().Uint16Var(port, "port", clientPort, "port of this machine to which kubectl etcd port-forward listens")
}

// clientFiles are the files of a client's Secret.
type clientFiles struct {
	cluster v1beta2.EtcdCluster
	// secret is its name, and of whose it is.
	secret, of string
	// directory is empty for one in the cache directory of the user.
	directory string
	port      uint16
}

// printEnv writes the files of a client, and prints the variables of etcdctl.
func printEnv(ctx context.Context, p *session.Session, w *session.World, f clientFiles) error {
	if f.directory == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("there is no directory for the certificate: %w. Nothing was written. Name one with --dir", err)
		}
		f.directory = filepath.Join(cache, "kubectl-etcd", w.Namespace, f.of)
	}
	written, err := writeClient(ctx, w, f)
	if err != nil {
		return err
	}
	fmt.Fprint(p.Out, core.Env(f.cluster, f.port, f.directory))
	if written {
		fmt.Fprintf(p.Err, "# The client's private key is in %s. Delete the directory when you no longer need it.\n", f.directory)
	}
	return nil
}

// clientPort is the port of etcd, and of this machine by default.
const clientPort = uint16(v1beta2.ClientPort)

// writeClient writes the client's certificate, key and CA, which only the user may read. Without TLS there is nothing to write.
func writeClient(ctx context.Context, w *session.World, f clientFiles) (bool, error) {
	if !f.cluster.Spec.TLS.SecureClient() {
		return false, nil
	}
	name, directory := f.secret, f.directory
	var secret *corev1.Secret
	secret, err := w.Core.CoreV1().Secrets(w.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("the client's certificate cannot be read: %w. Nothing was written. You need the right to read Secret %s", err, name)
	}
	files, err := core.ClientFiles(f.cluster, secret)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return false, fmt.Errorf("the client's certificate cannot be written: %w. Name another directory with --dir", err)
	}
	for key, content := range files {
		file := filepath.Join(directory, key)
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) { // an earlier file could be readable for others
			return false, fmt.Errorf("the client's certificate cannot be written: %w. Name another directory with --dir", err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return false, fmt.Errorf("the client's certificate cannot be written: %w. Name another directory with --dir", err)
		}
	}
	return true, nil
}

package access

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Users returns the command users.
func Users(p *session.Session) *cobra.Command {
	c := &cobra.Command{
		Use: "users [cluster]", Short: "List the users of etcd's authentication, and with what they authenticate", Args: cobra.MaximumNArgs(1),
		Example: "  kubectl etcd users example",
		RunE: func(c *cobra.Command, args []string) error {
			w, cluster, err := p.ConnectTo(c.Context(), args)
			if err != nil {
				return err
			}
			users := core.Users(cluster)
			if done, err := p.Print(users); done {
				return err
			}
			if len(users) == 0 {
				return p.None("user of EtcdCluster "+cluster.Name, "Write users into spec.auth of the EtcdCluster.", w)
			}
			header, rows := core.Rows(users)
			if err := terminal.Table(p.Out, header, rows); err != nil {
				return err
			}
			for _, line := range []string{core.Authentication(cluster), core.AfterRestore(cluster)} {
				if line != "" {
					fmt.Fprintln(p.Err, line)
				}
			}
			return nil
		},
	}
	return p.Formats(c, "json or yaml")
}

// Certificate returns the command certificate.
func Certificate(p *session.Session) *cobra.Command {
	var directory string
	var port uint16
	c := &cobra.Command{
		Use: "certificate [cluster] <user>", Short: "Write the certificate of a user, and print the variables of etcdctl for it", Args: cobra.RangeArgs(1, 2),
		Example: "  eval \"$(kubectl etcd certificate example report)\"",
		RunE: func(c *cobra.Command, args []string) error {
			user := args[len(args)-1]
			w, cluster, err := p.ConnectTo(c.Context(), args[:len(args)-1])
			if err != nil {
				return err
			}
			if err := core.NoCertificate(cluster, user); err != nil {
				return err
			}
			return printEnv(c.Context(), p, w, clientFiles{cluster: cluster, secret: v1beta2.UserSecret(cluster.Name, user), of: cluster.Name + "-" + user, directory: directory, port: port})
		},
	}
	filesOf(c, &directory, &port)
	return c
}

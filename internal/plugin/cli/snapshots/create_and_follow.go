package snapshots

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// create creates an object and follows its work.
func create(p *session.Session, c *cobra.Command, w *session.World, object client.Object, look func() edit.Step) error {
	if err := w.Create(c.Context(), object); err != nil {
		return fmt.Errorf("%s cannot be created: %w. Nothing was changed. Correct the cause and run the command again", object.GetName(), err)
	}
	fmt.Fprintf(p.Out, "%s is created.\n", object.GetName())
	if !p.Wait {
		return nil
	}
	return p.Follow(c.Context(), w, object, look)
}

package snapshots

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
)

// onlyKeys are the flags of a restore of some keys.
type onlyKeys struct {
	prefixes []string
	prune    bool
}

func (o *onlyKeys) bind(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.prefixes, "prefix", nil, "restore only the keys below this prefix, while the cluster runs; may be repeated")
	c.Flags().BoolVar(&o.prune, "prune", false, "delete the keys below --prefix that the snapshot does not have")
}

func (o *onlyKeys) asked() bool { return len(o.prefixes) > 0 }

func (o *onlyKeys) check() error {
	if o.prune && !o.asked() {
		return errors.New("--prune deletes keys below a prefix. Add --prefix, or remove --prune. Nothing was changed")
	}
	return nil
}

// restoreKeys creates an EtcdRestore of some keys. where says what has their values.
func restoreKeys(p *session.Session, c *cobra.Command, w *session.World, wanted v1beta2.EtcdRestore, only onlyKeys, where string) error {
	wanted.Spec.Prefixes, wanted.Spec.Prune = only.prefixes, only.prune
	keys, cluster := fmt.Sprintf("%q", only.prefixes), wanted.Spec.EtcdCluster.Name
	question := fmt.Sprintf("The keys below %s of EtcdCluster %s are written as they are %s.", strings.Trim(keys, "[]"), cluster, where)
	switch {
	case wanted.Spec.DryRun:
		question = fmt.Sprintf("An EtcdRestore compares the keys below %s of EtcdCluster %s with those %s. The data is not changed.", strings.Trim(keys, "[]"), cluster, where)
	case only.prune:
		question += " Keys that it does not have are deleted."
	}
	if err := p.Confirm(c.Context(), question); err != nil {
		return err
	}
	return create(p, c, w, &wanted, func() edit.Step { return edit.FollowRestore(wanted) })
}

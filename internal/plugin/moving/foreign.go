package moving

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
)

// Foreign returns why objects with the names of a migration are not those of this one; empty if they are. Somebody else may have made them, before the command or while it
// runs. To hand over by them would stop the writes of another cluster than the user has named, or those of a source that no standby follows.
func (r Request) Foreign(o Objects) string {
	if b := o.Backup; b != nil {
		if why := r.archivesOther(*b); why != "" {
			return fmt.Sprintf("EtcdBackup %s exists in namespace %s, and %s. Delete it, or choose another name for the new cluster", b.Name, b.Namespace, why)
		}
	}
	if o.Restore == nil {
		return ""
	}
	name, other := "EtcdRestore "+o.Restore.Name+" exists", "It is no part of this migration, so choose another name for the new cluster"
	switch s := o.Restore.Spec; {
	case s.EtcdCluster.Name != r.Name:
		return fmt.Sprintf("%s, and is of EtcdCluster %s. %s", name, s.EtcdCluster.Name, other)
	case s.Follow == nil:
		return fmt.Sprintf("%s, and restores a snapshot without following its source. %s", name, other)
	case o.Backup != nil && !follows(*o.Restore, *o.Backup):
		return fmt.Sprintf("%s, and does not follow the archive of EtcdBackup %s/%s. %s", name, o.Backup.Namespace, o.Backup.Name, other)
	}
	return ""
}

// archivesOther returns what an EtcdBackup has else than the flags name; empty if there is nothing.
func (r Request) archivesOther(b v1beta2.EtcdBackup) string {
	named := func(flag, is string) bool { return flag != "" && flag != is }
	cluster := ""
	if b.Spec.EtcdCluster != nil {
		cluster = b.Namespace + "/" + b.Spec.EtcdCluster.Name
	}
	switch {
	case named(r.Backup, b.Namespace+"/"+b.Name):
		return "this migration began with it, and not with " + r.Backup
	case named(r.Cluster, cluster), len(r.Endpoints) > 0 && !slices.Equal(r.Endpoints, b.Spec.EtcdEndpoints):
		return "archives " + SourceOf(b)
	case named(r.TLSSecret, b.Spec.ClientTLSSecret), named(r.AuthSecret, b.Spec.ClientAuthSecret):
		return "has other Secrets for its clients"
	case named(strings.TrimSuffix(r.Store.Path, "/"), strings.TrimSuffix(backups.Path(b.Spec.Storage), "/")):
		return "archives to " + backups.Path(b.Spec.Storage)
	case r.Store.Type != "" && r.Store.Endpoint != backups.Endpoint(b.Spec.Storage):
		return "archives to the server " + cmp.Or(backups.Endpoint(b.Spec.Storage), "of its provider")
	}
	return ""
}

// StrangeStore returns why the Secret of the store is not used for the standby; empty if it is. In another namespace, who may write the EtcdBackup chooses the server, and the
// Secret of that name is one of the new namespace.
func (r Request) StrangeStore() string {
	if r.Archive == nil || r.Archive.Namespace == r.Namespace {
		return ""
	}
	server, secret := backups.Endpoint(r.Archive.Spec.Storage), backups.SecretOf(r.Archive.Spec.Storage)
	if server == "" || secret == "" || server == r.Store.Endpoint {
		return ""
	}
	return fmt.Sprintf("EtcdBackup %s/%s names the server %s. The standby would send requests there with the keys in Secret %s of namespace %s. If you trust that server, name it: --endpoint %s",
		r.Archive.Namespace, r.Archive.Name, server, secret, r.Namespace, server)
}

// follows reports whether an EtcdRestore follows what an EtcdBackup archives. Who writes the annotation of the EtcdRestore can name any EtcdBackup there, also one of
// another namespace.
func follows(r v1beta2.EtcdRestore, b v1beta2.EtcdBackup) bool {
	if r.Spec.EtcdBackup != nil {
		return r.Namespace == b.Namespace && r.Spec.EtcdBackup.Name == b.Name
	}
	return r.Spec.BackupStorageType == b.Spec.StorageType && backups.SamePlace(r.Spec.Storage, backups.Folder(b.Spec.Storage, folderOf(b)))
}

package moving

import (
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
)

// A Request is what the flags of a migration ask for.
type Request struct {
	// Namespace and Name are those of the new EtcdCluster.
	Namespace, Name string
	// Endpoints are those of a source that is no EtcdCluster, and From is the source otherwise. Archive is an EtcdBackup that archives the source already.
	Endpoints []string
	From      *v1beta2.EtcdCluster
	Archive   *v1beta2.EtcdBackup
	// Cluster and Backup are what the flags name as the source, as "<namespace>/<name>"; empty without the flag.
	Cluster, Backup string
	// BackupNamespace is where the EtcdBackup of endpoints is.
	BackupNamespace string
	// TLSSecret and AuthSecret are those of endpoints.
	TLSSecret, AuthSecret string
	// Store is where a new EtcdBackup archives to. Its Secret is that of the standby, too.
	Store backups.Target
	// Size and Version are those of the new EtcdCluster. They are 0 and empty for those of the source.
	Size    int
	Version string
	// PlainText makes an EtcdCluster without TLS.
	PlainText bool
}

// ObjectName is the name of the EtcdBackup and of the EtcdRestore of a migration, by which a second run finds them.
func (r Request) ObjectName() string { return r.Name + "-move" }

// authenticated reports whether the operators authenticate to the source as a user.
func (r Request) authenticated() bool {
	switch {
	case r.From != nil:
		return r.From.Spec.Auth.OperatorSecretName() != ""
	case r.Archive != nil:
		return r.Archive.Spec.ClientAuthSecret != ""
	}
	return r.AuthSecret != ""
}

// Source names the source in a sentence.
func (r Request) Source() string {
	switch {
	case r.From != nil:
		return "EtcdCluster " + r.From.Namespace + "/" + r.From.Name
	case r.Archive != nil:
		return SourceOf(*r.Archive)
	}
	return "the etcd at " + strings.Join(r.Endpoints, ", ")
}

// SourceOf names in a sentence what an EtcdBackup archives.
func SourceOf(b v1beta2.EtcdBackup) string {
	if b.Spec.EtcdCluster != nil {
		return "EtcdCluster " + b.Namespace + "/" + b.Spec.EtcdCluster.Name
	}
	return "the etcd at " + strings.Join(b.Spec.EtcdEndpoints, ", ")
}

// Unsupported returns why a source of that version cannot be moved by a standby, and how it can be moved. It is empty if it can, or if the version is not known.
func (r Request) Unsupported(version string) string {
	switch {
	case version == "":
		return ""
	case etcdversion.Older(version, "3.5.0"):
		return fmt.Sprintf("The source runs etcd %s, which cannot be archived, so no standby can follow it. %s", version, r.bySnapshot())
	case etcdversion.Older(version, "3.6.0") && r.From != nil:
		return fmt.Sprintf("EtcdCluster %s runs etcd %s, and a refusal of its writes holds from etcd 3.6.0 on. Upgrade it first: kubectl etcd upgrade %s %s -n %s",
			r.From.Name, version, r.From.Name, v1beta2.DefaultVersion, r.From.Namespace)
	case etcdversion.Older(version, "3.6.0") && r.authenticated():
		return fmt.Sprintf("The source runs etcd %s with users. While it refuses writes, a client without a user could add users there. Upgrade it to etcd 3.6 first. %s", version, r.bySnapshot())
	}
	return ""
}

// bySnapshot has the steps of a move with a snapshot.
func (r Request) bySnapshot() string {
	endpoints, store := "<endpoints>", "--storage S3 --path <bucket>/<key> --secret <name>"
	if len(r.Endpoints) > 0 {
		endpoints = strings.Join(r.Endpoints, ",")
	}
	if r.Store.Type != "" {
		store = fmt.Sprintf("--storage %s --path %s/old.db", r.Store.Type, strings.TrimSuffix(r.Store.Path, "/"))
		if r.Store.Secret != "" {
			store += " --secret " + r.Store.Secret
		}
	}
	return fmt.Sprintf("Move it with a snapshot instead. Clients cannot write from the first step to the last, which is one to two minutes with a small database:\n"+
		"1. Stop the applications that write.\n"+
		"2. Save it: ETCDCTL_API=3 etcdctl --endpoints=%s snapshot save old.db\n"+
		"3. Store it: kubectl etcd import %s old.db %s\n"+
		"4. Apply the EtcdRestore that the command prints, and an EtcdCluster %s. It starts with the snapshot.\n"+
		"5. Start the applications with the address of the new cluster.\n"+
		"More: %s", endpoints, r.Name, store, r.Name, runbook.PageURL("migrating-from-a-statefulset.md#move-with-a-snapshot"))
}

// VersionFor returns the version of the new EtcdCluster for a source of that version, which may not be known.
func (r Request) VersionFor(source string) (string, error) {
	asked := strings.TrimPrefix(r.Version, "v")
	known, ok := etcdversion.Parse(source)
	switch {
	case !ok && asked == "":
		return v1beta2.DefaultVersion, nil
	case !ok:
		return asked, nil
	case asked == "" && etcdversion.MustParse(v1beta2.DefaultVersion).CompareMinor(known) < 0:
		return source, nil
	case asked == "":
		return v1beta2.DefaultVersion, nil
	}
	wanted, valid := etcdversion.Parse(asked)
	if !valid {
		return "", fmt.Errorf("version %q is no version of etcd. Nothing was changed. Write for example --etcd-version %s", r.Version, v1beta2.DefaultVersion)
	}
	if wanted.CompareMinor(known) < 0 {
		return "", fmt.Errorf("the source runs etcd %s, and a cluster with etcd %s cannot read its data. Nothing was changed. Write --etcd-version with the same minor version or the next one", source, asked)
	}
	return asked, nil
}

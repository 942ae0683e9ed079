package moving

import (
	"bytes"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
)

// AnnotationFrom holds, on the EtcdRestore of a migration, the EtcdBackup of the source as "<namespace>/<name>". By it, a second run of the command finds the source.
const AnnotationFrom = v1beta2.Group + "/moves-from"

// defaultSize is the number of members of a cluster that moves from endpoints.
const defaultSize = 3

// NewBackup returns the EtcdBackup that archives the source, or the one that does so already.
func (r Request) NewBackup() (v1beta2.EtcdBackup, error) {
	if r.Archive != nil {
		return *r.Archive, nil
	}
	namespace := r.BackupNamespace
	if r.From != nil {
		namespace = r.From.Namespace
	}
	b, err := backups.BackupTo(r.Store, namespace, r.Name, time.Time{})
	if err != nil {
		return b, err
	}
	b.Name, b.Spec.EtcdCluster = r.ObjectName(), nil
	b.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "0 3 * * *", MaxBackups: 3}
	b.Spec.Continuous = &v1beta2.ContinuousArchive{MaxLag: "1s"}
	if r.From != nil {
		b.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: r.From.Name}
		return b, nil
	}
	b.Spec.EtcdEndpoints, b.Spec.ClientTLSSecret, b.Spec.ClientAuthSecret = r.Endpoints, r.TLSSecret, r.AuthSecret
	return b, nil
}

// NewRestore returns the EtcdRestore that makes the new EtcdCluster a standby of what an EtcdBackup archives. In another namespace it names the folder of the
// snapshots, and the Secret of the store has the same name there.
func (r Request) NewRestore(b v1beta2.EtcdBackup) v1beta2.EtcdRestore {
	restore := v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.Namespace, Name: r.ObjectName(), Annotations: map[string]string{AnnotationFrom: b.Namespace + "/" + b.Name},
	}}
	if r.From != nil {
		restore.Annotations[AnnotationAuth] = digestOf(r.auth(r.From.Spec.Auth.OperatorSecretName()))
	}
	restore.Spec.EtcdCluster.Name = r.Name
	restore.Spec.Follow = &v1beta2.FollowSpec{Promote: v1beta2.FollowPromotePlanned}
	if b.Namespace == r.Namespace {
		restore.Spec.EtcdBackup = &v1beta2.BackupReference{Name: b.Name}
		return restore
	}
	restore.Spec.BackupStorageType, restore.Spec.Storage = b.Spec.StorageType, backups.Folder(b.Spec.Storage, folderOf(b))
	return restore
}

// folderOf returns the folder of a series below its path: the snapshots of an EtcdCluster have its name, and others that of the EtcdBackup.
func folderOf(b v1beta2.EtcdBackup) string {
	if b.Spec.EtcdCluster != nil {
		return path.Join(b.Namespace, b.Spec.EtcdCluster.Name)
	}
	return path.Join(b.Namespace, b.Name)
}

// NewCluster returns the EtcdCluster that clients are moved to. version is that of the source; empty if it is not known.
func (r Request) NewCluster(version string) (v1beta2.EtcdCluster, error) {
	c := v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
	var err error
	if c.Spec.Version, err = r.VersionFor(version); err != nil {
		return c, err
	}
	c.Spec.Size = defaultSize
	user := r.AuthSecret
	if r.Archive != nil {
		user = r.Archive.Spec.ClientAuthSecret
	}
	if r.From != nil {
		c.Spec.Size, user = r.From.Spec.Size, r.From.Spec.Auth.OperatorSecretName()
		c.Spec.Pod, c.Spec.Etcd = podLike(r.From.Spec.Pod, r.From.Namespace == r.Namespace), r.From.Spec.Etcd.DeepCopy()
	}
	if r.Size != 0 {
		c.Spec.Size = r.Size
	}
	if !r.PlainText {
		c.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{ClientCommonName: oldUsers{r.From}.clientUser()}}
	}
	c.Spec.Auth = r.auth(user)
	return c, nil
}

// podLike returns the settings of Pods for the new EtcdCluster. In another namespace it leaves out all that runs code of the old one, or names objects: who may write the old
// EtcdCluster could otherwise run a container there, with the Secrets and ServiceAccounts of that namespace.
func podLike(of *v1beta2.PodPolicy, here bool) *v1beta2.PodPolicy {
	from := of.DeepCopy()
	if from == nil || here {
		return from
	}
	pod := &v1beta2.PodPolicy{
		NodeSelector: from.NodeSelector, Affinity: from.Affinity, AntiAffinity: from.AntiAffinity, TopologySpreadConstraints: from.TopologySpreadConstraints, Tolerations: from.Tolerations,
		TerminationGracePeriodSeconds: from.TerminationGracePeriodSeconds, Resources: from.Resources, EmptyDir: from.EmptyDir,
	}
	pod.Resources.Claims = nil
	if claim := from.PersistentVolumeClaimSpec; claim != nil {
		pod.PersistentVolumeClaimSpec = &corev1.PersistentVolumeClaimSpec{
			AccessModes: claim.AccessModes, Resources: claim.Resources, StorageClassName: claim.StorageClassName, VolumeMode: claim.VolumeMode,
		}
	}
	return pod
}

// Secrets returns the names of the Secrets that a migration needs in a namespace, without those that it does not name.
func (r Request) Secrets(namespace string, b v1beta2.EtcdBackup) (names []string) {
	add := func(in, name string) {
		if in == namespace && name != "" {
			names = append(names, name)
		}
	}
	store := backups.SecretOf(b.Spec.Storage)
	add(b.Namespace, store)
	if b.Namespace != r.Namespace {
		add(r.Namespace, store)
	}
	add(b.Namespace, b.Spec.ClientTLSSecret)
	add(b.Namespace, b.Spec.ClientAuthSecret)
	if b.Namespace != r.Namespace && r.authenticated() {
		add(r.Namespace, r.userSecret(b))
	}
	for _, name := range (oldUsers{r.From}).passwords() {
		add(r.Namespace, name)
	}
	return names
}

func (r Request) userSecret(b v1beta2.EtcdBackup) string {
	if r.From != nil {
		return r.From.Spec.Auth.OperatorSecretName()
	}
	return b.Spec.ClientAuthSecret
}

// Manifests returns objects as YAML, without a status, in the order in which they are to be created.
func Manifests(objects ...client.Object) ([]byte, error) {
	var all bytes.Buffer
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("write the manifest of %s: %w", object.GetName(), err)
		}
		loose := map[string]any{}
		if err := yaml.Unmarshal(text, &loose); err != nil {
			return nil, fmt.Errorf("write the manifest of %s: %w", object.GetName(), err)
		}
		delete(loose, "status")
		if meta, ok := loose["metadata"].(map[string]any); ok {
			delete(meta, "creationTimestamp")
		}
		loose["apiVersion"], loose["kind"] = v1beta2.GroupVersion.String(), kindOf(object)
		if text, err = yaml.Marshal(loose); err != nil {
			return nil, fmt.Errorf("write the manifest of %s: %w", object.GetName(), err)
		}
		if i > 0 {
			all.WriteString("---\n")
		}
		all.Write(text)
	}
	return all.Bytes(), nil
}

func kindOf(object client.Object) string {
	switch object.(type) {
	case *v1beta2.EtcdBackup:
		return "EtcdBackup"
	case *v1beta2.EtcdRestore:
		return "EtcdRestore"
	}
	return "EtcdCluster"
}

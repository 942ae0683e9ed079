package moving

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
)

// CallOff is the command that lets the source take writes again.
func CallOff(b v1beta2.EtcdBackup) string {
	return fmt.Sprintf(`kubectl -n %s patch etcdbackup %s --type merge -p '{"spec":{"continuous":{"switchover":false}}}'`, b.Namespace, b.Name)
}

// CreateQuestion names what a migration creates. Nothing changes for clients by that.
func CreateQuestion(r Request, b v1beta2.EtcdBackup) string {
	archive := fmt.Sprintf("EtcdBackup %s/%s is created. It archives %s to %s %s.", b.Namespace, b.Name, r.Source(), b.Spec.StorageType, backups.Path(b.Spec.Storage))
	if r.Archive != nil {
		archive = fmt.Sprintf("EtcdBackup %s/%s archives %s.", b.Namespace, b.Name, r.Source())
	}
	users := ""
	if names := r.UserSecrets(b); len(names) > 0 {
		users = fmt.Sprintf(" The passwords of its users are read from the Secrets %s there.", strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s EtcdRestore %s and EtcdCluster %s are created in namespace %s.%s They follow the archive. Clients of the source notice nothing. The command asks again before it hands them over.",
		archive, r.ObjectName(), r.Name, r.Namespace, users)
}

// HandOverQuestion names what happens to clients, and until when that can be called off.
func HandOverQuestion(o Objects, limit string) string {
	text := fmt.Sprintf("%s refuses all writes from now on. When the standby has the last one, EtcdCluster %s serves with the same revisions, and the source never takes writes again. Clients reach the new cluster at %s.",
		capital(SourceOf(*o.Backup)), o.Cluster.Name, reached(*o.Cluster))
	if limit != "" {
		text += fmt.Sprintf(" If the standby has not taken over within %s, the command calls this off, and the source takes writes again.", limit)
	}
	return text
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Address is the URL by which clients in Kubernetes reach a cluster.
func Address(c v1beta2.EtcdCluster) string {
	scheme := "http"
	if c.Spec.TLS.SecureClient() {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s-client.%s.svc:%d", scheme, c.Name, c.Namespace, v1beta2.ClientPort)
}

// Running says what continues without the command, and how to end it. The command prints that when it ends early.
func Running(stage Stage, o Objects) string {
	if o.Backup == nil {
		return "Nothing is running. Run the command again to begin."
	}
	object := fmt.Sprintf("EtcdBackup %s/%s", o.Backup.Namespace, o.Backup.Name)
	const again = "Run the command again to continue."
	switch {
	case stage >= Complete:
		return "The migration is complete."
	case stage >= Starting:
		return fmt.Sprintf("The new cluster has taken over, and cluster-operator starts it. This cannot be called off. %s", again)
	case stage == HandingOver:
		return fmt.Sprintf("%s refuses the writes of the source, and the standby takes over when it has all of them. %s To call it off instead: %s", object, again, CallOff(*o.Backup))
	case o.Restore == nil:
		return fmt.Sprintf("%s archives the source, and nothing has changed for clients. %s To end it, delete that EtcdBackup.", object, again)
	}
	return fmt.Sprintf("%s archives the source, EtcdRestore %s follows it, and nothing has changed for clients. %s To end it, delete EtcdCluster %s, EtcdRestore %s and %s.",
		object, o.Restore.Name, again, o.Restore.Spec.EtcdCluster.Name, o.Restore.Name, object)
}

// reached is the address of the new cluster, and with which certificate clients reach it.
func reached(c v1beta2.EtcdCluster) string {
	if !c.Spec.TLS.SecureClient() {
		return Address(c)
	}
	return fmt.Sprintf("%s, with the certificate in Secret %s (user %s)", Address(c), c.Spec.TLS.ClientSecret(c.Name), ClientUser(c))
}

// Connect says how clients reach the new cluster.
func Connect(c v1beta2.EtcdCluster) string {
	text := "Clients now: " + reached(c)
	if c.Spec.Auth.OperatorSecretName() != "" {
		text += ", with the users and passwords of the source"
	}
	return text + ". More: " + runbook.PageURL("clients.md")
}

// NoWayBack says why the source cannot be used again, and what to delete when.
func NoWayBack(o Objects) string {
	return fmt.Sprintf("There is no way back: %s refuses writes, because two clusters with different writes at the same revisions cannot be joined again. Delete it when no client needs it, and keep EtcdBackup %s/%s until then: only that refuses writes again if somebody disarms the alarm.",
		SourceOf(*o.Backup), o.Backup.Namespace, o.Backup.Name)
}

// TooLong says that a switchover took too long.
func TooLong(limit, last string) string {
	return fmt.Sprintf("the standby has not taken over within %s (%s). Correct the cause, or allow more time with --max-outage", limit, strings.TrimSuffix(cmp.Or(last, "no progress was reported"), "."))
}

// CalledOff says what has become of a switchover that was called off.
func CalledOff(why string) string {
	return strings.TrimSuffix(why, ".") + ". The command has called the switchover off, and the source takes writes again. No write is lost. Run the command again to continue"
}

// JoinUsers says that spec.auth of both EtcdClusters was changed, and how a person continues.
func JoinUsers(o Objects, source v1beta2.EtcdCluster, digest string) string {
	return fmt.Sprintf("spec.auth of EtcdCluster %s/%s has changed since EtcdCluster %s was created with it, and that of %s was changed, too. After the hand-over, etcd has the users of the latter: one that was removed from the source would come back. "+
		"Change spec.auth of %s as you need it, then run kubectl -n %s annotate etcdrestore %s %s=%s --overwrite, and run the command again",
		source.Namespace, source.Name, o.Cluster.Name, o.Cluster.Name, o.Cluster.Name, o.Restore.Namespace, o.Restore.Name, AnnotationAuth, digest)
}

package secrets

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// users reads the certificates of the users of one EtcdCluster into its view.
type users struct {
	*Secrets
	view *view.View
	held *heldContents
}

// taken records that another owner has an object of a user. It is read again with the next judgement.
func (u users) taken(what string, kind client.Object, name string) {
	u.view.UserCertificates.Taken = append(u.view.UserCertificates.Taken, what)
	u.Memory.OfView(u.view).drop(kind, client.ObjectKey{Namespace: u.view.Namespace, Name: name})
}

package secrets

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// sessions is how many TLS sessions with members are kept to be resumed. A session that resumes saves both sides the check of
// certificates.
const sessions = 8

// noteSecret records a missing Secret in SecretProblem. It returns any other error.
func noteSecret(v *view.View, err error) error {
	if !errors.Is(err, kube.ErrSecretMissing) {
		return err
	}
	if v.SecretProblem == "" {
		v.SecretProblem = planning.Sentence("The operator cannot read a TLS Secret: ", err.Error())
	}
	return nil
}

// noteTaken records that another owner has the Secret or the Certificate of a usage. The cluster needs all but the operator's.
func noteTaken(v *view.View, u state.Usage, object string) {
	if u.Vital() {
		v.Certificates.Foreign = certificates.TakenByAnother(object)
		return
	}
	v.Material.Taken = object
}

// useClientSecret makes the operator connect to the members with the certificate in a Secret.
//
// The keys of the message are those of TLS.managed and TLS.certManager. The static Secret with others was checked before.
func useClientSecret(v *view.View, name string, data map[string][]byte) {
	config, err := etcd.TLSConfig(data[v1beta2.ClientCertKey], data[v1beta2.ClientKeyKey], data[v1beta2.ClientCAKey])
	if err != nil {
		v.SecretProblem = fmt.Sprintf("Secret %s (keys %s, %s, %s) is invalid: %v.", name, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, err)
		return
	}
	config.ClientSessionCache = tls.NewLRUClientSessionCache(sessions)
	v.TLS = config
}

package material

import (
	"strconv"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Keys of the Secret of a user beside the certificate. Service Binding (servicebinding.io) defines the first four.
const (
	BindingTypeKey      = "type"
	BindingHostKey      = "host"
	BindingPortKey      = "port"
	BindingUsernameKey  = "username"
	BindingEndpointsKey = "endpoints"
)

// otherCAs is why a Secret of a user is written with the certificate that it has.
const otherCAs = "the CAs or the addresses of the cluster have changed"

// signerOfUsers is the CA that signed the certificate of clients; nil if there is none yet, or its key is not known.
func signerOfUsers(m Material) *pki.CA {
	leaf, err := pki.Pair{Cert: m.HandedOut["client"].Get(v1beta2.ClientCertKey), Key: m.HandedOut["client"].Get(v1beta2.ClientKeyKey)}.Leaf()
	if err != nil {
		return nil
	}
	return signerOf(m, leaf)
}

func userPair(held *Secret) pki.Pair {
	return pki.Pair{Cert: held.Get(v1beta2.ClientCertKey), Key: held.Get(v1beta2.ClientKeyKey)}
}

// userData is what the Secret of a user has beside the certificate.
func userData(m Material, s state.State, user string) map[string][]byte {
	authorities := m.HandedOut["client"].Get(v1beta2.ClientCAKey)
	host := s.ClientService() + "." + s.Namespace + ".svc"
	port := strconv.Itoa(int(v1beta2.ClientPort))
	return map[string][]byte{
		v1beta2.ClientCAKey: authorities, IssuedCAKey: authorities,
		BindingTypeKey: []byte("etcd"), BindingHostKey: []byte(host), BindingPortKey: []byte(port), BindingUsernameKey: []byte(user),
		BindingEndpointsKey: []byte("https://" + host + ":" + port),
	}
}

// userSecret is the Secret of a user with a certificate.
func userSecret(m Material, s state.State, user string, pair pki.Pair) *Secret {
	data := userData(m, s, user)
	data[v1beta2.ClientCertKey], data[v1beta2.ClientKeyKey], data[IssuedCertKey], data[IssuedKeyKey] = pair.Cert, pair.Key, pair.Cert, pair.Key
	after := &Secret{Data: data, Annotations: map[string]string{}}
	if held := m.Users[user]; held != nil {
		after.Version = held.Version
	}
	return after
}

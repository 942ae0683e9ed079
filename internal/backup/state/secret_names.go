package state

// SecretNames are the names of the Secrets that an attempt reads, besides those of the stores. Each is empty if it is not needed.
type SecretNames struct {
	// TLS has what clients of the source need, and Auth the user for etcd's authentication.
	TLS, Auth string
	// Signing has the key that signs snapshots.
	Signing string
}

// SecretNames returns which Secrets the spec and its EtcdCluster name. Those of an EtcdCluster that does not exist are not known.
func (s State) SecretNames() SecretNames {
	var out SecretNames
	switch {
	case s.Spec.EtcdCluster == nil:
		out.TLS, out.Auth = s.Spec.ClientTLSSecret, s.Spec.ClientAuthSecret
	case s.Cluster != nil:
		out.TLS, out.Auth = s.Cluster.TLSSecret, s.Cluster.AuthSecret
	}
	if s.Spec.Signing != nil {
		out.Signing = s.Spec.Signing.Secret
	}
	return out
}

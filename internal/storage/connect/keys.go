package connect

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// Keys returns the keys of a Secret that may be read to open a store: those of all providers.
func Keys() []string {
	keys := []string{
		v1beta2.CAKey, v1beta2.SSECustomerKeyKey, v1beta2.AgeIdentityKey, endpointKey,
		"credentials", "config", "credentials.json", "access-token", "storage-account", "storage-key", "cloud",
	}
	for _, s := range styles {
		keys = append(keys, s.id, s.key, s.token, s.region)
	}
	return keys
}

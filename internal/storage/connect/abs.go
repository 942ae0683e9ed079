package connect

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/abs"
)

func openABS(_ context.Context, a Access) (objstore.Store, error) {
	config, err := absConfig(a)
	if err != nil {
		return nil, fmt.Errorf("open ABS container %s: %w", a.Bucket, err)
	}
	return abs.Open(config)
}

// absAmbient are the keys of a Secret that are no credentials.
var absAmbient = []string{"storage-account", "cloud", endpointKey}

// absConfig takes the keys that coreos/etcd-operator took. An account without a key
// stands for the ambient identity.
func absConfig(a Access) (abs.Config, error) {
	secret := secretData(a.Data)
	config := abs.Config{
		Container: a.Bucket, Endpoint: a.Endpoint, Patience: a.Patience,
		Account: secret.text("storage-account"), Key: secret.text("storage-key"), Cloud: secret.text("cloud"),
		KeyFor: secret.text(endpointKey), OnlyNamed: onlyNamed.Load(),
	}
	if a.Data == nil || config.Key != "" || secret.ambient(absAmbient...) {
		return config, nil
	}
	return config, fmt.Errorf("the Secret has no credentials (%s): write the keys storage-account and storage-key, "+
		"or only storage-account to use the operator's own identity", secret.names())
}

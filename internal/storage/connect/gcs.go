package connect

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/gcs"
)

func openGCS(ctx context.Context, a Access) (objstore.Store, error) {
	config, err := gcsConfig(a)
	if err != nil {
		return nil, fmt.Errorf("open GCS bucket %s: %w", a.Bucket, err)
	}
	return gcs.Open(ctx, config)
}

// endpointKey is the key of a Secret with the endpoints for which its credentials may be used.
const endpointKey = "endpoint"

// onlyNamed is one for the process, because it is the administrator's choice for all namespaces.
var onlyNamed atomic.Bool

// RequireNamedEndpoints makes the keys of S3 and Azure sign only for the provider's own servers and for those that the Secret names. Without it, the
// keys of a Secret that names none sign for each endpoint, as they did in earlier versions.
func RequireNamedEndpoints() { onlyNamed.Store(true) }

// gcsAmbient are the keys of a Secret that are no credentials.
var gcsAmbient = []string{endpointKey}

func gcsConfig(a Access) (gcs.Config, error) {
	config := gcs.Config{
		Bucket: a.Bucket, Endpoint: a.Endpoint, Patience: a.Patience,
		KMSKeyName: a.Options.GCS.KMSKeyName, StorageClass: a.Options.GCS.StorageClass,
	}
	secret := secretData(a.Data)
	config.CredentialsFor = secret.text(endpointKey)
	file, token := secret.has("credentials.json"), secret.has("access-token")
	switch {
	case a.Data == nil, !file && !token && secret.ambient(gcsAmbient...):
		return config, nil
	case file && token:
		return config, fmt.Errorf("the Secret has both credentials.json and access-token: keep one")
	case !file && !token:
		return config, fmt.Errorf("the Secret has no credentials (%s): write the key credentials.json or access-token", secret.names())
	case file:
		config.CredentialsJSON = a.Data["credentials.json"]
	default:
		config.AccessToken = secret.text("access-token")
	}
	return config, nil
}

package connect

import (
	"context"
	"fmt"

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

func gcsConfig(a Access) (gcs.Config, error) {
	config := gcs.Config{
		Bucket: a.Bucket, Endpoint: a.Endpoint, Patience: a.Patience,
		KMSKeyName: a.Options.GCS.KMSKeyName, StorageClass: a.Options.GCS.StorageClass,
	}
	secret := secretData(a.Data)
	file, token := secret.has("credentials.json"), secret.has("access-token")
	switch {
	case a.Data == nil, !file && !token && secret.ambient():
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

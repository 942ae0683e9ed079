package storage

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// gcs is Google Cloud Storage.
var gcs = provider{name: v1beta2.StorageGCS, block: "gcs", read: func(s v1beta2.Storage) (string, Location, bool) {
	if s.GCS == nil {
		return "", Location{}, false
	}
	return s.GCS.Path, Location{
		Endpoint: s.GCS.Endpoint, Secret: s.GCS.GCPSecret, Options: Options{GCS: s.GCS.GCSOptions},
	}, true
}}

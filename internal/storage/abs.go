package storage

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// abs is Azure Blob Storage. Its bucket is a container.
var abs = provider{name: v1beta2.StorageABS, block: "abs", read: func(s v1beta2.Storage) (string, Location, bool) {
	if s.ABS == nil {
		return "", Location{}, false
	}
	return s.ABS.Path, Location{Endpoint: s.ABS.Endpoint, Secret: s.ABS.ABSSecret}, true
}}

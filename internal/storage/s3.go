package storage

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// s3 is Amazon S3, and every store that speaks its protocol.
var s3 = provider{name: v1beta2.StorageS3, block: "s3", read: func(s v1beta2.Storage) (string, Location, bool) {
	if s.S3 == nil {
		return "", Location{}, false
	}
	return s.S3.Path, Location{
		Endpoint: s.S3.Endpoint, Region: s.S3.Region, ForcePathStyle: s.S3.ForcePathStyle,
		Secret: s.S3.AWSSecret, CustomerKey: s.S3.CustomerKey(), Options: Options{S3: s.S3.S3Options},
	}, true
}}

package storage

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// providers are the supported ones.
var providers = []provider{s3, gcs, abs}

// refused are the storage types that the API accepts only so that old manifests
// apply, with what to write instead.
var refused = map[v1beta2.StorageType]string{
	v1beta2.StorageOSS: "OSS is not supported. Alibaba Cloud OSS speaks the S3 protocol: write S3, and in s3.endpoint its S3-compatible endpoint, " +
		"for example https://s3.oss-cn-hangzhou.aliyuncs.com.",
}

// Supported reports whether there is an entry for the storage type.
func Supported(name v1beta2.StorageType) bool {
	_, ok := providerOf(name)
	return ok
}

// Providers are the names of the supported storage types.
func Providers() []v1beta2.StorageType {
	names := make([]v1beta2.StorageType, len(providers))
	for i, p := range providers {
		names[i] = p.name
	}
	return names
}

// OneOf names the supported storage types in a sentence: "S3 or GCS".
func OneOf() string {
	var text strings.Builder
	for i, p := range providers {
		switch {
		case i == 0:
		case i == len(providers)-1:
			text.WriteString(" or ")
		default:
			text.WriteString(", ")
		}
		text.WriteString(string(p.name))
	}
	return text.String()
}

func providerOf(name v1beta2.StorageType) (provider, bool) {
	i := slices.IndexFunc(providers, func(p provider) bool { return p.name == name })
	if i < 0 {
		return provider{}, false
	}
	return providers[i], true
}

package connect

import (
	"net"
	"net/url"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore/abs"
	"github.com/etcd-suite/etcd-operator/internal/objstore/s3"
)

// endpoints return what to write instead of an endpoint that has a part of the place of an object, and nothing if it has none.
var endpoints = map[v1beta2.StorageType]func(a Access, u *url.URL) string{
	v1beta2.StorageS3:  s3Endpoint,
	v1beta2.StorageGCS: gcsEndpoint,
	v1beta2.StorageABS: absEndpoint,
}

// aimed returns an error if the Scope limits the paths in the bucket, and the endpoint could lead to another object than Bucket and Key say. A
// store takes the path of an endpoint for a part of the object's name: in https://host/other-bucket, everything is in that bucket.
func (a Access) aimed() error {
	own := Ambient(a.Data)
	if a.Endpoint == "" || endpoints[a.Provider] == nil || !a.For.Limits(own, a.Bucket) {
		return nil
	}
	u, err := url.Parse(a.Endpoint)
	if err != nil {
		return a.For.RefuseEndpoint(own, "write the endpoint as https://host:port") // an error of url.Parse has the endpoint
	}
	if write := endpoints[a.Provider](a, u); write != "" {
		return a.For.RefuseEndpoint(own, write)
	}
	return nil
}

// pathless reports whether a URL has no path. Some servers take two slashes for one.
func pathless(u *url.URL) bool { return u.EscapedPath() == "" || u.EscapedPath() == "/" }

func s3Endpoint(a Access, u *url.URL) string {
	amazons, bucket := s3.Amazons(u.Hostname())
	switch {
	case !pathless(u):
		return "write s3.endpoint without a path, as https://host:port"
	case bucket:
		return "write s3.endpoint without a bucket in the name of the host, for example https://s3.eu-central-1.amazonaws.com"
	case !amazons && !a.ForcePathStyle && net.ParseIP(u.Hostname()) == nil:
		return "write forcePathStyle: true, because a store that does not know the name of the host takes the key's first part for the bucket"
	}
	return ""
}

func gcsEndpoint(_ Access, u *url.URL) string {
	switch {
	case !pathless(u):
		return "write gcs.endpoint without a path, as https://host:port"
	case strings.HasSuffix(strings.ToLower(strings.TrimRight(u.Hostname(), ".")), ".storage.googleapis.com"):
		return "write gcs.endpoint without a bucket in the name of the host, as https://storage.googleapis.com"
	}
	return ""
}

// absEndpoint accepts the account of the Secret as the path of a server that is not Azure's, such as an emulator.
func absEndpoint(a Access, u *url.URL) string {
	account := secretData(a.Data).text("storage-account")
	switch {
	case pathless(u):
		return ""
	case abs.Azures(u.Hostname()):
		return "write abs.endpoint without a path, as https://<account>.blob.core.windows.net"
	case account == "" || strings.TrimSuffix(u.EscapedPath(), "/") != "/"+account:
		return "write abs.endpoint without a path, or with the account of the Secret as the whole path, as https://host:port/<account>"
	}
	return ""
}

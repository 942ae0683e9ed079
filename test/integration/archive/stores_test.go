package archive_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// bucket is the name of the bucket in each store.
const bucket = "archive"

func inDirectory(t *testing.T) objstore.Store {
	t.Helper()
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func inS3(t *testing.T) objstore.Store {
	t.Helper()
	return openS3(t, servers.S3(t))
}

// openS3 creates the bucket and opens it.
func openS3(t *testing.T, server *servers.S3Server) objstore.Store {
	t.Helper()
	server.CreateBucket(t, bucket)
	return open(t, connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageS3, Bucket: bucket, Endpoint: server.Endpoint, Region: server.Region, ForcePathStyle: true},
		Data:     map[string][]byte{"access-key-id": []byte(server.AccessKey), "secret-access-key": []byte(server.SecretKey)},
	})
}

func inGCS(t *testing.T) objstore.Store {
	t.Helper()
	server := servers.GCS(t)
	server.CreateBucket(t, bucket)
	return open(t, connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageGCS, Bucket: bucket, Endpoint: server.Endpoint},
		Data:     map[string][]byte{"access-token": []byte("test")},
	})
}

func open(t *testing.T, access connect.Access) objstore.Store {
	t.Helper()
	store, err := connect.Open(t.Context(), access)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

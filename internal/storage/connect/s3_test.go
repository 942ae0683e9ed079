package connect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore/s3"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

func TestS3Config(t *testing.T) {
	for name, test := range map[string]struct {
		access Access
		want   s3.Config
	}{
		"no Secret means the ambient identity": {
			Access{Location: storage.Location{Bucket: "b", Region: "r"}},
			s3.Config{Bucket: "b", Region: "r"},
		},
		"the old files are handed on": {
			Access{Location: storage.Location{Bucket: "b", Endpoint: "http://e", ForcePathStyle: true}, Data: data("credentials", "[default]", "config", "[default]\nregion=x")},
			s3.Config{Bucket: "b", Endpoint: "http://e", ForcePathStyle: true, CredentialsFile: []byte("[default]"), ConfigFile: []byte("[default]\nregion=x")},
		},
		"plain keys lose the newline of an editor": {
			Access{Location: storage.Location{Bucket: "b"}, Data: data("access-key-id", "id\n", "secret-access-key", "key\n", "session-token", "t", "region", "r\n")},
			s3.Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "key", SessionToken: "t", Region: "r"},
		},
		"the names of the environment work too": {
			Access{Location: storage.Location{Bucket: "b"}, Data: data("AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "key", "AWS_SESSION_TOKEN", "t", "AWS_REGION", "r")},
			s3.Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "key", SessionToken: "t", Region: "r"},
		},
		"the spec's region wins": {
			Access{Location: storage.Location{Bucket: "b", Region: "spec"}, Data: data("access-key-id", "id", "secret-access-key", "key", "region", "secret")},
			s3.Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "key", Region: "spec"},
		},
		"a CA alone goes with the ambient identity": {
			Access{Location: storage.Location{Bucket: "b"}, Data: data("ca.crt", "pem", "region", "r", "age-identity", "AGE-SECRET-KEY-1")},
			s3.Config{Bucket: "b", Region: "r", CABundle: []byte("pem")},
		},
		"a customer's key comes along where it is asked for": {
			Access{Location: storage.Location{Bucket: "b", CustomerKey: true}, Data: data("sse-customer-key", "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n")},
			s3.Config{Bucket: "b", CustomerKey: []byte("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk")},
		},
		"a customer's key for an endpoint": {
			Access{Location: storage.Location{Bucket: "b", Endpoint: "https://e", CustomerKey: true}, Data: data("sse-customer-key", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", "endpoint", "https://e\n")},
			s3.Config{Bucket: "b", Endpoint: "https://e", CustomerKey: []byte("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"), KeysFor: "https://e"},
		},
		"and is left where it is not": {
			Access{Location: storage.Location{Bucket: "b"}, Data: data("sse-customer-key", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk")},
			s3.Config{Bucket: "b"},
		},
		"options are handed on": {
			Access{Location: storage.Location{Bucket: "b", Options: storage.Options{S3: v1beta2.S3Options{StorageClass: "GLACIER_IR"}}}},
			s3.Config{Bucket: "b", Options: s3.Options{StorageClass: "GLACIER_IR"}},
		},
		"a CA comes along": {
			Access{Location: storage.Location{Bucket: "b"}, Data: data("access-key-id", "id", "secret-access-key", "key", "ca.crt", "pem")},
			s3.Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "key", CABundle: []byte("pem")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s3Config(test.access)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config differs (-want +got):\n%s", diff)
			}
		})
	}
}

package integration

import (
	"fmt"
	"strings"
	"testing"
)

const (
	wantType     = "write S3 (Amazon S3 and whatever speaks its protocol) or GCS, in capital letters"
	wantFrom     = "spec: write either etcdCluster.name (a cluster of this operator) or etcdEndpoints (any other etcd), and not both"
	wantOneBlock = "spec: only the block that storageType names may be there: remove the others"
	wantMin0     = ": in body should be greater than or equal to 0"
)

func TestEtcdBackupIsRefused(t *testing.T) {
	const from = "etcdCluster: {name: example}"
	runRefused(t, "EtcdBackup", map[string]refused{
		"no spec":                    {spec: "", want: "spec: Required value"},
		"no storage type":            {spec: "{" + from + ", s3: {path: b/k}}", want: "spec.storageType: Required value"},
		"an empty storage type":      {spec: "{" + from + `, storageType: ""}`, want: "spec.storageType: " + wantType},
		"an unknown storage type":    {spec: "{" + from + ", storageType: Azure, s3: {path: b/k}}", want: "spec.storageType: " + wantType},
		"s3 in small letters":        {spec: "{" + from + ", storageType: s3, s3: {path: b/k}}", want: "spec.storageType: " + wantType},
		"a storage type without end": {spec: "{" + from + ", storageType: " + strings.Repeat("S", 65) + "}", want: "spec.storageType: may not be more than 64 bytes"},
		"S3 without its block":       {spec: "{" + from + ", storageType: S3}", want: `spec: storageType S3 needs an s3 block with path: "<bucket>/<key>"`},
		"GCS without its block":      {spec: "{" + from + ", storageType: GCS}", want: `spec: storageType GCS needs a gcs block with path: "<bucket>/<key>"`},
		"S3 with a gcs block, too":   {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, gcs: {path: b/k}}", want: wantOneBlock},
		"GCS with an s3 block, too":  {spec: "{" + from + ", storageType: GCS, s3: {path: b/k}, gcs: {path: b/k}}", want: wantOneBlock},
		"S3 with an abs block, too":  {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, abs: {path: b/k}}", want: wantOneBlock},
		"S3 with an oss block, too":  {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, oss: {path: b/k}}", want: wantOneBlock},
		"an s3 block without path":   {spec: "{" + from + ", storageType: S3, s3: {}}", want: "spec.s3.path: Required value"},
		"an empty s3 path":           {spec: "{" + from + `, storageType: S3, s3: {path: ""}}`, want: "spec.s3.path: in body should be at least 1 chars long"},
		"an s3 path without end":     {spec: "{" + from + ", storageType: S3, s3: {path: b/" + strings.Repeat("k", 1100) + "}}", want: "spec.s3.path: may not be more than 1100 bytes"},
		"a gcs block without path":   {spec: "{" + from + ", storageType: GCS, gcs: {}}", want: "spec.gcs.path: Required value"},
		"an empty gcs path":          {spec: "{" + from + `, storageType: GCS, gcs: {path: ""}}`, want: "spec.gcs.path: in body should be at least 1 chars long"},

		"both endpoints and cluster":      {spec: "{" + from + ", etcdEndpoints: [http://e:2379], storageType: S3, s3: {path: b/k}}", want: wantFrom},
		"neither endpoints nor cluster":   {spec: "{storageType: S3, s3: {path: b/k}}", want: wantFrom},
		"an empty list of endpoints":      {spec: "{etcdEndpoints: [], storageType: S3, s3: {path: b/k}}", want: wantFrom},
		"33 endpoints":                    {spec: "{etcdEndpoints: [" + strings.TrimSuffix(strings.Repeat("http://e:2379,", 33), ",") + "], storageType: S3, s3: {path: b/k}}", want: "spec.etcdEndpoints: must have at most 32 items"},
		"a cluster without a name":        {spec: "{etcdCluster: {}, storageType: S3, s3: {path: b/k}}", want: "spec.etcdCluster.name: Required value"},
		"a cluster with an empty name":    {spec: `{etcdCluster: {name: ""}, storageType: S3, s3: {path: b/k}}`, want: "spec.etcdCluster.name: in body should be at least 1 chars long"},
		"a cluster name that cannot be":   {spec: "{etcdCluster: {name: " + strings.Repeat("a", 53) + "}, storageType: S3, s3: {path: b/k}}", want: "spec.etcdCluster.name: may not be more than 52 bytes"},
		"a negative timeout":              {spec: policy(from, "timeoutInSecond: -1"), want: "spec.backupPolicy.timeoutInSecond" + wantMin0},
		"a negative interval":             {spec: policy(from, "backupIntervalInSecond: -1"), want: "spec.backupPolicy.backupIntervalInSecond" + wantMin0},
		"a negative number to keep":       {spec: policy(from, "maxBackups: -1"), want: "spec.backupPolicy.maxBackups" + wantMin0},
		"a number to keep that is no int": {spec: policy(from, "maxBackups: 1.5"), want: `spec.backupPolicy.maxBackups: in body must be of type integer: "number"`},
	})
}

func TestEtcdBackupIsAccepted(t *testing.T) {
	const from = "etcdCluster: {name: example}"
	runAccepted(t, "EtcdBackup", map[string]accepted{
		"S3 of a cluster":               {spec: "{" + from + ", storageType: S3, s3: {path: b/k}}"},
		"GCS of a cluster":              {spec: "{" + from + ", storageType: GCS, gcs: {path: b/k}}"},
		"S3 of endpoints":               {spec: "{etcdEndpoints: [http://e:2379], storageType: S3, s3: {path: b/k}}"},
		"32 endpoints":                  {spec: "{etcdEndpoints: [" + strings.TrimSuffix(strings.Repeat("http://e:2379,", 32), ",") + "], storageType: S3, s3: {path: b/k}}"},
		"a cluster and no endpoints":    {spec: "{" + from + ", etcdEndpoints: [], storageType: S3, s3: {path: b/k}}"},
		"ABS, to be told in the status": {spec: "{" + from + ", storageType: ABS, abs: {path: b/k, absSecret: s}}"},
		"OSS, to be told in the status": {spec: "{" + from + ", storageType: OSS, oss: {path: b/k, ossSecret: s, endpoint: http://oss}}"},
		"zeros in the policy":           {spec: policy(from, "timeoutInSecond: 0, backupIntervalInSecond: 0, maxBackups: 0")},
		"a name with a dot":             {name: "nightly.example", spec: "{" + from + ", storageType: S3, s3: {path: b/k}}"},
	})
}

func policy(from, fields string) string {
	return fmt.Sprintf("{%s, storageType: S3, s3: {path: b/k}, backupPolicy: {%s}}", from, fields)
}

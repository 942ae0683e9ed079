package integration

import (
	"fmt"
	"strings"
	"testing"
)

const (
	wantAccount  = "abs needs a storage account: write absSecret, a Secret with the key storage-account, or endpoint, its URL https://<account>.blob.core.windows.net"
	wantType     = "write S3 (Amazon S3 and every store that speaks its protocol), GCS or ABS, in capital letters"
	wantFrom     = "spec: exactly one source is required: write either etcdCluster.name (an EtcdCluster in this namespace) or etcdEndpoints (any other etcd)"
	wantOneBlock = "spec: only the block of the chosen storageType is allowed: remove the other storage blocks"
	wantMin0     = ": in body should be greater than or equal to 0"
)

func TestInvalidEtcdBackupIsRefused(t *testing.T) {
	const from = "etcdCluster: {name: example}"
	runRefused(t, "EtcdBackup", map[string]refused{
		"no spec":                         {spec: "", want: "spec: Required value"},
		"no storage type":                 {spec: "{" + from + ", s3: {path: b/k}}", want: "spec.storageType: Required value"},
		"an empty storage type":           {spec: "{" + from + `, storageType: ""}`, want: "spec.storageType: " + wantType},
		"an unknown storage type":         {spec: "{" + from + ", storageType: Azure, s3: {path: b/k}}", want: "spec.storageType: " + wantType},
		"s3 in lower case":                {spec: "{" + from + ", storageType: s3, s3: {path: b/k}}", want: "spec.storageType: " + wantType},
		"a storage type that is too long": {spec: "{" + from + ", storageType: " + strings.Repeat("S", 65) + "}", want: "spec.storageType: may not be more than 64 bytes"},
		"S3 without its block":            {spec: "{" + from + ", storageType: S3}", want: `spec: storageType S3 requires an s3 block: write s3.path: "<bucket>/<key>"`},
		"GCS without its block":           {spec: "{" + from + ", storageType: GCS}", want: `spec: storageType GCS requires a gcs block: write gcs.path: "<bucket>/<key>"`},
		"ABS without its block":           {spec: "{" + from + ", storageType: ABS}", want: `spec: storageType ABS requires an abs block: write abs.path: "<container>/<key>"`},
		"S3 with an additional gcs block": {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, gcs: {path: b/k}}", want: wantOneBlock},
		"GCS with an additional s3 block": {spec: "{" + from + ", storageType: GCS, s3: {path: b/k}, gcs: {path: b/k}}", want: wantOneBlock},
		"S3 with an additional abs block": {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, abs: {path: b/k, absSecret: s}}", want: wantOneBlock},
		"ABS without an account":          {spec: "{" + from + ", storageType: ABS, abs: {path: b/k}}", want: "spec.abs: Invalid value: " + wantAccount},
		"ABS without a path":              {spec: "{" + from + ", storageType: ABS, abs: {absSecret: s}}", want: "spec.abs.path"},
		"S3 with an additional oss block": {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, oss: {path: b/k}}", want: wantOneBlock},
		"an s3 block without path":        {spec: "{" + from + ", storageType: S3, s3: {}}", want: "spec.s3.path: Required value"},
		"an empty s3 path":                {spec: "{" + from + `, storageType: S3, s3: {path: ""}}`, want: "spec.s3.path: in body should be at least 1 chars long"},
		"an s3 path that is too long":     {spec: "{" + from + ", storageType: S3, s3: {path: b/" + strings.Repeat("k", 1100) + "}}", want: "spec.s3.path: may not be more than 1100 bytes"},
		"a gcs block without path":        {spec: "{" + from + ", storageType: GCS, gcs: {}}", want: "spec.gcs.path: Required value"},
		"an empty gcs path":               {spec: "{" + from + `, storageType: GCS, gcs: {path: ""}}`, want: "spec.gcs.path: in body should be at least 1 chars long"},

		"SSE-C without its Secret":                         {spec: s3With(from, "serverSideEncryption: {type: SSE-C}"), want: "spec.s3: serverSideEncryption SSE-C needs awsSecret, a Secret with the key sse-customer-key"},
		"a region that is no name":                         {spec: s3With(from, "region: 'eu.example.com/x'"), want: "spec.s3.region"},
		"SSE-C without TLS":                                {spec: s3With(from, "awsSecret: a, endpoint: 'http://e', serverSideEncryption: {type: SSE-C}"), want: "spec.s3: serverSideEncryption SSE-C sends its key with every request: write an https endpoint"},
		"an unknown server-side encryption":                {spec: s3With(from, "serverSideEncryption: {type: AES256}"), want: `spec.s3.serverSideEncryption.type: Unsupported value: "AES256": supported values: "SSE-S3", "SSE-KMS", "SSE-C"`},
		"a KMS key for SSE-S3":                             {spec: s3With(from, "serverSideEncryption: {type: SSE-S3, kmsKeyID: k}"), want: "spec.s3.serverSideEncryption: kmsKeyID requires type SSE-KMS"},
		"a storage class in lower case":                    {spec: s3With(from, "storageClass: glacier"), want: "spec.s3.storageClass: write the name of a storage class in capital letters, for example STANDARD_IA"},
		"an object lock without an end":                    {spec: s3With(from, "objectLock: {mode: GOVERNANCE}"), want: "spec.s3.objectLock: write either retainDays or retainUntil"},
		"an object lock with two ends":                     {spec: s3With(from, "objectLock: {mode: GOVERNANCE, retainDays: 1, retainUntil: '2030-01-01T00:00:00Z'}"), want: "spec.s3.objectLock: write either retainDays or retainUntil"},
		"an object lock without a mode":                    {spec: s3With(from, "objectLock: {retainDays: 1}"), want: "spec.s3.objectLock.mode: Required value"},
		"an object lock for 0 days":                        {spec: s3With(from, "objectLock: {mode: COMPLIANCE, retainDays: 0}"), want: "spec.s3.objectLock.retainDays: in body should be greater than or equal to 1"},
		"a tag without a name":                             {spec: s3With(from, "tags: {'': x}"), want: "spec.s3.tags: a tag has a key of 1 to 128 characters and a value of at most 256"},
		"a GCS key without its full name":                  {spec: "{" + from + ", storageType: GCS, gcs: {path: b/k, kmsKeyName: key}}", want: "spec.gcs.kmsKeyName: write projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>"},
		"a GCS storage class in lower case":                {spec: "{" + from + ", storageType: GCS, gcs: {path: b/k, storageClass: nearline}}", want: "spec.gcs.storageClass: write the name of a storage class in capital letters, for example NEARLINE"},
		"an unknown compression":                           {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, compression: gzip}", want: `spec.compression: Unsupported value: "gzip": supported values: "zstd"`},
		"an encryption without recipients":                 {spec: encrypted(from, ""), want: "spec.encryption.age.recipients: in body should have at least 1 items"},
		"the sample key of age's documentation":            {spec: encrypted(from, "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"), want: "spec.encryption.age.recipients: age1ql3z7... is the sample key of age's documentation. You could not decrypt the snapshots. Create a key pair with age-keygen, and write its public key"},
		"a placeholder in place of a bucket":               {spec: "{" + from + ", storageType: S3, s3: {path: <bucket>/k}}", want: "spec.s3.path: replace the placeholder in <> by the name of your bucket"},
		"a URL in place of a path":                         {spec: "{" + from + ", storageType: S3, s3: {path: 's3://b/k'}}", want: "spec.s3.path: write <bucket>/<key>, without s3:// or another scheme and without a slash before the bucket; its name has letters, digits, hyphens, underscores and dots"},
		"a path that begins with a slash":                  {spec: "{" + from + ", storageType: GCS, gcs: {path: /b/k}}", want: "spec.gcs.path: write <bucket>/<key>, without s3:// or another scheme and without a slash before the bucket; its name has letters, digits, hyphens, underscores and dots"},
		"a path with two dots":                             {spec: "{" + from + ", storageType: ABS, abs: {path: b/../k, absSecret: s}}", want: "spec.abs.path: the path is taken literally: write it without the segments . and .. between slashes"},
		"an endpoint without a scheme":                     {spec: "{" + from + ", storageType: S3, s3: {path: b/k, endpoint: 'minio:9000'}}", want: "spec.s3.endpoint: write the URL of the store with its scheme, https://host or https://host:port, without user, password and query"},
		"an endpoint with a password":                      {spec: "{" + from + ", storageType: ABS, abs: {path: b/k, endpoint: 'https://a:b@host'}}", want: "spec.abs.endpoint: write the URL of the store with its scheme, https://host or https://host:port, without user, password and query"},
		"an endpoint with a query":                         {spec: "{" + from + ", storageType: GCS, gcs: {path: b/k, endpoint: 'https://host?x=1'}}", want: "spec.gcs.endpoint: write the URL of the store with its scheme, https://host or https://host:port, without user, password and query"},
		"a path that is one dot":                           {spec: "{" + from + ", storageType: S3, s3: {path: b/.}}", want: "spec.s3.path: the path is taken literally: write it without the segments . and .. between slashes"},
		"an archive in a store without conditional writes": {spec: "{" + from + ", storageType: S3, s3: {path: b/k, checkBeforeWrite: true}, backupPolicy: {backupIntervalInSecond: 60}, continuous: {}}", want: "spec: continuous requires a store with conditional writes, by which two archivers recognise each other: remove continuous, or remove s3.checkBeforeWrite"},
		"a recipient that is not a key":                    {spec: encrypted(from, "alice"), want: "spec.encryption.age.recipients: write X25519 recipients, age1 and 58 more characters, as age-keygen prints them; an identity (AGE-SECRET-KEY-1...) belongs into a Secret"},
		"an identity as a recipient":                       {spec: encrypted(from, "AGE-SECRET-KEY-1"+strings.Repeat("Q", 58)), want: "spec.encryption.age.recipients: write X25519 recipients, age1 and 58 more characters, as age-keygen prints them; an identity (AGE-SECRET-KEY-1...) belongs into a Secret"},

		"a second location of a one-shot":             {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, copyTo: {storageType: S3, s3: {path: c/k}}}", want: "spec: copyTo requires a series: write backupPolicy.schedule or backupPolicy.backupIntervalInSecond, or remove copyTo and apply another EtcdBackup for the other location"},
		"a second location without a block":           {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, backupPolicy: {schedule: '@daily'}, copyTo: {storageType: GCS}}", want: "spec.copyTo: storageType GCS requires a gcs block: write copyTo.gcs.path: \"<bucket>/<key>\""},
		"S3 as a second location without s3":          {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, backupPolicy: {schedule: '@daily'}, copyTo: {storageType: S3}}", want: "spec.copyTo: storageType S3 requires an s3 block: write copyTo.s3.path: \"<bucket>/<key>\""},
		"ABS as a second location without abs":        {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, backupPolicy: {schedule: '@daily'}, copyTo: {storageType: ABS}}", want: "spec.copyTo: storageType ABS requires an abs block: write copyTo.abs.path: \"<container>/<key>\""},
		"an upload limit that is too low":             {spec: policy(from, "maxBytesPerSecond: 1000"), want: "spec.backupPolicy.maxBytesPerSecond: maxBytesPerSecond is too low for any snapshot: write at least 1048576, or 0 for no limit"},
		"a time limit of more than a day":             {spec: policy(from, "timeoutInSecond: 86401"), want: "spec.backupPolicy.timeoutInSecond: timeoutInSecond is longer than a day: write at most 86400"},
		"an archive of a one-shot":                    {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, continuous: {}}", want: "spec: continuous requires a series: write backupPolicy.schedule or backupPolicy.backupIntervalInSecond, or remove continuous"},
		"an archive with a maxLag of 5 ms":            {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, backupPolicy: {schedule: '@daily'}, continuous: {maxLag: 5ms}}", want: "spec.continuous.maxLag: maxLag must be 1s to 10m: write for example \"5s\""},
		"an archive with a window of 5 minutes":       {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, backupPolicy: {schedule: '@daily'}, continuous: {window: 5m}}", want: "spec.continuous.window: window must be at least 1h: write for example \"168h\""},
		"a final snapshot of a one-shot":              {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, finalSnapshot: true}", want: "spec: finalSnapshot requires a series: write backupPolicy.schedule or backupPolicy.backupIntervalInSecond, or remove finalSnapshot"},
		"a final snapshot with deletionPolicy Delete": {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, backupPolicy: {schedule: '@daily'}, finalSnapshot: true, deletionPolicy: Delete}", want: "spec: finalSnapshot and deletionPolicy Delete exclude each other, because Delete removes the final snapshot, too: remove one of them"},

		"both endpoints and cluster":          {spec: "{" + from + ", etcdEndpoints: [http://e:2379], storageType: S3, s3: {path: b/k}}", want: wantFrom},
		"neither endpoints nor cluster":       {spec: "{storageType: S3, s3: {path: b/k}}", want: wantFrom},
		"an empty list of endpoints":          {spec: "{etcdEndpoints: [], storageType: S3, s3: {path: b/k}}", want: wantFrom},
		"33 endpoints":                        {spec: "{etcdEndpoints: [" + strings.TrimSuffix(strings.Repeat("http://e:2379,", 33), ",") + "], storageType: S3, s3: {path: b/k}}", want: "spec.etcdEndpoints: must have at most 32 items"},
		"a cluster without a name":            {spec: "{etcdCluster: {}, storageType: S3, s3: {path: b/k}}", want: "spec.etcdCluster.name: Required value"},
		"a cluster with an empty name":        {spec: `{etcdCluster: {name: ""}, storageType: S3, s3: {path: b/k}}`, want: "spec.etcdCluster.name: in body should be at least 1 chars long"},
		"a cluster name of 53 characters":     {spec: "{etcdCluster: {name: " + strings.Repeat("a", 53) + "}, storageType: S3, s3: {path: b/k}}", want: "spec.etcdCluster.name: may not be more than 52 bytes"},
		"a negative timeout":                  {spec: policy(from, "timeoutInSecond: -1"), want: "spec.backupPolicy.timeoutInSecond" + wantMin0},
		"a negative interval":                 {spec: policy(from, "backupIntervalInSecond: -1"), want: "spec.backupPolicy.backupIntervalInSecond" + wantMin0},
		"a negative maxBackups":               {spec: policy(from, "maxBackups: -1"), want: "spec.backupPolicy.maxBackups" + wantMin0},
		"a maxBackups that is not an integer": {spec: policy(from, "maxBackups: 1.5"), want: `spec.backupPolicy.maxBackups: in body must be of type integer: "number"`},
	})
}

func TestValidEtcdBackupIsAccepted(t *testing.T) {
	const from = "etcdCluster: {name: example}"
	runAccepted(t, "EtcdBackup", map[string]accepted{
		"S3 of a cluster":            {spec: "{" + from + ", storageType: S3, s3: {path: b/k}}"},
		"GCS of a cluster":           {spec: "{" + from + ", storageType: GCS, gcs: {path: b/k}}"},
		"S3 of endpoints":            {spec: "{etcdEndpoints: [http://e:2379], storageType: S3, s3: {path: b/k}}"},
		"32 endpoints":               {spec: "{etcdEndpoints: [" + strings.TrimSuffix(strings.Repeat("http://e:2379,", 32), ",") + "], storageType: S3, s3: {path: b/k}}"},
		"a cluster and no endpoints": {spec: "{" + from + ", etcdEndpoints: [], storageType: S3, s3: {path: b/k}}"},
		"ABS":                        {spec: "{" + from + ", storageType: ABS, abs: {path: b/k, absSecret: s}}"},
		"ABS without a Secret":       {spec: "{" + from + ", storageType: ABS, abs: {path: b/k, endpoint: 'https://example.blob.core.windows.net'}}"},
		"OSS, which the operator refuses in the status": {spec: "{" + from + ", storageType: OSS, oss: {path: b/k, ossSecret: s, endpoint: http://oss}}"},
		"zeros in backupPolicy":                         {spec: policy(from, "timeoutInSecond: 0, backupIntervalInSecond: 0, maxBackups: 0")},
		"all options of S3":                             {spec: s3With(from, "awsSecret: a, serverSideEncryption: {type: SSE-KMS, kmsKeyID: alias/k}, storageClass: STANDARD_IA, objectLock: {mode: COMPLIANCE, retainDays: 30}, tags: {team: etcd}")},
		"SSE-C":                                         {spec: s3With(from, "awsSecret: a, endpoint: 'https://e', serverSideEncryption: {type: SSE-C}")},
		"a store without conditional writes":            {spec: s3With(from, "checkBeforeWrite: true")},
		"an endpoint with a path":                       {spec: s3With(from, "endpoint: 'HTTP://minio.example:9000/s3/'")},
		"dots within a path":                            {spec: "{" + from + ", storageType: S3, s3: {path: my.bucket/..a/b../c.d}}"},
		"all options of GCS":                            {spec: "{" + from + ", storageType: GCS, gcs: {path: b/k, kmsKeyName: projects/p/locations/l/keyRings/r/cryptoKeys/k, storageClass: NEARLINE}}"},
		"compressed and encrypted":                      {spec: encrypted(from, "age1"+strings.Repeat("q", 58))},
		"a second location":                             {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, backupPolicy: {schedule: '@daily'}, copyTo: {storageType: GCS, gcs: {path: c/k, gcpSecret: gcs}}}"},
		"a final snapshot":                              {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, backupPolicy: {backupIntervalInSecond: 60}, finalSnapshot: true}"},
		"a name with a dot":                             {name: "nightly.example", spec: "{" + from + ", storageType: S3, s3: {path: b/k}}"},
	})
}

func s3With(from, fields string) string {
	return fmt.Sprintf("{%s, storageType: S3, s3: {path: b/k, %s}}", from, fields)
}

func encrypted(from, recipient string) string {
	return fmt.Sprintf("{%s, storageType: S3, s3: {path: b/k}, compression: zstd, encryption: {age: {recipients: [%s]}}}", from, recipient)
}

func policy(from, fields string) string {
	return fmt.Sprintf("{%s, storageType: S3, s3: {path: b/k}, backupPolicy: {%s}}", from, fields)
}

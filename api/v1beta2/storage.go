package v1beta2

// StorageType is the provider of an object store.
//
// It is not an enum, because the message of an enum would offer OSS.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self in ['S3', 'GCS', 'ABS', 'OSS']",message="write S3 (Amazon S3 and every store that speaks its protocol), GCS or ABS, in capital letters"
type StorageType string

// The storage types of coreos/etcd-operator. The API accepts OSS so that old manifests apply. The operators refuse it
// in the status, with what to write instead.
const (
	StorageS3  StorageType = "S3"
	StorageGCS StorageType = "GCS"
	StorageABS StorageType = "ABS"
	StorageOSS StorageType = "OSS"
)

// Storage is the location of snapshots. EtcdBackup and EtcdRestore share these fields.
type Storage struct {
	// The location in Amazon S3, or in a store that speaks its protocol. Required for storage type S3.
	// +optional
	S3 *S3Source `json:"s3,omitempty"`
	// The location in Google Cloud Storage. Required for storage type GCS.
	// +optional
	GCS *GCSSource `json:"gcs,omitempty"`
	// The location in Azure Blob Storage. Required for storage type ABS.
	// +optional
	ABS *ABSSource `json:"abs,omitempty"`
	// Not supported. The API accepts this block of coreos/etcd-operator so that old manifests apply. Alibaba Cloud OSS
	// speaks the S3 protocol: write storage type S3 and an s3 block with an endpoint.
	// +optional
	OSS *OSSSource `json:"oss,omitempty"`
}

// S3Source is a location in S3 or a compatible store.
//
// +kubebuilder:validation:XValidation:rule="!has(self.serverSideEncryption) || self.serverSideEncryption.type != 'SSE-C' || has(self.awsSecret) && self.awsSecret.size() > 0",message="serverSideEncryption SSE-C needs awsSecret, a Secret with the key sse-customer-key"
// +kubebuilder:validation:XValidation:rule="!has(self.serverSideEncryption) || self.serverSideEncryption.type != 'SSE-C' || !has(self.endpoint) || !self.endpoint.startsWith('http:')",message="serverSideEncryption SSE-C sends its key with every request: write an https endpoint"
type S3Source struct {
	// The path "<bucket>/<key>" of the snapshot, taken literally. For a schedule, the key is the folder of the series.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1100
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('<')",message="replace the placeholder in <> by the name of your bucket"
	// +kubebuilder:validation:XValidation:rule="self == '' || self.startsWith('<') || self.matches('^[A-Za-z0-9._-]+(/|$)')",message="write <bucket>/<key>, without s3:// or another scheme and without a slash before the bucket; its name has letters, digits, hyphens, underscores and dots"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="the path is taken literally: write it without the segments . and .. between slashes"
	Path string `json:"path"`
	// The name of a Secret with the credentials. Its keys are "credentials" and "config" in the formats of the AWS command
	// line. It may have access-key-id, secret-access-key, session-token and region instead; the last two are optional.
	// The Secret may also have ca.crt (the CA of the endpoint's certificate), sse-customer-key (32 bytes, or their base64)
	// and age-identity (decrypts snapshots). Its key endpoint lists the URLs beside Amazon S3 for which its keys may be used. Without it,
	// sse-customer-key is sent to Amazon S3 only, and the others sign for each endpoint that the administrator does not exclude.
	// Default: the ambient identity of the operator, if the administrator allows it to the namespace. It is also used if the
	// Secret has no credentials.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	AWSSecret string `json:"awsSecret,omitempty"`
	// The URL of an S3-compatible store, for example "https://s3.example.com:9000". Default: Amazon S3.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('(?i)^https?://[^/?#@ ]+(/[^?#]*)?$')",message="write the URL of the store with its scheme, https://host or https://host:port, without user, password and query"
	Endpoint string `json:"endpoint,omitempty"`
	// Whether requests have the bucket in the path instead of the host name. Most compatible stores need it. Default: false.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`
	// The region of the bucket. Default: that of the Secret's "config", then of the environment, then us-east-1.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]*$`
	Region string `json:"region,omitempty"`

	S3Options `json:",inline"`
}

// GCSSource is a location in Google Cloud Storage.
type GCSSource struct {
	// The path "<bucket>/<key>" of the snapshot, taken literally. For a schedule, the key is the folder of the series.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1100
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('<')",message="replace the placeholder in <> by the name of your bucket"
	// +kubebuilder:validation:XValidation:rule="self == '' || self.startsWith('<') || self.matches('^[A-Za-z0-9._-]+(/|$)')",message="write <bucket>/<key>, without s3:// or another scheme and without a slash before the bucket; its name has letters, digits, hyphens, underscores and dots"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="the path is taken literally: write it without the segments . and .. between slashes"
	Path string `json:"path"`
	// The name of a Secret with either the key "credentials.json" or "access-token". The Secret may also have
	// age-identity (decrypts snapshots). Default: the ambient identity of the operator, if the administrator allows it to the
	// namespace. It is also used if the Secret has no credentials.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	GCPSecret string `json:"gcpSecret,omitempty"`
	// The URL of a server that speaks the JSON API, for example of an emulator: "http://fake-gcs:4443".
	// Credentials are sent to Google's hosts only, over https://. Those of the Secret are also sent to an endpoint with
	// https:// that the key "endpoint" of the Secret names. Default: Google.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('(?i)^https?://[^/?#@ ]+(/[^?#]*)?$')",message="write the URL of the store with its scheme, https://host or https://host:port, without user, password and query"
	Endpoint string `json:"endpoint,omitempty"`

	GCSOptions `json:",inline"`
}

// ABSSource is a location in Azure Blob Storage.
//
// +kubebuilder:validation:XValidation:rule="has(self.endpoint) && self.endpoint.size() > 0 || has(self.absSecret) && self.absSecret.size() > 0",message="abs needs a storage account: write absSecret, a Secret with the key storage-account, or endpoint, its URL https://<account>.blob.core.windows.net"
type ABSSource struct {
	// The path "<container>/<key>" of the snapshot, taken literally. For a schedule, the key is the folder of the series.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1100
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('<')",message="replace the placeholder in <> by the name of your container"
	// +kubebuilder:validation:XValidation:rule="self == '' || self.startsWith('<') || self.matches('^[A-Za-z0-9._-]+(/|$)')",message="write <container>/<key>, without s3:// or another scheme and without a slash before the container; its name has letters, digits, hyphens, underscores and dots"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="the path is taken literally: write it without the segments . and .. between slashes"
	Path string `json:"path"`
	// The name of a Secret with the keys storage-account and storage-key, and optionally cloud (AzurePublicCloud,
	// AzureChinaCloud or AzureUSGovernmentCloud; default AzurePublicCloud). The Secret may also have age-identity
	// (decrypts snapshots), and endpoint, the URLs beside Azure for which storage-key may sign. Without storage-key, or without a Secret, the ambient identity of the operator is used, if the
	// administrator allows it to the namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ABSSecret string `json:"absSecret,omitempty"`
	// The URL of the account's blob service, for example "https://example.blob.core.windows.net", or of an emulator:
	// "http://azurite:10000/example". Default: that of the account in absSecret.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('(?i)^https?://[^/?#@ ]+(/[^?#]*)?$')",message="write the URL of the store with its scheme, https://host or https://host:port, without user, password and query"
	Endpoint string `json:"endpoint,omitempty"`
}

// OSSSource is a location in Alibaba Cloud OSS, in the fields of coreos/etcd-operator. It is not supported.
type OSSSource struct {
	// Not supported. The path "<bucket>/<key>" of the snapshot.
	// +optional
	Path string `json:"path,omitempty"`
	// Not supported. The name of a Secret with the access key.
	// +optional
	OSSSecret string `json:"ossSecret,omitempty"`
	// Not supported. The URL of the OSS region.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// ClusterReference names an EtcdCluster in the same namespace.
type ClusterReference struct {
	// The name of the EtcdCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	Name string `json:"name"`
}

// BackupReference names an EtcdBackup in the same namespace.
type BackupReference struct {
	// The name of the EtcdBackup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// The snapshot to restore: its path "<bucket>/<key>" as in the EtcdBackup's status, its key, or the last part of its
	// key. Default: the newest snapshot.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1100
	Snapshot string `json:"snapshot,omitempty"`
}

// RestoreSource is one exact object and how to reach it.
//
// cluster-operator passes it to the seed. restore-operator has verified the object with exactly these settings.
type RestoreSource struct {
	// Kind of object store: S3, GCS or ABS.
	StorageType StorageType `json:"storageType"`
	// Bucket of the object.
	Bucket string `json:"bucket"`
	// Key of the object in its bucket.
	Key string `json:"key"`
	// URL of the store. An empty value means the cloud provider's own.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// Region of the bucket.
	// +optional
	Region string `json:"region,omitempty"`
	// Whether requests have the bucket in the path instead of the host name.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`
	// Whether the object is encrypted with the key sse-customer-key of the Secret (SSE-C).
	// +optional
	CustomerKey bool `json:"customerKey,omitempty"`
	// Name of the Secret with the credentials, in the namespace of the EtcdRestore. An empty value means the identity
	// of the Pod's service account.
	// +optional
	Secret string `json:"secret,omitempty"`
}

package v1beta2

// StorageType names a kind of object store.
//
// It is no enum, because the message of an enum would offer all four.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self in ['S3', 'GCS', 'ABS', 'OSS']",message="write S3 (Amazon S3 and whatever speaks its protocol) or GCS, in capital letters"
type StorageType string

// The storage types of coreos/etcd-operator. ABS and OSS are accepted, so that old manifests apply, and refused
// in the status with what to write instead.
const (
	StorageS3  StorageType = "S3"
	StorageGCS StorageType = "GCS"
	StorageABS StorageType = "ABS"
	StorageOSS StorageType = "OSS"
)

// Storage is where snapshots are, in the fields that EtcdBackup and EtcdRestore share.
type Storage struct {
	// s3 names a place in Amazon S3 or a store that speaks its protocol.
	// +optional
	S3 *S3Source `json:"s3,omitempty"`
	// gcs names a place in Google Cloud Storage.
	// +optional
	GCS *GCSSource `json:"gcs,omitempty"`
	// abs named a place in Azure Blob Storage. Accepted so that old manifests apply; not supported.
	// +optional
	ABS *ABSSource `json:"abs,omitempty"`
	// oss named a place in Alibaba Cloud OSS. Accepted so that old manifests apply; OSS speaks the S3 protocol: write s3 with an endpoint.
	// +optional
	OSS *OSSSource `json:"oss,omitempty"`
}

// S3Source is a place in S3 or a compatible store.
//
// +kubebuilder:validation:XValidation:rule="!has(self.serverSideEncryption) || self.serverSideEncryption.type != 'SSE-C' || has(self.awsSecret) && self.awsSecret.size() > 0",message="serverSideEncryption SSE-C needs awsSecret, a Secret with the key sse-customer-key"
// +kubebuilder:validation:XValidation:rule="!has(self.serverSideEncryption) || self.serverSideEncryption.type != 'SSE-C' || !has(self.endpoint) || !self.endpoint.startsWith('http:')",message="serverSideEncryption SSE-C sends its key with every request: write an https endpoint"
type S3Source struct {
	// path is "<bucket>/<key>", taken literally. For a schedule the key is the folder of the series.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1100
	Path string `json:"path"`
	// awsSecret names a Secret with "credentials" and "config" in the formats of the AWS command line, or with
	// access-key-id, secret-access-key and optionally session-token and region. Without it, or without any of these in
	// it, the ambient identity is used. The Secret may also hold ca.crt (the authority of the endpoint's certificate),
	// sse-customer-key (32 bytes, or their base64) and age-identity (to read what was encrypted).
	// +optional
	// +kubebuilder:validation:MaxLength=253
	AWSSecret string `json:"awsSecret,omitempty"`
	// endpoint of an S3-compatible store, for example "https://s3.example.com:9000". Empty means Amazon S3.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Endpoint string `json:"endpoint,omitempty"`
	// forcePathStyle puts the bucket in the path instead of the host name; most compatible stores need it.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`
	// region of the bucket. Without it the Secret's "config", then the environment, then us-east-1.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	S3Options `json:",inline"`
}

// GCSSource is a place in Google Cloud Storage.
type GCSSource struct {
	// path is "<bucket>/<key>", taken literally. For a schedule the key is the folder of the series.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1100
	Path string `json:"path"`
	// gcpSecret names a Secret with either "credentials.json" or "access-token". Without it, or without either in it,
	// the ambient identity is used. The Secret may also hold age-identity (to read what was encrypted).
	// +optional
	// +kubebuilder:validation:MaxLength=253
	GCPSecret string `json:"gcpSecret,omitempty"`
	// endpoint of a server that speaks the JSON API, for example an emulator: "http://fake-gcs:4443". Empty means Google.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Endpoint string `json:"endpoint,omitempty"`

	GCSOptions `json:",inline"`
}

// ABSSource was a place in Azure Blob Storage.
type ABSSource struct {
	// path was "<container>/<key>".
	// +optional
	Path string `json:"path,omitempty"`
	// absSecret named the Secret with the account.
	// +optional
	ABSSecret string `json:"absSecret,omitempty"`
}

// OSSSource was a place in Alibaba Cloud OSS.
type OSSSource struct {
	// path was "<bucket>/<key>".
	// +optional
	Path string `json:"path,omitempty"`
	// ossSecret named the Secret with the access key.
	// +optional
	OSSSecret string `json:"ossSecret,omitempty"`
	// endpoint of the OSS region.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// ClusterReference names an EtcdCluster in the same namespace.
type ClusterReference struct {
	// name of the EtcdCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	Name string `json:"name"`
}

// BackupReference names an EtcdBackup in the same namespace.
type BackupReference struct {
	// name of the EtcdBackup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// snapshot of the EtcdBackup: its path "<bucket>/<key>" as the EtcdBackup's status tells it, its key, or the last
	// part of its key. Without it the newest.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1100
	Snapshot string `json:"snapshot,omitempty"`
}

// Snapshot is what was proven of one snapshot object.
type Snapshot struct {
	// path is "<bucket>/<key>" of the object.
	Path string `json:"path"`
	// revision of etcd that the snapshot holds.
	Revision int64 `json:"revision"`
	// keys is the number of live keys in the snapshot, as etcdutl 3.7 counts them.
	// +optional
	Keys int64 `json:"keys,omitempty"`
	// size of the object in bytes.
	Size int64 `json:"size"`
	// plainSize is that of the snapshot inside of a compressed or encrypted object, in bytes; 0 where it is the object.
	// +optional
	PlainSize int64 `json:"plainSize,omitempty"`
	// sha256 of the object, 64 hex digits.
	SHA256 string `json:"sha256"`
	// etcdVersion of the member that the snapshot was taken from; empty where the object does not say.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// storageVersion of the database, "3.6.0" or newer; empty for older ones, which do not say.
	// +optional
	StorageVersion string `json:"storageVersion,omitempty"`
	// clusterID of the cluster that the snapshot was taken from, 16 hex digits; empty where the object does not say.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// createdAt is when the snapshot was taken, RFC 3339, UTC; empty where the object does not say.
	// +optional
	CreatedAt string `json:"createdAt,omitempty"`
	// noQuorum: no quorum stood behind the member that it was taken from, so that it may lack what was confirmed to
	// clients, or hold what never was.
	// +optional
	NoQuorum bool `json:"noQuorum,omitempty"`
	// Result of the last restore test of this snapshot: Passed or Failed. It is empty if the snapshot was not tested.
	// +optional
	RestoreTest DrillResult `json:"restoreTest,omitempty"`
}

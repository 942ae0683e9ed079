package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Keys of the Secrets that awsSecret and gcpSecret name, beside those with the credentials.
const (
	// CAKey holds the authority of the store's certificate, PEM.
	CAKey = "ca.crt"
	// SSECustomerKeyKey holds the key of SSE-C: 32 bytes, or their base64.
	SSECustomerKeyKey = "sse-customer-key"
	// AgeIdentityKey holds the age identities that decrypt snapshots, as age-keygen prints them.
	AgeIdentityKey = "age-identity"
)

// S3Options say how S3 keeps an object. All but SSE-C are for writing and have no place in an EtcdRestore.
type S3Options struct {
	// serverSideEncryption by the store. Without it the bucket's own setting counts.
	// +optional
	ServerSideEncryption *S3Encryption `json:"serverSideEncryption,omitempty"`
	// storageClass of the objects, for example "STANDARD_IA". Without it the store's default.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z0-9_]*$')",message="write the name of a storage class in capital letters, for example STANDARD_IA"
	StorageClass string `json:"storageClass,omitempty"`
	// objectLock keeps the objects from being removed by anybody before its date. The bucket must have been made for it.
	// +optional
	ObjectLock *S3ObjectLock `json:"objectLock,omitempty"`
	// tags of the objects; at most 10.
	// +optional
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag has a key of 1 to 128 characters and a value of at most 256"
	Tags map[string]string `json:"tags,omitempty"`
}

// CustomerKey says whether objects are encrypted by a key of the user's (SSE-C), which reading needs, too.
func (o S3Options) CustomerKey() bool {
	return o.ServerSideEncryption != nil && o.ServerSideEncryption.Type == SSEC
}

// S3EncryptionType names who has the key.
//
// +kubebuilder:validation:Enum=SSE-S3;SSE-KMS;SSE-C
type S3EncryptionType string

// The kinds of server-side encryption.
const (
	SSES3  S3EncryptionType = "SSE-S3"
	SSEKMS S3EncryptionType = "SSE-KMS"
	SSEC   S3EncryptionType = "SSE-C"
)

// S3Encryption is the encryption that the store does.
//
// +kubebuilder:validation:XValidation:rule="!has(self.kmsKeyID) || self.kmsKeyID.size() == 0 || self.type == 'SSE-KMS'",message="kmsKeyID goes with type SSE-KMS"
type S3Encryption struct {
	// type: SSE-S3 (the store's own key), SSE-KMS (a key of its key management) or SSE-C (the key sse-customer-key of
	// awsSecret, which is needed to restore, too).
	// +required
	Type S3EncryptionType `json:"type"`
	// kmsKeyID of SSE-KMS: a key's ID, ARN or alias. Without it the account's default key.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	KMSKeyID string `json:"kmsKeyID,omitempty"`
}

// S3LockMode says who may lift a lock.
//
// +kubebuilder:validation:Enum=GOVERNANCE;COMPLIANCE
type S3LockMode string

// S3ObjectLock is for how long nobody can remove an object.
//
// +kubebuilder:validation:XValidation:rule="has(self.retainDays) != has(self.retainUntil)",message="write either retainDays or retainUntil"
type S3ObjectLock struct {
	// mode: GOVERNANCE (whoever has s3:BypassGovernanceRetention may still remove it) or COMPLIANCE (nobody may).
	// +required
	Mode S3LockMode `json:"mode"`
	// retainDays from the writing of each object.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=36500
	RetainDays *int32 `json:"retainDays,omitempty"`
	// retainUntil is a date for all objects.
	// +optional
	RetainUntil *metav1.Time `json:"retainUntil,omitempty"`
}

// GCSOptions say how GCS keeps an object. They are for writing and have no place in an EtcdRestore.
type GCSOptions struct {
	// kmsKeyName of the key that encrypts the objects (CMEK). Without it the bucket's own setting counts.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$')",message="write projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>"
	KMSKeyName string `json:"kmsKeyName,omitempty"`
	// storageClass of the objects, for example "NEARLINE". Without it the bucket's default.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z0-9_]*$')",message="write the name of a storage class in capital letters, for example NEARLINE"
	StorageClass string `json:"storageClass,omitempty"`
}

// Compression names an algorithm.
//
// +kubebuilder:validation:Enum=zstd
type Compression string

// CompressionZstd is RFC 8878.
const CompressionZstd Compression = "zstd"

// Encryption is done here, before the bytes leave: the store never sees a key.
type Encryption struct {
	// age encrypts for the holders of age identities (age-encryption.org).
	// +required
	Age AgeEncryption `json:"age"`
}

// AgeEncryption says who can read.
type AgeEncryption struct {
	// recipients, each of whom can decrypt alone: X25519 public keys, "age1…", as age-keygen prints them.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.matches('^age1[02-9ac-hj-np-z]{58}$'))",message="write X25519 recipients, age1 and 58 more characters, as age-keygen prints them; an identity (AGE-SECRET-KEY-1...) belongs into a Secret"
	Recipients []string `json:"recipients"`
}

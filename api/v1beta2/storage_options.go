package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Keys of the Secrets that awsSecret, gcpSecret and absSecret name, apart from those with the credentials.
const (
	// CAKey holds the CA of the store's certificate, PEM.
	CAKey = "ca.crt"
	// SSECustomerKeyKey holds the key of SSE-C: 32 bytes, or their base64.
	SSECustomerKeyKey = "sse-customer-key"
	// AgeIdentityKey holds the age identities that decrypt snapshots, as age-keygen prints them.
	AgeIdentityKey = "age-identity"
)

// Keys of the Secret that spec.signing of an EtcdBackup names.
const (
	// SigningKeyKey holds the private key, Ed25519 in PEM (PKCS#8).
	SigningKeyKey = "signing-key"
	// EarlierPublicKeysKey holds the public keys of earlier private keys, in PEM.
	EarlierPublicKeysKey = "earlier-public-keys"
)

// S3Options say how S3 keeps an object. All but SSE-C are for writing, and an EtcdRestore refuses them.
type S3Options struct {
	// The encryption that the store does. Default: the bucket's own setting.
	// +optional
	ServerSideEncryption *S3Encryption `json:"serverSideEncryption,omitempty"`
	// The storage class of the objects, for example "STANDARD_IA". Default: the store's own.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z0-9_]*$')",message="write the name of a storage class in capital letters, for example STANDARD_IA"
	StorageClass string `json:"storageClass,omitempty"`
	// A lock that prevents the removal of the objects before a date. The bucket must have been created with object lock.
	// Default: the bucket's own setting.
	// +optional
	ObjectLock *S3ObjectLock `json:"objectLock,omitempty"`
	// The tags of the objects, at most 10. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag has a key of 1 to 128 characters and a value of at most 256"
	Tags map[string]string `json:"tags,omitempty"`
	// Whether the operator asks if an object exists before it writes it, because the store has no conditional writes
	// (If-None-Match). If two writers write an object at the same time, the later one then replaces that of the earlier one.
	// So only one EtcdBackup may write to a path. It cannot be used with continuous. Default: false.
	// +optional
	CheckBeforeWrite bool `json:"checkBeforeWrite,omitempty"`
}

// CustomerKey reports whether a key of the user encrypts the objects (SSE-C). Reading needs that key, too.
func (o S3Options) CustomerKey() bool {
	return o.ServerSideEncryption != nil && o.ServerSideEncryption.Type == SSEC
}

// S3EncryptionType says who has the key.
//
// +kubebuilder:validation:Enum=SSE-S3;SSE-KMS;SSE-C
type S3EncryptionType string

// The kinds of server-side encryption.
const (
	SSES3  S3EncryptionType = "SSE-S3"
	SSEKMS S3EncryptionType = "SSE-KMS"
	SSEC   S3EncryptionType = "SSE-C"
)

// S3Encryption is encryption by the store.
//
// +kubebuilder:validation:XValidation:rule="!has(self.kmsKeyID) || self.kmsKeyID.size() == 0 || self.type == 'SSE-KMS'",message="kmsKeyID requires type SSE-KMS"
type S3Encryption struct {
	// The owner of the key: SSE-S3 (the store itself), SSE-KMS (the store's key management) or SSE-C (the user). The key
	// of SSE-C is sse-customer-key in awsSecret, and a restore needs it, too.
	// +required
	Type S3EncryptionType `json:"type"`
	// The key of SSE-KMS: its ID, ARN or alias. Default: the account's default key.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	KMSKeyID string `json:"kmsKeyID,omitempty"`
}

// S3LockMode says who may remove a locked object.
//
// +kubebuilder:validation:Enum=GOVERNANCE;COMPLIANCE
type S3LockMode string

// S3ObjectLock prevents the removal of an object.
//
// +kubebuilder:validation:XValidation:rule="has(self.retainDays) != has(self.retainUntil)",message="write either retainDays or retainUntil"
type S3ObjectLock struct {
	// The strength of the lock. GOVERNANCE: an identity with s3:BypassGovernanceRetention may still remove the object.
	// COMPLIANCE: no identity may remove it.
	// +required
	Mode S3LockMode `json:"mode"`
	// How long each object is locked after it was written, in days.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=36500
	RetainDays *int32 `json:"retainDays,omitempty"`
	// The date until which all objects are locked.
	// +optional
	RetainUntil *metav1.Time `json:"retainUntil,omitempty"`
}

// GCSOptions say how GCS keeps an object. They are for writing, and an EtcdRestore refuses them.
type GCSOptions struct {
	// The name of the key that encrypts the objects (CMEK). Default: the bucket's own setting.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$')",message="write projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>"
	KMSKeyName string `json:"kmsKeyName,omitempty"`
	// The storage class of the objects, for example "NEARLINE". Default: the bucket's own.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z0-9_]*$')",message="write the name of a storage class in capital letters, for example NEARLINE"
	StorageClass string `json:"storageClass,omitempty"`
}

// Compression is an algorithm.
//
// +kubebuilder:validation:Enum=zstd
type Compression string

// CompressionZstd is RFC 8878.
const CompressionZstd Compression = "zstd"

// Encryption is done by the operator before it uploads a snapshot: the store never gets a key.
type Encryption struct {
	// Encryption for the holders of age identities (age-encryption.org).
	// +required
	Age AgeEncryption `json:"age"`
}

// AgeEncryption says who can decrypt.
type AgeEncryption struct {
	// The recipients: X25519 public keys, "age1…", as age-keygen prints them. Each recipient can decrypt alone.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.matches('^age1[02-9ac-hj-np-z]{58}$'))",message="write X25519 recipients, age1 and 58 more characters, as age-keygen prints them; an identity (AGE-SECRET-KEY-1...) belongs into a Secret"
	// +kubebuilder:validation:XValidation:rule="!('age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p' in self)",message="age1ql3z7... is the sample key of age's documentation. You could not decrypt the snapshots. Create a key pair with age-keygen, and write its public key"
	Recipients []string `json:"recipients"`
}

// Signing is done by the operator when it saves a snapshot.
type Signing struct {
	// Name of a Secret with the key signing-key: an Ed25519 private key in PEM, as "openssl genpkey -algorithm ed25519" prints it. After you
	// have replaced it, write the earlier public keys into the key earlier-public-keys, so that restore tests and copies accept the earlier
	// snapshots, too.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret"`
}

// SigningKeys says who must have signed a snapshot.
type SigningKeys struct {
	// Public keys, Ed25519 in PEM, as "openssl pkey -pubout" prints them. One of them must have signed the snapshot.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.contains('-----BEGIN PUBLIC KEY-----') && !k.contains('PRIVATE KEY'))",message="write public keys in PEM, -----BEGIN PUBLIC KEY-----, as openssl pkey -pubout prints them; a private key belongs into the Secret of the EtcdBackup"
	PublicKeys []string `json:"publicKeys"`
}

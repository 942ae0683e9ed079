package snapshot

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/codec"
)

// FormatVersion is the format version of the manifests that this version writes. It is only increased if an older reader
// would misread a newer manifest, and not if a field is added.
const FormatVersion = 1

// maxManifest limits the size of a manifest in bytes, so that a wrong object cannot fill the memory.
const maxManifest = 1 << 20

// Manifest describes the object under the same key. Readers ignore unknown fields.
type Manifest struct {
	FormatVersion int     `json:"formatVersion"`
	Cluster       Cluster `json:"cluster"`
	// EtcdVersion of the member that sent the snapshot, such as "3.6.16".
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// StorageVersion of the database, such as "3.6.0"; empty before etcd 3.6.
	StorageVersion string `json:"storageVersion,omitempty"`
	// Revision of the snapshot.
	Revision int64 `json:"revision"`
	// Keys that exist at that revision.
	Keys int64 `json:"keys"`
	// Size of the object in bytes.
	Size int64 `json:"size"`
	// SHA256 of the object, 64 hex digits.
	SHA256 string `json:"sha256"`
	// AuthRevision is the revision of users and roles in the snapshot; 0 in manifests of earlier versions.
	// AuthEnabled is whether authentication is on in the snapshot; missing in manifests of earlier versions. Compare both only as a State.
	AuthRevision uint64      `json:"authRevision,omitempty"`
	AuthEnabled  auth.Switch `json:"authEnabled,omitzero"`
	// Recovery identifies the last recovery of the cluster from a lost quorum before the snapshot. It is empty if there was none, or if
	// that is not known.
	Recovery string `json:"recovery,omitempty"`
	// Hash of the database as etcdutl prints it, 8 hex digits.
	Hash string `json:"hash"`
	// CreatedAt is when the snapshot was requested, in UTC and whole seconds.
	CreatedAt time.Time `json:"createdAt"`
	// CapturedAt is when the member had begun to send the snapshot: it holds no write after that time. It is zero in
	// manifests of earlier versions, and if a later try has adopted an object that is not encrypted.
	CapturedAt time.Time `json:"capturedAt,omitzero"`
	// Attempt identifies the request that the snapshot was taken for, for example by an EtcdBackup's UID.
	Attempt string `json:"attempt,omitempty"`
	// Backup is the name of the EtcdBackup that the snapshot was taken for, in the cluster's namespace. Several
	// EtcdBackups may share a folder.
	Backup string `json:"backup,omitempty"`
	// NoQuorum means that the member could not reach a quorum. The snapshot may lack writes that were confirmed to
	// clients, and may contain writes that were not.
	NoQuorum bool `json:"noQuorum,omitempty"`
	// Tool that wrote the snapshot, with its version.
	Tool string `json:"tool,omitempty"`
	// Compression and Encryption of the object, codec.Zstd and codec.Age; empty for a plain one.
	Compression string `json:"compression,omitempty"`
	Encryption  string `json:"encryption,omitempty"`
	// PlainSize and PlainSHA256 are those of the snapshot in an object that is not plain.
	PlainSize   int64  `json:"plainSize,omitempty"`
	PlainSHA256 string `json:"plainSHA256,omitempty"`
	// Signature of all other fields and of the object's key; empty if the manifest is not signed. See Signers.
	Signature Signature `json:"signature,omitzero"`
}

// Cluster identifies the cluster of a snapshot.
type Cluster struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"` // of the EtcdCluster
	ID        string `json:"id,omitempty"`  // of etcd, 16 hex digits
}

// Encode returns the manifest as indented JSON.
func (m Manifest) Encode() ([]byte, error) {
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return append(content, '\n'), nil
}

// Auth is the state of authentication in the snapshot.
func (m Manifest) Auth() auth.State {
	return auth.State{Revision: m.AuthRevision, Enabled: m.AuthEnabled}
}

// DecodeManifest decodes a manifest. The error is ErrNewerFormat if it has a newer format, and otherwise ErrManifest.
func DecodeManifest(content []byte) (Manifest, error) {
	var head struct {
		FormatVersion int `json:"formatVersion"`
	}
	if err := bounded.JSON(content, &head); err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if head.FormatVersion > FormatVersion {
		return Manifest{}, fmt.Errorf("%w (%d; this version reads up to %d): use a newer version of the operators", ErrNewerFormat, head.FormatVersion, FormatVersion)
	}
	var m Manifest
	if err := bounded.JSON(content, &m); err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return m, m.validate()
}

// mostBytes is more than any snapshot has. Sums and products of sizes up to it do not overflow.
const mostBytes = 1 << 50

func (m Manifest) validate() error {
	wrong := func(field string) error { return fmt.Errorf("%w: field %s is missing or invalid", ErrManifest, field) }
	// Encodings of a later version are not checked here; see readable.
	encoded := m.Encoding().Known() && !m.Encoding().Plain()
	if field := bounded.Long(m); field != "" { // a reader would refuse it
		return wrong(field)
	}
	switch {
	case m.FormatVersion < 1:
		return wrong("formatVersion")
	case m.Revision < 0:
		return wrong("revision")
	case m.Keys < 0:
		return wrong("keys")
	case m.Size <= 0 || m.Size > mostBytes:
		return wrong("size")
	case !isSHA256(m.SHA256):
		return wrong("sha256")
	case encoded && m.PlainSize <= 0 || m.PlainSize < 0 || m.PlainSize > mostBytes:
		return wrong("plainSize")
	case encoded && !isSHA256(m.PlainSHA256):
		return wrong("plainSHA256")
	case m.CreatedAt.IsZero() || !bounded.Time(m.CreatedAt):
		return wrong("createdAt")
	}
	return nil
}

func isSHA256(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == 32
}

// Encoding returns the encoding of the object.
func (m Manifest) Encoding() codec.Encoding {
	return codec.Encoding{Compression: m.Compression, Encryption: m.Encryption}
}

// Plain returns size and SHA-256 of the snapshot in the object.
func (m Manifest) Plain() (int64, string) {
	if m.Encoding().Plain() {
		return m.Size, m.SHA256
	}
	return m.PlainSize, m.PlainSHA256
}

// readable returns ErrNewerFormat if this version cannot read the object of the manifest.
func (m Manifest) readable() error {
	if !m.Encoding().Known() {
		return fmt.Errorf("%w: this version cannot read the object's compression %q or encryption %q: use a newer version of the operators", ErrNewerFormat, m.Compression, m.Encryption)
	}
	return nil
}

// Signature of a manifest.
type Signature struct {
	// Key is the ID of the public key: the first 16 hex digits of the SHA-256 of its PKIX form.
	Key string `json:"key"`
	// Value is the Ed25519 signature, in base64.
	Value string `json:"value"`
}

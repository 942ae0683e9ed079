package snapshot

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// FormatVersion is that of the manifests which this version writes. It rises when
// an older reader would misread a newer manifest, and not when a field is added.
const FormatVersion = 1

// maxManifest is far beyond any manifest, so that no wrong object fills memory.
const maxManifest = 1 << 20

// Manifest says what the object beside it is. A reader ignores fields that it
// does not know.
type Manifest struct {
	FormatVersion int     `json:"formatVersion"`
	Cluster       Cluster `json:"cluster"`
	// EtcdVersion of the member that sent the snapshot, such as "3.6.16".
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// StorageVersion of the database, such as "3.6.0"; empty before etcd 3.6.
	StorageVersion string `json:"storageVersion,omitempty"`
	// Revision that the snapshot holds.
	Revision int64 `json:"revision"`
	// Keys that exist at that revision.
	Keys int64 `json:"keys"`
	// Size of the object in bytes.
	Size int64 `json:"size"`
	// SHA256 of the object, 64 hex digits.
	SHA256 string `json:"sha256"`
	// Hash of the database as etcdutl prints it, 8 hex digits.
	Hash string `json:"hash"`
	// CreatedAt is when the snapshot was asked for; UTC, whole seconds.
	CreatedAt time.Time `json:"createdAt"`
	// Attempt says on whose behalf it was taken, for example an EtcdBackup's UID.
	Attempt string `json:"attempt,omitempty"`
	// Backup is the name of the EtcdBackup that it was taken for, in the cluster's
	// namespace. Two of them may share a folder.
	Backup string `json:"backup,omitempty"`
	// NoQuorum: no quorum stood behind the member, so that the snapshot may lack
	// what was confirmed to clients, or hold what never was.
	NoQuorum bool `json:"noQuorum,omitempty"`
	// Tool that wrote it, with its version.
	Tool string `json:"tool,omitempty"`
	// Compression and Encryption of the object, Zstd and Age; empty for a plain one.
	Compression string `json:"compression,omitempty"`
	Encryption  string `json:"encryption,omitempty"`
	// PlainSize and PlainSHA256 of the snapshot inside of an object that is not plain.
	PlainSize   int64  `json:"plainSize,omitempty"`
	PlainSHA256 string `json:"plainSHA256,omitempty"`
}

// Cluster says which cluster a snapshot is of.
type Cluster struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"` // of the EtcdCluster
	ID        string `json:"id,omitempty"`  // of etcd, 16 hex digits
}

// Encode writes the manifest as people can read it.
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

// DecodeManifest reads one. The error is ErrNewerFormat for one of a newer
// format, whatever else it holds, and ErrManifest for anything else.
func DecodeManifest(content []byte) (Manifest, error) {
	var head struct {
		FormatVersion int `json:"formatVersion"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if head.FormatVersion > FormatVersion {
		return Manifest{}, fmt.Errorf("%w: %d, and this version reads up to %d: use a newer version of the operators", ErrNewerFormat, head.FormatVersion, FormatVersion)
	}
	var m Manifest
	if err := json.Unmarshal(content, &m); err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return m, m.validate()
}

func (m Manifest) validate() error {
	wrong := func(field string) error { return fmt.Errorf("%w: field %s is missing or wrong", ErrManifest, field) }
	// What a later version made of it is not for this one to judge.
	encoded := slices.Contains(encodings[1:], m.Encoding())
	switch {
	case m.FormatVersion < 1:
		return wrong("formatVersion")
	case m.Revision < 0:
		return wrong("revision")
	case m.Keys < 0:
		return wrong("keys")
	case m.Size <= 0:
		return wrong("size")
	case !isSHA256(m.SHA256):
		return wrong("sha256")
	case encoded && m.PlainSize <= 0:
		return wrong("plainSize")
	case encoded && !isSHA256(m.PlainSHA256):
		return wrong("plainSHA256")
	case m.CreatedAt.IsZero() || m.CreatedAt.Year() > 9999:
		return wrong("createdAt")
	}
	return nil
}

func isSHA256(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == 32
}

// Encoding of the object.
func (m Manifest) Encoding() Encoding {
	return Encoding{Compression: m.Compression, Encryption: m.Encryption}
}

// plain is size and SHA-256 of the snapshot.
func (m Manifest) plain() (int64, string) {
	if m.Encoding().plain() {
		return m.Size, m.SHA256
	}
	return m.PlainSize, m.PlainSHA256
}

// readable says whether this version can read the object of the manifest.
func (m Manifest) readable() error {
	if !slices.Contains(encodings, m.Encoding()) {
		return fmt.Errorf("%w: the object is compressed (%q) or encrypted (%q), which this version cannot read", ErrNewerFormat, m.Compression, m.Encryption)
	}
	return nil
}

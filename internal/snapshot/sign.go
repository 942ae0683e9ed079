package snapshot

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A signature proves that the holder of a private key has written a manifest, which has the SHA-256 of the object. So who can write to the
// bucket cannot replace a snapshot together with its manifest. It is part of the manifest: one object cannot be written without the other.

var (
	// ErrNotSigned means that a signature is required, and the snapshot has no manifest or one without a signature.
	ErrNotSigned error = objstore.ContentError("the snapshot is not signed")
	// ErrSignature means that the signature does not fit the manifest and the key of its object.
	ErrSignature error = objstore.ContentError("the signature of the snapshot is not valid")
	// ErrUnknownSigner means that none of the given public keys is that of the signature.
	ErrUnknownSigner error = objstore.ContentError("the snapshot is signed with another key")
)

// OfSignature reports whether an error is about the signature of a snapshot.
func OfSignature(err error) bool {
	return errors.Is(err, ErrNotSigned) || errors.Is(err, ErrSignature) || errors.Is(err, ErrUnknownSigner)
}

// Signer signs manifests.
type Signer struct {
	private ed25519.PrivateKey
	id      string
}

// ParseSigner reads a private key, PEM PKCS#8. The error has no part of the text.
func ParseSigner(text []byte) (*Signer, error) {
	const want = "write an Ed25519 private key in PEM (PKCS#8), as openssl genpkey -algorithm ed25519 prints it"
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("it is not one PEM block of the type PRIVATE KEY: " + want)
	}
	if err := pki.CheckKey(text); err != nil {
		return nil, errors.New("it is not an Ed25519 key: " + want)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("it is not an Ed25519 key: " + want)
	}
	id, err := keyID(private.Public().(ed25519.PublicKey)) //nolint:forcetypeassert // ed25519 promises it
	if err != nil {
		return nil, err
	}
	return &Signer{private: private, id: id}, nil
}

func keyID(public ed25519.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("encode a public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:8]), nil
}

// Sign returns the manifest of the object under key with a signature. A nil Signer signs nothing.
func (s *Signer) Sign(key string, m Manifest) Manifest {
	if s != nil {
		m.Signature = Signature{Key: s.id, Value: base64.StdEncoding.EncodeToString(ed25519.Sign(s.private, signedBytes(key, m)))}
	}
	return m
}

// Signers returns the signers that count as the own ones: this one, and those that it has replaced.
func (s *Signer) Signers(earlier Signers) Signers {
	all := Signers{keys: map[string]ed25519.PublicKey{s.id: s.private.Public().(ed25519.PublicKey)}} //nolint:forcetypeassert // see above
	for id, key := range earlier.keys {
		all.keys[id] = key
	}
	return all
}

// Signers are public keys, of which one must have signed a manifest. Anyone requires no signature.
type Signers struct{ keys map[string]ed25519.PublicKey }

// Anyone is for readers that need no signature, because they do not decide what is restored, or compare in another way. A test lists them.
var Anyone = Signers{}

// ParseSigners reads public keys, PEM PKIX, one or more in each text. The error has no part of a text.
func ParseSigners(texts ...string) (Signers, error) {
	signers := Signers{keys: map[string]ed25519.PublicKey{}}
	for i, text := range texts {
		rest := []byte(text)
		for len(bytes.TrimSpace(rest)) > 0 {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil || block.Type != "PUBLIC KEY" {
				return Signers{}, fmt.Errorf("public key %d is not a PEM block of the type PUBLIC KEY: write what openssl pkey -pubout prints", i+1)
			}
			parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
			public, ok := parsed.(ed25519.PublicKey)
			if err != nil || !ok {
				return Signers{}, fmt.Errorf("public key %d is not an Ed25519 key: create a key pair with openssl genpkey -algorithm ed25519", i+1)
			}
			id, err := keyID(public)
			if err != nil {
				return Signers{}, err
			}
			signers.keys[id] = public
		}
	}
	if len(texts) > 0 && len(signers.keys) == 0 {
		return Signers{}, errors.New("there is no public key: write what openssl pkey -pubout prints")
	}
	return signers, nil
}

// Equal reports whether both have the same keys.
func (s Signers) Equal(o Signers) bool {
	return maps.EqualFunc(s.keys, o.keys, func(a, b ed25519.PublicKey) bool { return a.Equal(b) })
}

// Required reports whether a manifest must have a signature.
func (s Signers) Required() bool { return len(s.keys) > 0 }

// Check returns an error if a signature is required, and none of the signers has signed this manifest for the object under key.
func (s Signers) Check(key string, m Manifest) error {
	if !s.Required() {
		return nil
	}
	if m.Signature == (Signature{}) {
		return fmt.Errorf("%w: its manifest has no signature, and one by key %s is required", ErrNotSigned, s)
	}
	if id, err := hex.DecodeString(m.Signature.Key); err != nil || len(id) != 8 {
		return fmt.Errorf("%w: it names no key", ErrSignature)
	}
	public, known := s.keys[m.Signature.Key]
	if !known {
		return fmt.Errorf("%w: its manifest names key %s, and a signature by key %s is required", ErrUnknownSigner, m.Signature.Key, s)
	}
	value, err := base64.StdEncoding.DecodeString(m.Signature.Value)
	if err != nil || !ed25519.Verify(public, signedBytes(key, m), value) {
		return fmt.Errorf("%w: key %s has not signed this manifest for this object", ErrSignature, m.Signature.Key)
	}
	return nil
}

// String lists the IDs of the keys.
func (s Signers) String() string {
	var ids []string
	for id := range s.keys {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(ids, " or ")
}

// signedContext begins what is signed, so that no other signature of the same key fits a manifest.
const signedContext = "etcd.database.coreos.com snapshot manifest 1\n"

// signedBytes returns what is signed: the name of the snapshot and every field of its manifest that decides what is restored. A field without a
// value is left out, so an earlier signature is still valid after a field was added. The length of each value comes before it, so that no two
// manifests have the same bytes.
func signedBytes(key string, m Manifest) []byte {
	var b bytes.Buffer
	b.WriteString(signedContext)
	text := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s %d %s\n", name, len(value), value)
		}
	}
	number := func(name string, value int64) {
		if value != 0 {
			text(name, strconv.FormatInt(value, 10))
		}
	}
	at := func(name string, value time.Time) {
		if !value.IsZero() {
			text(name, value.UTC().Format(time.RFC3339Nano))
		}
	}
	text("name", signedName(key))
	number("formatVersion", int64(m.FormatVersion))
	text("cluster.namespace", m.Cluster.Namespace)
	text("cluster.name", m.Cluster.Name)
	text("cluster.uid", m.Cluster.UID)
	text("cluster.id", m.Cluster.ID)
	text("etcdVersion", m.EtcdVersion)
	text("storageVersion", m.StorageVersion)
	number("revision", m.Revision)
	number("keys", m.Keys)
	number("size", m.Size)
	text("sha256", m.SHA256)
	text("authRevision", strings.TrimPrefix(strconv.FormatUint(m.AuthRevision, 10), "0"))
	number("authEnabled", int64(m.AuthEnabled))
	text("recovery", m.Recovery)
	text("hash", m.Hash)
	at("createdAt", m.CreatedAt)
	at("capturedAt", m.CapturedAt)
	text("attempt", m.Attempt)
	text("backup", m.Backup)
	if m.NoQuorum {
		text("noQuorum", "true")
	}
	text("tool", m.Tool)
	text("compression", m.Compression)
	text("encryption", m.Encryption)
	number("plainSize", m.PlainSize)
	text("plainSHA256", m.PlainSHA256)
	return b.Bytes()
}

// signedName returns the part of a key that the signature covers. In a series it is the part below the folder, with the cluster, the time and the
// revision, so that the copy in a second location keeps its signature. Every other key is signed as a whole.
func signedName(key string) string {
	if parsed, ok := ParseKey(key); ok && parsed.Folder != "" {
		return strings.TrimPrefix(key, parsed.Folder+"/")
	}
	return key
}

// Package connect opens the object store that a location names, with the
// credentials that its Secret holds. It knows which keys a Secret may have and
// nothing else of Kubernetes.
package connect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/objstore/gcs"
	"github.com/etcd-suite/etcd-operator/internal/objstore/s3"
)

// Kind names a kind of store.
type Kind string

// The kinds of stores.
const (
	S3   Kind = "S3"
	GCS  Kind = "GCS"
	File Kind = "File"
)

// Location is where objects are and who asks for them.
type Location struct {
	Kind Kind
	// Bucket is the bucket's name; for File it is a directory, which whoever fills
	// a Location must not let a user of the cluster choose freely.
	Bucket         string
	Endpoint       string // empty: the cloud's own
	Region         string // S3 only
	ForcePathStyle bool   // S3 only
	// Secret is the data of a Secret; nil means the ambient identity.
	Secret map[string][]byte
	// CustomerKey: objects are encrypted by the key in the Secret (SSE-C); S3 only.
	CustomerKey bool
	// Patience is how long the store may be silent before a request is tried again; 0 is stall.DefaultLimit.
	Patience time.Duration
	// Options of what is written; nothing of them is needed to read.
	Options Options
}

// Options say how a store keeps what is written.
type Options struct {
	S3           s3.Options
	KMSKeyName   string // GCS only
	StorageClass string // GCS only
}

// The keys of a Secret beside those with credentials.
const (
	caKey       = "ca.crt"
	customerKey = "sse-customer-key"
	identityKey = "age-identity"
)

// Identity is the age identities in a Secret's data, nil where there are none.
func Identity(secret map[string][]byte) []byte { return secret[identityKey] }

// Open opens the store. Its errors name keys of the Secret, never values.
func Open(ctx context.Context, l Location) (objstore.Store, error) {
	if l.Bucket == "" {
		return nil, fmt.Errorf("no bucket is named: write the path as <bucket>/<key>")
	}
	switch l.Kind {
	case S3:
		config, err := s3Config(l)
		if err != nil {
			return nil, fmt.Errorf("open S3 bucket %s: %w", l.Bucket, err)
		}
		return s3.Open(ctx, config)
	case GCS:
		config, err := gcsConfig(l)
		if err != nil {
			return nil, fmt.Errorf("open GCS bucket %s: %w", l.Bucket, err)
		}
		return gcs.Open(ctx, config)
	case File:
		return file.Open(l.Bucket)
	}
	return nil, fmt.Errorf("storage type %q is not supported: use S3 or GCS", l.Kind)
}

// style is one way to write S3 credentials into a Secret.
type style struct{ id, key, token, region string }

var styles = []style{
	{"access-key-id", "secret-access-key", "session-token", "region"},
	{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"},
}

func s3Config(l Location) (s3.Config, error) {
	config := s3.Config{
		Bucket: l.Bucket, Endpoint: l.Endpoint, Region: l.Region, ForcePathStyle: l.ForcePathStyle, Options: l.Options.S3, Patience: l.Patience,
	}
	secret := secretData(l.Secret)
	config.CABundle = l.Secret[caKey]
	if l.CustomerKey {
		key, err := secret.customerKey()
		if err != nil {
			return config, err
		}
		config.CustomerKey = key
	}
	var found []string
	if secret.has("credentials") {
		found = append(found, "credentials")
		config.CredentialsFile, config.ConfigFile = l.Secret["credentials"], l.Secret["config"]
	}
	for _, style := range styles {
		if config.Region == "" {
			config.Region = secret.text(style.region)
		}
		if !secret.has(style.id) && !secret.has(style.key) {
			continue
		}
		found = append(found, style.id)
		if err := secret.needs(style.id, style.key); err != nil {
			return config, err
		}
		config.AccessKeyID, config.SecretAccessKey = secret.text(style.id), secret.text(style.key)
		config.SessionToken = secret.text(style.token)
	}
	switch {
	case len(found) == 1, l.Secret == nil:
		return config, nil
	case len(found) == 0 && secret.ambient("region", "AWS_REGION"):
		return config, nil
	case len(found) == 0:
		return config, fmt.Errorf("the Secret has no credentials (%s): write the keys access-key-id and secret-access-key, or credentials and config as files of the AWS command line", secret.names())
	}
	return config, fmt.Errorf("the Secret has credentials in more than one form (%s): keep one", strings.Join(found, ", "))
}

func gcsConfig(l Location) (gcs.Config, error) {
	config := gcs.Config{
		Bucket: l.Bucket, Endpoint: l.Endpoint, Patience: l.Patience, KMSKeyName: l.Options.KMSKeyName, StorageClass: l.Options.StorageClass,
	}
	secret := secretData(l.Secret)
	file, token := secret.has("credentials.json"), secret.has("access-token")
	switch {
	case l.Secret == nil, !file && !token && secret.ambient():
		return config, nil
	case file && token:
		return config, fmt.Errorf("the Secret has both credentials.json and access-token: keep one")
	case !file && !token:
		return config, fmt.Errorf("the Secret has no credentials (%s): write the key credentials.json or access-token", secret.names())
	case file:
		config.CredentialsJSON = l.Secret["credentials.json"]
	default:
		config.AccessToken = secret.text("access-token")
	}
	return config, nil
}

type secretData map[string][]byte

func (s secretData) has(key string) bool { return s.text(key) != "" }

// ambient says whether the Secret is meant to be used with the ambient identity: it
// has something, and nothing but keys that are no credentials. A misspelt one is not
// among them, and an empty Secret is a mistake.
func (s secretData) ambient(more ...string) bool {
	for name := range s {
		if !slices.Contains(append(more, caKey, customerKey, identityKey), name) {
			return false
		}
	}
	return len(s) > 0
}

func (s secretData) customerKey() ([]byte, error) {
	if len(s[customerKey]) == 0 {
		return nil, fmt.Errorf("the Secret has no key %s, which SSE-C needs (%s)", customerKey, s.names())
	}
	text := s[customerKey]
	if len(text) != 32 {
		text = bytes.TrimSpace(text)
	}
	key, err := s3.CustomerKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s in the Secret: %w", customerKey, err)
	}
	return key, nil
}

// text drops the newline that files and editors leave behind a value.
func (s secretData) text(key string) string { return strings.TrimSpace(string(s[key])) }

func (s secretData) needs(keys ...string) error {
	for _, key := range keys {
		if !s.has(key) {
			return fmt.Errorf("the Secret has no value for the key %s", key)
		}
	}
	return nil
}

// names says which keys are there, so that a misspelt one is seen.
func (s secretData) names() string {
	if len(s) == 0 {
		return "it is empty"
	}
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return "it has " + strings.Join(names, ", ")
}

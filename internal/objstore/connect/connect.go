// Package connect opens the object store that a location names, with the
// credentials that its Secret holds. It knows which keys a Secret may have and
// nothing else of Kubernetes.
package connect

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
}

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
		Bucket: l.Bucket, Endpoint: l.Endpoint, Region: l.Region, ForcePathStyle: l.ForcePathStyle,
	}
	if l.Secret == nil {
		return config, nil
	}
	secret := secretData(l.Secret)
	config.CABundle = l.Secret["ca.crt"]
	var found []string
	if secret.has("credentials") {
		found = append(found, "credentials")
		config.CredentialsFile, config.ConfigFile = l.Secret["credentials"], l.Secret["config"]
	}
	for _, style := range styles {
		if !secret.has(style.id) && !secret.has(style.key) {
			continue
		}
		found = append(found, style.id)
		if err := secret.needs(style.id, style.key); err != nil {
			return config, err
		}
		config.AccessKeyID, config.SecretAccessKey = secret.text(style.id), secret.text(style.key)
		config.SessionToken = secret.text(style.token)
		if config.Region == "" {
			config.Region = secret.text(style.region)
		}
	}
	switch len(found) {
	case 0:
		return config, fmt.Errorf("the Secret has no credentials (%s): write the keys access-key-id and secret-access-key, or credentials and config as files of the AWS command line", secret.names())
	case 1:
		return config, nil
	}
	return config, fmt.Errorf("the Secret has credentials in more than one form (%s): keep one", strings.Join(found, ", "))
}

func gcsConfig(l Location) (gcs.Config, error) {
	config := gcs.Config{Bucket: l.Bucket, Endpoint: l.Endpoint}
	if l.Secret == nil {
		return config, nil
	}
	secret := secretData(l.Secret)
	file, token := secret.has("credentials.json"), secret.has("access-token")
	switch {
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

package connect

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/s3"
)

func openS3(ctx context.Context, a Access) (objstore.Store, error) {
	config, err := s3Config(a)
	if err != nil {
		return nil, fmt.Errorf("open S3 bucket %s: %w", a.Bucket, err)
	}
	return s3.Open(ctx, config)
}

// style is one way to write S3 credentials into a Secret.
type style struct{ id, key, token, region string }

var styles = []style{
	{"access-key-id", "secret-access-key", "session-token", "region"},
	{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"},
}

// s3Ambient are the keys of a Secret that are no credentials.
var s3Ambient = []string{"region", "AWS_REGION", endpointKey}

func s3Config(a Access) (s3.Config, error) {
	config := s3.Config{
		Bucket: a.Bucket, Endpoint: a.Endpoint, Region: a.Region, ForcePathStyle: a.ForcePathStyle,
		Options: s3Options(a.Options.S3), Patience: a.Patience,
	}
	secret := secretData(a.Data)
	config.CABundle, config.KeysFor, config.OnlyNamed = a.Data[v1beta2.CAKey], secret.text(endpointKey), onlyNamed.Load()
	if a.CustomerKey {
		key, err := secret.customerKey()
		if err != nil {
			return config, err
		}
		config.CustomerKey = key
	}
	var found []string
	if secret.has("credentials") {
		found = append(found, "credentials")
		config.CredentialsFile, config.ConfigFile = a.Data["credentials"], a.Data["config"]
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
	case len(found) == 1, a.Data == nil:
		return config, nil
	case len(found) == 0 && secret.ambient(s3Ambient...):
		return config, nil
	case len(found) == 0:
		return config, fmt.Errorf("the Secret has no credentials (%s): write the keys access-key-id and secret-access-key, or credentials and config as files of the AWS command line", secret.names())
	}
	return config, fmt.Errorf("the Secret has credentials in more than one form (%s): keep one", strings.Join(found, ", "))
}

// s3Options translates the options of a spec.
func s3Options(spec v1beta2.S3Options) s3.Options {
	o := s3.Options{StorageClass: spec.StorageClass, Tags: spec.Tags, CheckFirst: spec.CheckBeforeWrite}
	if e := spec.ServerSideEncryption; e != nil {
		switch e.Type {
		case v1beta2.SSES3:
			o.Encryption = s3.SSES3
		case v1beta2.SSEKMS:
			o.Encryption, o.KMSKeyID = s3.SSEKMS, e.KMSKeyID
		}
	}
	if l := spec.ObjectLock; l != nil {
		o.LockMode = string(l.Mode)
		if l.RetainDays != nil {
			o.RetainFor = time.Duration(*l.RetainDays) * 24 * time.Hour
		}
		if l.RetainUntil != nil {
			o.RetainUntil = l.RetainUntil.Time
		}
	}
	return o
}

// customerKey is the key of SSE-C.
func (s secretData) customerKey() ([]byte, error) {
	if len(s[v1beta2.SSECustomerKeyKey]) == 0 {
		return nil, fmt.Errorf("the Secret has no key %s, which SSE-C needs (%s)", v1beta2.SSECustomerKeyKey, s.names())
	}
	text := s[v1beta2.SSECustomerKeyKey]
	if len(text) != 32 {
		text = bytes.TrimSpace(text)
	}
	key, err := s3.CustomerKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s in the Secret: %w", v1beta2.SSECustomerKeyKey, err)
	}
	return key, nil
}

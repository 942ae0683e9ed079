package storage

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Bind adds one flag for each field of src to flags. The fields keep their values.
func Bind(flags *pflag.FlagSet, src *v1beta2.RestoreSource, credentialsDir string) {
	text := func(field *string, name, usage string) {
		value := *field
		flags.StringVar(field, name, "", usage)
		*field = value
	}
	flag := func(field *bool, name, usage string) {
		value := *field
		flags.BoolVar(field, name, false, usage)
		*field = value
	}
	text((*string)(&src.StorageType), "storage-type", OneOf())
	text(&src.Bucket, "bucket", "bucket of the snapshot")
	text(&src.Key, "key", "key of the snapshot")
	text(&src.Endpoint, "endpoint", "endpoint of the store; empty means the provider's own")
	text(&src.Region, "region", "region of the bucket")
	flag(&src.ForcePathStyle, "force-path-style", "send the bucket's name in the path instead of the host name")
	flag(&src.CustomerKey, "customer-key", "the store decrypts with the key sse-customer-key of the Secret (SSE-C)")
	text(&src.Secret, "secret", "Secret whose data is mounted at "+credentialsDir+"; empty means the ambient identity")
}

// CheckArgs returns what is wrong with a source that was read from arguments.
func CheckArgs(src v1beta2.RestoreSource) error {
	var errs []error
	if !Supported(src.StorageType) {
		errs = append(errs, errors.New("--storage-type must be "+OneOf()))
	}
	if src.Bucket == "" {
		errs = append(errs, errors.New("--bucket is missing"))
	}
	if src.Key == "" {
		errs = append(errs, errors.New("--key is missing"))
	}
	return errors.Join(errs...)
}

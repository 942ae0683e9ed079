package seed

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Args are the arguments that follow the program's name. Parse reads them back.
//
// '%' and '$' in a value are written as %25 and %24: a kubelet replaces $(NAME) in the arguments of a container,
// and an object key may hold just that.
func (r Request) Args() []string {
	flags, _ := flagsOf(&r)
	args := []string{Command}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Value.String() != f.DefValue {
			args = append(args, "--"+f.Name+"="+escape.Replace(f.Value.String()))
		}
	})
	return args
}

// Parse reads what Args wrote and says what is missing or wrong.
func Parse(args []string) (Request, error) {
	if len(args) == 0 || args[0] != Command {
		return Request{}, fmt.Errorf("the first argument must be %q", Command)
	}
	var r Request
	flags, storageType := flagsOf(&r)
	unescaped := make([]string, 0, len(args)-1)
	for _, arg := range args[1:] {
		unescaped = append(unescaped, unescape.Replace(arg))
	}
	if err := flags.Parse(unescaped); err != nil {
		return Request{}, fmt.Errorf("arguments of %s: %w", Command, err)
	}
	if flags.NArg() > 0 {
		return Request{}, fmt.Errorf("arguments of %s: unexpected %q", Command, flags.Arg(0))
	}
	r.Source.StorageType = v1beta2.StorageType(*storageType)
	if err := r.validate(); err != nil {
		return Request{}, fmt.Errorf("arguments of %s: %w", Command, err)
	}
	return r, nil
}

var (
	escape   = strings.NewReplacer("%", "%25", "$", "%24")
	unescape = strings.NewReplacer("%25", "%", "%24", "$")
)

// flagsOf binds one flag to each field of r, which keeps its values. The storage type has a type of its own and
// is returned.
func flagsOf(r *Request) (flags *pflag.FlagSet, storageType *string) {
	flags = pflag.NewFlagSet(Command, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	text := func(target *string, name, usage string) {
		value := *target
		flags.StringVar(target, name, "", usage)
		*target = value
	}
	number := func(target *int64, name, usage string) {
		value := *target
		flags.Int64Var(target, name, 0, usage)
		*target = value
	}
	kind := string(r.Source.StorageType)
	text(&kind, "storage-type", "S3 or GCS")
	text(&r.Source.Bucket, "bucket", "bucket of the snapshot")
	text(&r.Source.Key, "key", "key of the snapshot")
	text(&r.Source.Endpoint, "endpoint", "endpoint of the store; empty is the cloud's own")
	text(&r.Source.Region, "region", "region of the bucket")
	pathStyle := r.Source.ForcePathStyle
	flags.BoolVar(&r.Source.ForcePathStyle, "force-path-style", false, "put the bucket in the path")
	r.Source.ForcePathStyle = pathStyle
	customerKey := r.Source.CustomerKey
	flags.BoolVar(&r.Source.CustomerKey, "customer-key", false, "the store decrypts by the Secret's sse-customer-key (SSE-C)")
	r.Source.CustomerKey = customerKey
	text(&r.Source.Secret, "secret", "Secret whose data is mounted at "+CredentialsDir+"; empty is the ambient identity")
	text(&r.SHA256, "sha256", "SHA-256 of the object, 64 hex digits")
	number(&r.Size, "size", "size of the object in bytes")
	number(&r.PlainSize, "plain-size", "size of the snapshot in a compressed or encrypted object; 0 where it is the object")
	number(&r.Revision, "revision", "revision that the snapshot holds")
	text(&r.DataDir, "data-dir", "data directory of etcd to make")
	text(&r.Name, "name", "name of the member")
	text(&r.PeerURL, "peer-url", "peer URL of the member")
	text(&r.Token, "token", "token of the initial cluster")
	number(&r.RevisionBump, "revision-bump", "added to the revision; 0 turns it off")
	return flags, &kind
}

func (r Request) validate() error {
	var errs []error
	require := func(ok bool, message string) {
		if !ok {
			errs = append(errs, errors.New(message))
		}
	}
	kind := r.Source.StorageType
	require(kind == v1beta2.StorageS3 || kind == v1beta2.StorageGCS, "--storage-type must be S3 or GCS")
	require(r.Source.Bucket != "", "--bucket is missing")
	require(r.Source.Key != "", "--key is missing")
	sum, err := hex.DecodeString(r.SHA256)
	require(err == nil && len(sum) == 32, "--sha256 must be 64 hex digits")
	require(r.Size > 0, "--size must be above 0")
	require(r.PlainSize >= 0, "--plain-size must not be negative")
	require(r.Revision >= 0, "--revision must not be negative")
	require(filepath.IsAbs(r.DataDir) && filepath.Dir(r.DataDir) != "/", "--data-dir must be an absolute path inside a volume")
	require(r.Name != "", "--name is missing")
	peer, err := url.Parse(r.PeerURL)
	require(err == nil && (peer.Scheme == "http" || peer.Scheme == "https") && peer.Host != "", "--peer-url must be an http or https URL")
	require(r.Token != "", "--token is missing")
	require(r.RevisionBump >= 0, "--revision-bump must not be negative")
	return errors.Join(errs...)
}

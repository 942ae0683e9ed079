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
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// Args are the arguments that follow the program's name. Parse reads them back.
//
// '%' and '$' in a value are written as %25 and %24: a kubelet replaces $(NAME) in the arguments of a container,
// and an object key may hold just that.
func (r Request) Args() []string {
	args := []string{Command}
	flagsOf(&r).VisitAll(func(f *pflag.Flag) {
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
	flags := flagsOf(&r)
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
	if err := r.validate(); err != nil {
		return Request{}, fmt.Errorf("arguments of %s: %w", Command, err)
	}
	return r, nil
}

var (
	escape   = strings.NewReplacer("%", "%25", "$", "%24")
	unescape = strings.NewReplacer("%25", "%", "%24", "$")
)

// flagsOf binds one flag to each field of r. The fields keep their values.
func flagsOf(r *Request) *pflag.FlagSet {
	flags := pflag.NewFlagSet(Command, pflag.ContinueOnError)
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
	storage.Bind(flags, &r.Source, CredentialsDir)
	text(&r.SignedURL, "signed-url-secret", "Secret with a signed URL of the object, which is mounted at "+SignedURLDir+"; if empty, the store is opened")
	text(&r.SHA256, "sha256", "SHA-256 of the object, 64 hex digits")
	number(&r.Size, "size", "size of the object in bytes")
	number(&r.PlainSize, "plain-size", "size of the snapshot in a compressed or encrypted object; 0 where it is the object")
	number(&r.Revision, "revision", "revision that the snapshot holds")
	text(&r.Follow.Cluster, "follow", "cluster whose continuous archive is followed, as namespace/name; if empty, the snapshot is restored once")
	text(&r.Follow.UID, "follow-uid", "UID of the EtcdCluster that was archived")
	text(&r.Follow.ClusterID, "follow-cluster-id", "cluster ID of the base that was verified")
	text(&r.Follow.Only, "follow-only-cluster-id", "the only cluster ID that is followed; if empty, any of the cluster")
	text(&r.Follow.As, "follow-as", "EtcdRestore of the standby, as namespace/name, which a planned promotion names in the store")
	text(&r.Volume.Claim, "volume", "PersistentVolumeClaim of the volume that is mounted at "+VolumeDir+" and has the data directory to restore; if empty, a snapshot is restored")
	text(&r.Volume.Path, "volume-path", "folder of that volume")
	text(&r.Volume.EtcdVersion, "etcd-version", "version of etcd that is to run on what is restored from that volume")
	text(&r.DataDir, "data-dir", "data directory of etcd to make")
	text(&r.Name, "name", "name of the member")
	text(&r.PeerURL, "peer-url", "peer URL of the member")
	text(&r.Token, "token", "token of the initial cluster")
	number(&r.RevisionBump, "revision-bump", "added to the revision; 0 turns it off")
	return flags
}

func (r Request) validate() error {
	errs := []error{}
	require := func(ok bool, message string) {
		if !ok {
			errs = append(errs, errors.New(message))
		}
	}
	if r.Volume.Claim != "" {
		r.validateVolume(require)
	} else {
		errs = append(errs, storage.CheckArgs(r.Source))
		r.validateSnapshot(require)
	}
	require(filepath.IsAbs(r.DataDir) && filepath.Dir(r.DataDir) != "/", "--data-dir must be an absolute path inside a volume")
	require(r.Name != "", "--name is missing")
	peer, err := url.Parse(r.PeerURL)
	require(err == nil && (peer.Scheme == "http" || peer.Scheme == "https") && peer.Host != "", "--peer-url must be an http or https URL")
	require(r.Token != "", "--token is missing")
	require(r.RevisionBump >= 0, "--revision-bump must not be negative")
	return errors.Join(errs...)
}

func (r Request) validateSnapshot(require func(bool, string)) {
	sum, err := hex.DecodeString(r.SHA256)
	require(err == nil && len(sum) == 32, "--sha256 must be 64 hex digits")
	require(r.Size > 0, "--size must be above 0")
	require(r.PlainSize >= 0, "--plain-size must not be negative")
	require(r.Revision >= 0, "--revision must not be negative")
	require(r.Follow.Cluster == "" || r.SignedURL == "", "--follow cannot be used with --signed-url-secret")
	require(r.Follow.Cluster != "" || r.Follow == Follow{}, "--follow is missing")
	require(r.Volume == Volume{}, "--volume is missing")
}

// validateVolume compares what was written with what a restore from a volume needs. Size is the most that the seed can restore.
func (r Request) validateVolume(require func(bool, string)) {
	require(r.Volume.Path == "" || filepath.IsLocal(r.Volume.Path), "--volume-path must be a folder inside the volume")
	require(r.Volume.EtcdVersion != "", "--etcd-version is missing")
	require(r.SHA256 == "" && r.SignedURL == "" && r.Follow == Follow{} && r.Source == v1beta2.RestoreSource{}, "--volume cannot be used with a snapshot")
}

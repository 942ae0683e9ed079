package seed_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

func request(change func(*seed.Request)) seed.Request {
	r := seed.Request{
		Source: v1beta2.RestoreSource{
			StorageType: v1beta2.StorageS3, Bucket: "backups", Key: "a/b.db", Endpoint: "http://s3:7070",
			Region: "eu-west-1", ForcePathStyle: true, CustomerKey: true, Secret: "aws",
		},
		SignedURL: "etcdrestore-uid",
		SHA256:    strings.Repeat("ab", 32), Size: 20 << 30, PlainSize: 40 << 30, Revision: 1 << 40,
		DataDir: "/var/etcd/data", Name: "example-abc", PeerURL: "https://example-abc.example.ns.svc:2380",
		Token: "uid-2", RevisionBump: 1_000_000_000,
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestParseIsTheInverseOfArgs(t *testing.T) {
	for name, change := range map[string]func(*seed.Request){
		"with every field set":                           nil,
		"without optional fields":                        func(r *seed.Request) { r.Source = v1beta2.RestoreSource{StorageType: "GCS", Bucket: "b", Key: "k"} },
		"with the bump turned off":                       func(r *seed.Request) { r.RevisionBump = 0 },
		"with spaces, quotes and equal signs in the key": func(r *seed.Request) { r.Source.Key = ` --a="b c",d=ü/x ` },
		"with what a kubelet would expand in the key":    func(r *seed.Request) { r.Source.Key = "$(HOME)/$$/%24/%2524/%" },
		"of a volume": func(r *seed.Request) {
			r.Source, r.SignedURL, r.SHA256, r.PlainSize, r.Revision = v1beta2.RestoreSource{}, "", "", 0, 0
			r.Volume = seed.Volume{Claim: "data-etcd-0", Path: "$(HOME)/data", EtcdVersion: "3.6.16"}
		},
		"of a standby": func(r *seed.Request) {
			r.SignedURL, r.Source.Key = "", "daily/ns/source/"
			r.Follow = seed.Follow{Cluster: "ns/source", UID: "uid-1", ClusterID: "0000000000000001", Only: "0000000000000001", As: "ns/standby"}
		},
		"with a key that looks like a flag": func(r *seed.Request) { r.Source.Key = "--bucket=other" },
		"with an IPv6 peer URL":             func(r *seed.Request) { r.PeerURL = "http://[::1]:2380" },
	} {
		t.Run(name, func(t *testing.T) {
			want := request(change)
			args := want.Args()
			if args[0] != seed.Command {
				t.Errorf("the first argument is %q", args[0])
			}
			got, err := seed.Parse(args)
			if err != nil {
				t.Fatalf("parse %q: %v", args, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestArgsHoldNothingThatAKubeletExpands(t *testing.T) {
	args := request(func(r *seed.Request) { r.Source.Key = "$(HOME)" }).Args()
	if joined := strings.Join(args, " "); strings.Contains(joined, "$") {
		t.Errorf("a dollar sign in %s", joined)
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	for flag, change := range map[string]func(*seed.Request){
		"--storage-type":  func(r *seed.Request) { r.Source.StorageType = "OSS" },
		"--bucket":        func(r *seed.Request) { r.Source.Bucket = "" },
		"--key":           func(r *seed.Request) { r.Source.Key = "" },
		"--sha256":        func(r *seed.Request) { r.SHA256 = "abcd" },
		"--size":          func(r *seed.Request) { r.Size = 0 },
		"--revision ":     func(r *seed.Request) { r.Revision = -1 },
		"--data-dir":      func(r *seed.Request) { r.DataDir = "/data" },
		"--name":          func(r *seed.Request) { r.Name = "" },
		"--peer-url":      func(r *seed.Request) { r.PeerURL = "example:2380" },
		"--token":         func(r *seed.Request) { r.Token = "" },
		"--follow is":     func(r *seed.Request) { r.Follow.UID = "uid" },
		"--follow cannot": func(r *seed.Request) { r.Follow.Cluster = "ns/source" },
		"--volume is":     func(r *seed.Request) { r.Volume.Path = "data" },
		"--volume cannot": func(r *seed.Request) { r.Volume = seed.Volume{Claim: "c", EtcdVersion: "3.6.16"} },
		"--volume-path":   func(r *seed.Request) { r.Volume = seed.Volume{Claim: "c", Path: "a/../../b"} },
		"--etcd-version":  func(r *seed.Request) { r.Volume = seed.Volume{Claim: "c"} },
		"--revision-bump": func(r *seed.Request) { r.RevisionBump = -1 },
	} {
		t.Run(flag, func(t *testing.T) {
			_, err := seed.Parse(request(change).Args())
			if err == nil || !strings.Contains(err.Error(), flag) {
				t.Errorf("the error does not name %s: %v", flag, err)
			}
		})
	}
	for name, args := range map[string][]string{
		"no arguments":         nil,
		"another command":      {"run"},
		"an unknown flag":      slices.Concat(request(nil).Args(), []string{"--nonsense"}),
		"a stray argument":     slices.Concat(request(nil).Args(), []string{"stray"}),
		"a size with a suffix": append(request(nil).Args(), "--size=5Gi"),
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if _, err := seed.Parse(args); err == nil {
				t.Errorf("%q was accepted", args)
			}
		})
	}
}

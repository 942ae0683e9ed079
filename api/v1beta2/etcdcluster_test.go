package v1beta2

import "testing"

func TestEtcdVersion(t *testing.T) {
	for name, test := range map[string]struct{ version, want string }{
		"is what the spec says":          {"3.5.33", "3.5.33"},
		"has no v":                       {"v3.5.33", "3.5.33"},
		"keeps the name of a prerelease": {"v3.7.0-rc.1", "3.7.0-rc.1"},
		"is the default where none is":   {"", DefaultVersion},
	} {
		t.Run(name, func(t *testing.T) {
			spec := EtcdClusterSpec{Version: test.version}
			if got := spec.EtcdVersion(); got != test.want {
				t.Errorf("version %q, want %q", got, test.want)
			}
		})
	}
}

func TestImage(t *testing.T) {
	for name, test := range map[string]struct {
		spec EtcdClusterSpec
		want string
	}{
		"has one v, whether the version has it or not": {EtcdClusterSpec{Repository: "example.com/etcd", Version: "v3.6.16"}, "example.com/etcd:v3.6.16"},
		"adds the v that the version lacks":            {EtcdClusterSpec{Repository: "example.com/etcd", Version: "3.6.16"}, "example.com/etcd:v3.6.16"},
		"keeps the port of a registry":                 {EtcdClusterSpec{Repository: "example.com:5000/etcd", Version: "3.6.16"}, "example.com:5000/etcd:v3.6.16"},
		"is the default where nothing is said":         {EtcdClusterSpec{}, DefaultRepository + ":v" + DefaultVersion},
		"has the tag of a registry without v":          {EtcdClusterSpec{Version: "v3.6.16", ImagePolicy: &ImagePolicy{Repository: "registry.k8s.io/etcd", Tag: "{version}-0"}}, "registry.k8s.io/etcd:3.6.16-0"},
		"has image.repository before repository":       {EtcdClusterSpec{Repository: DefaultRepository, Version: "3.6.16", ImagePolicy: &ImagePolicy{Repository: "mirror/etcd"}}, "mirror/etcd:v3.6.16"},
		"is pinned by its digest":                      {EtcdClusterSpec{Version: "3.6.16", ImagePolicy: &ImagePolicy{Digest: "sha256:ab"}}, DefaultRepository + ":v3.6.16@sha256:ab"},
		"does not change by a pull policy":             {EtcdClusterSpec{Version: "3.6.16", ImagePolicy: &ImagePolicy{PullPolicy: "Always"}}, DefaultRepository + ":v3.6.16"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.spec.Image(); got != test.want {
				t.Errorf("image %q, want %q", got, test.want)
			}
		})
	}
}

// A member that is kept on its version must not start on the image of the next one.
func TestTheDigestIsThatOfTheSpecsVersionOnly(t *testing.T) {
	spec := EtcdClusterSpec{Version: "3.7.3", ImagePolicy: &ImagePolicy{Digest: "sha256:ab"}}
	if got, want := spec.ImageOf("3.6.16"), DefaultRepository+":v3.6.16"; got != want {
		t.Errorf("image %q, want %q", got, want)
	}
}

func TestTLSPolicy(t *testing.T) {
	static := func(member *MemberSecret, operator string) *TLSPolicy {
		return &TLSPolicy{Static: &StaticTLS{Member: member, OperatorSecret: operator}}
	}
	for name, test := range map[string]struct {
		policy       *TLSPolicy
		peer, client bool
	}{
		"without a policy all is plain":       {nil, false, false},
		"without static Secrets all is plain": {&TLSPolicy{}, false, false},
		"without names all is plain":          {static(&MemberSecret{}, ""), false, false},
		"a peer Secret secures peers only":    {static(&MemberSecret{PeerSecret: "p"}, ""), true, false},
		"two Secrets secure clients only":     {static(&MemberSecret{ServerSecret: "s"}, "c"), false, true},
		"three Secrets secure both":           {static(&MemberSecret{PeerSecret: "p", ServerSecret: "s"}, "c"), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.policy.SecurePeer(); got != test.peer {
				t.Errorf("secure peers %v, want %v", got, test.peer)
			}
			if got := test.policy.SecureClient(); got != test.client {
				t.Errorf("secure clients %v, want %v", got, test.client)
			}
		})
	}
}

// Members report the release of etcd. The suffix that a registry appends belongs to the image.
func TestTheSuffixOfARegistryIsPartOfTheImageOnly(t *testing.T) {
	for version, want := range map[string][3]string{
		"3.6.16":     {"3.6.16", "quay.io/coreos/etcd:v3.6.16", "quay.io/coreos/etcd:v3.6.15"},
		"v3.6.16-0":  {"3.6.16", "quay.io/coreos/etcd:v3.6.16-0", "quay.io/coreos/etcd:v3.6.15-0"},
		"3.7.0-rc.1": {"3.7.0-rc.1", "quay.io/coreos/etcd:v3.7.0-rc.1", "quay.io/coreos/etcd:v3.6.15"},
		"":           {DefaultVersion, "quay.io/coreos/etcd:v" + DefaultVersion, "quay.io/coreos/etcd:v3.6.15"},
	} {
		spec := EtcdClusterSpec{Version: version}
		if got := [3]string{spec.EtcdVersion(), spec.Image(), spec.ImageOf("3.6.15")}; got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
	digest := "sha256:00"
	spec := EtcdClusterSpec{Version: "3.6.16-0", ImagePolicy: &ImagePolicy{Repository: "registry.k8s.io/etcd", Tag: "{version}", Digest: digest}}
	if got := spec.Image(); got != "registry.k8s.io/etcd:3.6.16-0@"+digest {
		t.Errorf("the image is %s", got)
	}
}

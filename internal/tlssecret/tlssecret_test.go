package tlssecret

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func secret(pairs ...string) map[string][]byte {
	data := map[string][]byte{}
	for _, pair := range pairs {
		key, content, _ := strings.Cut(pair, "=")
		data[key] = []byte(content)
	}
	return data
}

func TestASecretHasTheKeysOfEtcdOrThoseOfItsType(t *testing.T) {
	old := map[string][]byte{"peer.crt": []byte("C"), "peer.key": []byte("K"), "peer-ca.crt": []byte("A")}
	for name, test := range map[string]struct {
		data    map[string][]byte
		want    map[string][]byte
		problem string
	}{
		"the keys of etcd":                     {secret("peer.crt=C", "peer.key=K", "peer-ca.crt=A"), old, ""},
		"the keys of kubernetes.io/tls":        {secret("tls.crt=C", "tls.key=K", "ca.crt=A"), old, ""},
		"both: those of etcd count":            {secret("peer.crt=C", "peer.key=K", "peer-ca.crt=A", "tls.crt=x", "tls.key=x", "ca.crt=x"), old, ""},
		"one key of etcd beside the others":    {secret("peer.crt=C", "tls.crt=x", "tls.key=x", "ca.crt=x"), nil, "Secret s has no key peer.key. It needs the keys peer.crt, peer.key, peer-ca.crt. Or"},
		"an empty key of etcd":                 {secret("peer.crt=", "tls.crt=x", "tls.key=x", "ca.crt=x"), nil, "Secret s has no key peer.crt. "},
		"a Secret without a CA":                {secret("tls.crt=C", "tls.key=K"), nil, "Secret s has no key ca.crt. "},
		"an empty Secret":                      {secret(), nil, "Secret s has no key peer.crt. It needs the keys peer.crt, peer.key, peer-ca.crt. Or it needs tls.crt, tls.key and ca.crt, as Secrets of the type kubernetes.io/tls, and then none of the others."},
		"the keys of another use of a Secret":  {secret("server.crt=C", "server.key=K", "server-ca.crt=A"), nil, "Secret s has no key peer.crt. "},
		"a Secret that was not read":           {nil, nil, "Secret s has no key peer.crt. "},
		"only the CA of kubernetes.io/tls":     {secret("ca.crt=A"), nil, "Secret s has no key peer.crt. "},
		"a key of etcd that only has the CAs":  {secret("tls.crt=C", "tls.key=K", "peer-ca.crt=A"), nil, "Secret s has no key peer.crt. "},
		"a JKS key store beside kubernetes.io": {secret("tls.crt=C", "tls.key=K", "ca.crt=A", "keystore.jks=J"), old, ""},
	} {
		problem := Peer.Problem("s", test.data)
		if !strings.HasPrefix(problem, test.problem) || (test.problem == "") != (problem == "") {
			t.Errorf("%s: the problem is %q", name, problem)
		}
		if test.problem == "" {
			if diff := cmp.Diff(test.want, Peer.Of(test.data)); diff != "" {
				t.Errorf("%s: contents (-want +got):\n%s", name, diff)
			}
		}
	}
}

// files are what kubelet writes for a volume: later sources replace files of earlier ones, and an optional key may be missing.
func files(t *testing.T, k Keys, data map[string][]byte) map[string][]byte {
	t.Helper()
	written := map[string][]byte{}
	for _, source := range k.Volume("s").Projected.Sources {
		if source.Secret.Name != "s" {
			t.Fatalf("the volume mounts %s", source.Secret.Name)
		}
		if len(source.Secret.Items) == 0 {
			maps.Copy(written, data)
		}
		for _, item := range source.Secret.Items {
			if content, has := data[item.Key]; has {
				written[item.Path] = content
			} else if source.Secret.Optional == nil || !*source.Secret.Optional {
				t.Errorf("a Pod waits for the key %s", item.Key)
			}
		}
	}
	return written
}

// If the operator and etcd read different certificates, the operator does not know what members trust.
func TestEtcdReadsWhatTheOperatorReads(t *testing.T) {
	for _, k := range []Keys{Peer, Server, Client} {
		own := secret(k.Cert+"=C", k.Key+"=K", k.CA+"=A")
		both := maps.Clone(own)
		maps.Copy(both, secret("tls.crt=x", "tls.key=x", "ca.crt=x"))
		for name, data := range map[string]map[string][]byte{"own": own, "standard": secret("tls.crt=C", "tls.key=K", "ca.crt=A"), "both": both} {
			written, read := files(t, k, data), k.Of(data)
			for _, key := range k.list() {
				if string(written[key]) != string(read[key]) || len(read[key]) != 1 {
					t.Errorf("%s keys: etcd reads %q from %s, and the operator %q", name, written[key], key, read[key])
				}
			}
			for key := range data {
				if !slices.Contains(k.Read(), key) {
					t.Errorf("the key %s is not read", key)
				}
			}
		}
	}
}

// secretFields are the fields of all specs that name a Secret: those with certificates, and what the others have. Whoever reads a
// Secret with certificates uses Of and Problem, or Volume.
var secretFields = map[string]string{
	"EtcdCluster.TLS.static.member.peerSecret":   "certificates",
	"EtcdCluster.TLS.static.member.serverSecret": "certificates",
	"EtcdCluster.TLS.static.operatorSecret":      "certificates",
	"EtcdBackup.clientTLSSecret":                 "certificates",
	"EtcdCluster.auth.operatorSecret":            "a user",
	"EtcdCluster.auth.users.passwordSecret":      "a password",
	"EtcdBackup.clientAuthSecret":                "a user",
	"EtcdBackup.s3.awsSecret":                    "a store",
	"EtcdBackup.gcs.gcpSecret":                   "a store",
	"EtcdBackup.abs.absSecret":                   "a store",
	"EtcdBackup.oss.ossSecret":                   "a store",
	"EtcdBackup.copyTo.s3.awsSecret":             "a store",
	"EtcdBackup.copyTo.gcs.gcpSecret":            "a store",
	"EtcdBackup.copyTo.abs.absSecret":            "a store",
	"EtcdBackup.copyTo.oss.ossSecret":            "a store",
	"EtcdRestore.s3.awsSecret":                   "a store",
	"EtcdRestore.gcs.gcpSecret":                  "a store",
	"EtcdRestore.abs.absSecret":                  "a store",
	"EtcdRestore.oss.ossSecret":                  "a store",
	"EtcdBackup.signing.secret":                  "a key to sign with",
	"EtcdCluster.pod.imagePullSecrets":           "a registry",
}

func TestEachFieldThatNamesASecretSaysWhatIsInIt(t *testing.T) {
	var found []string
	for kind, spec := range map[string]reflect.Type{
		"EtcdCluster": reflect.TypeFor[v1beta2.EtcdClusterSpec](), "EtcdBackup": reflect.TypeFor[v1beta2.EtcdBackupSpec](), "EtcdRestore": reflect.TypeFor[v1beta2.EtcdRestoreSpec](),
	} {
		found = append(found, secretsBelow(spec, kind)...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	for _, path := range found {
		if secretFields[path] == "" {
			t.Errorf("%s names a Secret. If that has certificates, read it by this package. Add the field to secretFields", path)
		}
	}
	for path := range secretFields {
		if !slices.Contains(found, path) {
			t.Errorf("there is no field %s", path)
		}
	}
}

// secretsBelow are the fields whose names end with Secret, in the types of this API.
func secretsBelow(in reflect.Type, prefix string) []string {
	var paths []string
	for i := range in.NumField() {
		field := in.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path, inner := prefix+"."+name, field.Type
		if name == "" {
			path = prefix
		}
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		switch lower := strings.ToLower(name); {
		case strings.HasSuffix(lower, "secret"), strings.HasSuffix(lower, "secrets"):
			if !strings.Contains(prefix, ".pod.volumes") { // any Secret of the user, for a container of the user
				paths = append(paths, path)
			}
		case inner.Kind() == reflect.Struct && strings.HasSuffix(inner.PkgPath(), "/v1beta2"):
			paths = append(paths, secretsBelow(inner, path)...)
		}
	}
	return paths
}

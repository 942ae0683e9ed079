package integration

import (
	"strings"
	"testing"
)

const (
	wantSize    = "spec.size: size is 1 to 7: write 3 (survives the loss of one member) or 5 (of two)"
	wantVersion = `spec.version: version is three numbers, for example "3.6.16" (quoted)`
	wantLong    = "<nil>: the name of an EtcdCluster has at most 52 characters, because its members' names add 11: choose a shorter one"
	wantName    = "<nil>: the name of an EtcdCluster is also that of its Services: lower-case letters, digits and '-', and it starts with a letter"
	wantLabels  = "spec.pod.labels: the label keys app, etcd_* and etcd.database.coreos.com/* belong to the operator: choose other keys"
	wantTLS     = "spec.TLS.static: operatorSecret and member.serverSecret go together: write both (TLS for clients) or neither"
)

func TestEtcdClusterIsRefused(t *testing.T) {
	runRefused(t, "EtcdCluster", map[string]refused{
		"no spec":                         {spec: "", want: "spec: Required value"},
		"no size":                         {spec: "{}", want: "spec.size: Required value"},
		"size 0":                          {spec: "{size: 0}", want: wantSize},
		"a negative size":                 {spec: "{size: -1}", want: wantSize},
		"size 8":                          {spec: "{size: 8}", want: wantSize},
		"size 12":                         {spec: "{size: 12}", want: wantSize},
		"a size in words":                 {spec: "{size: three}", want: `spec.size: in body must be of type integer: "string"`},
		"two numbers for a version":       {spec: `{size: 3, version: "3.6"}`, want: wantVersion},
		"a word for a version":            {spec: "{size: 3, version: latest}", want: wantVersion},
		"two v before a version":          {spec: "{size: 3, version: vv3.6.16}", want: wantVersion},
		"four numbers for a version":      {spec: "{size: 3, version: 3.6.16.1}", want: wantVersion},
		"a space in a version":            {spec: `{size: 3, version: "3.6.16 "}`, want: wantVersion},
		"a version with build metadata":   {spec: "{size: 3, version: 3.6.16+build}", want: wantVersion},
		"a version that YAML has rounded": {spec: "{size: 3, version: 3.6}", want: `spec.version: in body must be of type string: "number"`},
		"a version without end":           {spec: "{size: 3, version: 3.6.16-" + strings.Repeat("a", 64) + "}", want: "spec.version: may not be more than 64 bytes"},
		"a repository without end":        {spec: "{size: 3, repository: " + strings.Repeat("a", 513) + "}", want: "spec.repository: may not be more than 512 bytes"},

		"a name of 53 characters":         {name: strings.Repeat("a", 53), spec: "{size: 3}", want: wantLong},
		"a name with a dot":               {name: "example.one", spec: "{size: 3}", want: wantName},
		"a name that starts with a digit": {name: "1example", spec: "{size: 3}", want: wantName},

		"the label app":                      {spec: "{size: 3, pod: {labels: {app: mine}}}", want: wantLabels},
		"a label etcd_x":                     {spec: "{size: 3, pod: {labels: {etcd_x: mine}}}", want: wantLabels},
		"a label of this API's group":        {spec: `{size: 3, pod: {labels: {etcd.database.coreos.com/incarnation: "2"}}}`, want: wantLabels},
		"the annotation etcd.version":        {spec: "{size: 3, pod: {annotations: {etcd.version: 3.6.16}}}", want: "spec.pod.annotations: the annotation etcd.version belongs to the operator: choose another key"},
		"65 labels":                          {spec: "{size: 3, pod: {labels: {" + pairs(65) + "}}}", want: "spec.pod.labels: must have at most 64 items"},
		"65 annotations":                     {spec: "{size: 3, pod: {annotations: {" + pairs(65) + "}}}", want: "spec.pod.annotations: must have at most 64 items"},
		"one environment variable twice":     {spec: "{size: 3, pod: {etcdEnv: [{name: A, value: one}, {name: A, value: two}]}}", want: `spec.pod.etcdEnv[1]: Duplicate value: {"name":"A"}`},
		"one pull secret twice":              {spec: "{size: 3, pod: {imagePullSecrets: [{name: a}, {name: a}]}}", want: `spec.pod.imagePullSecrets[1]: Duplicate value: {"name":"a"}`},
		"a cluster domain without end":       {spec: "{size: 3, pod: {ClusterDomain: " + strings.Repeat("a", 254) + "}}", want: "spec.pod.ClusterDomain: may not be more than 253 bytes"},
		"emptyDir and a claim":               {spec: "{size: 3, pod: {emptyDir: {}, persistentVolumeClaimSpec: {}}}", want: "spec.pod: write either emptyDir (data is lost with the Pod) or persistentVolumeClaimSpec (data is kept), not both"},
		"a quantity that is none":            {spec: "{size: 3, pod: {resources: {limits: {cpu: much}}}}", want: "spec.pod.resources.limits.cpu: [numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$'"},
		"operatorSecret alone":               {spec: "{size: 3, TLS: {static: {operatorSecret: client}}}", want: wantTLS},
		"operatorSecret with a peerSecret":   {spec: "{size: 3, TLS: {static: {operatorSecret: client, member: {peerSecret: peer}}}}", want: wantTLS},
		"operatorSecret, serverSecret empty": {spec: `{size: 3, TLS: {static: {operatorSecret: client, member: {serverSecret: ""}}}}`, want: wantTLS},
		"serverSecret alone":                 {spec: "{size: 3, TLS: {static: {member: {serverSecret: server}}}}", want: wantTLS},
		"serverSecret, operatorSecret empty": {spec: `{size: 3, TLS: {static: {operatorSecret: "", member: {serverSecret: server}}}}`, want: wantTLS},
		"a Secret's name without end":        {spec: "{size: 3, TLS: {static: {member: {peerSecret: " + strings.Repeat("a", 254) + "}}}}", want: "spec.TLS.static.member.peerSecret: may not be more than 253 bytes"},
	})
}

func TestEtcdClusterIsAccepted(t *testing.T) {
	runAccepted(t, "EtcdCluster", map[string]accepted{
		"size 1":                         {spec: "{size: 1}"},
		"an even size":                   {spec: "{size: 2}"},
		"size 7":                         {spec: "{size: 7}"},
		"a version":                      {spec: "{size: 3, version: 3.5.33}"},
		"a version with v":               {spec: "{size: 3, version: v3.6.16}"},
		"a release candidate":            {spec: "{size: 3, version: 3.7.0-rc.0}"},
		"the default version of old":     {spec: `{size: 3, version: "3.2.13"}`},
		"an empty version":               {spec: `{size: 3, version: ""}`},
		"an empty repository":            {spec: `{size: 3, repository: ""}`},
		"a repository with a port":       {spec: "{size: 3, repository: registry.example.com:5000/mirror/etcd}"},
		"a name of 52 characters":        {name: strings.Repeat("a", 52), spec: "{size: 3}"},
		"a name of one letter":           {name: "e", spec: "{size: 3}"},
		"a name with digits and hyphens": {name: "etcd-2-a", spec: "{size: 3}"},
		"other labels and annotations":   {spec: `{size: 3, pod: {labels: {app.kubernetes.io/part-of: shop, application: x}, annotations: {etcd.versions: x}}}`},
		"64 labels":                      {spec: "{size: 3, pod: {labels: {" + pairs(64) + "}}}"},
		"emptyDir":                       {spec: "{size: 3, pod: {emptyDir: {}}}"},
		"emptyDir in memory":             {spec: "{size: 3, pod: {emptyDir: {medium: Memory, sizeLimit: 1Gi}}}"},
		"a claim":                        {spec: "{size: 3, pod: {persistentVolumeClaimSpec: {resources: {requests: {storage: 1Gi}}}}}"},
		"TLS without anything":           {spec: "{size: 3, TLS: {}}"},
		"static TLS without anything":    {spec: "{size: 3, TLS: {static: {}}}"},
		"TLS between members only":       {spec: "{size: 3, TLS: {static: {member: {peerSecret: peer}}}}"},
		"TLS for clients only":           {spec: "{size: 3, TLS: {static: {operatorSecret: client, member: {serverSecret: server}}}}"},
		"TLS names left empty":           {spec: `{size: 3, TLS: {static: {operatorSecret: "", member: {serverSecret: "", peerSecret: ""}}}}`},
	})
}

// pairs is the inside of a YAML map with n entries.
func pairs(n int) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = "k" + strings.Repeat("x", i) + ": v"
	}
	return strings.Join(entries, ", ")
}

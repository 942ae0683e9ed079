package integration

import (
	"fmt"
	"strings"
	"testing"
)

// A user with a wrong spec.auth read only in the status, or not at all, that a client may not do what it should.
func TestAWrongAuthIsRefused(t *testing.T) {
	auth := func(fields string) string { return "{size: 1, auth: {" + fields + "}}" }
	role := func(permission string) string { return auth("roles: [{name: r, permissions: [" + permission + "]}]") }
	const oneRange, certified = "spec.auth.roles[0].permissions[0]: Write one of prefix, key and range", "spec.auth.users[0]: A user with a certificate has a name of lower-case letters"
	runRefused(t, "EtcdCluster", map[string]refused{
		"a permission for a prefix and a key":  {spec: role("{prefix: /a/, key: b, access: Read}"), want: oneRange + "."},
		"a permission for no keys":             {spec: role("{access: Read}"), want: oneRange + "."},
		"an access that does not exist":        {spec: role("{prefix: /a/, access: Execute}"), want: `spec.auth.roles[0].permissions[0].access: Unsupported value: "Execute": supported values: "Read", "Write", "ReadWrite"`},
		"a range that ends before it begins":   {spec: role("{range: {from: b, to: a}, access: Read}"), want: "spec.auth.roles[0].permissions[0].range: from must come before to."},
		"a role named root":                    {spec: auth("roles: [{name: root}]"), want: "spec.auth.roles[0].name: etcd has the role root itself: choose another name."},
		"a user named root":                    {spec: auth("users: [{name: root}]"), want: "spec.auth.users[0].name: root is the user of the operators: choose another name."},
		"a certificate of a user named peer":   {spec: auth("users: [{name: peer, certificate: {}}]"), want: certified + ", digits and hyphens, and does not end with peer, server, client or operator as a word, because a Secret of this or another EtcdCluster has that name."},
		"a certificate of a user with a dot":   {spec: auth("users: [{name: a.b, certificate: {}}]"), want: certified + ", digits and hyphens, and does not end with peer, server, client or operator as a word, because a Secret of this or another EtcdCluster has that name."},
		"the Secret of another EtcdCluster":    {spec: auth("users: [{name: shop-client, certificate: {}}]"), want: certified + ", digits and hyphens, and does not end with peer, server, client or operator as a word, because a Secret of this or another EtcdCluster has that name."},
		"more passwords than are read":         {spec: auth("users: [" + users(51, "passwordSecret: s") + "]"), want: "spec.auth.users: At most 50 users may have a passwordSecret. The others authenticate by the common name of a certificate."},
		"more certificates than are written":   {spec: auth("users: [" + users(101, "certificate: {}") + "]"), want: "spec.auth.users: At most 100 users may have a certificate. Issue those of others with cert-manager."},
		"a user with the operators' password":  {spec: auth("operatorSecret: s, users: [{name: a, passwordSecret: s}]"), want: "spec.auth: A user of spec.auth.users cannot have the password of the operators: name another Secret in passwordSecret."},
		"a removal policy that does not exist": {spec: auth("removalPolicy: Forget"), want: `spec.auth.removalPolicy: Unsupported value: "Forget": supported values: "Delete", "Retain"`},
	})
	runAccepted(t, "EtcdCluster", map[string]accepted{
		"nothing about users":             {spec: auth("")},
		"a certificate of another client": {spec: auth("users: [{name: client-2, certificate: {}}, {name: theclient, certificate: {}}]")},
		"as many users as may be":         {spec: auth("enabled: true, users: [" + users(1500, "roles: [r]") + "], roles: [{name: r}]")},
		"all keys, and names of any kind": {spec: auth(`roles: [{name: "a b", permissions: [{prefix: "", access: ReadWrite}]}], users: [{name: "CN=x, O=y"}]`)},
	})
}

// users are several of them.
func users(n int, with string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("{name: u%d, %s}", i, with))
	}
	return strings.Join(list, ", ")
}

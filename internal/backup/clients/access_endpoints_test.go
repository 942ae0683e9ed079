package clients

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// A user who may create an EtcdBackup and may not read Secrets would get the password at a server of theirs.
func TestThePasswordOfASecretIsSentOnlyWhereItsOwnerAllows(t *testing.T) {
	for name, test := range map[string]struct {
		o     state.JobSpec
		named string
		want  string
	}{
		"an endpoint without TLS":              {state.JobSpec{URLs: []string{"http://mine:2379"}}, "", "http://mine:2379"},
		"an endpoint without TLS, with a CA":   {state.JobSpec{URLs: []string{"http://mine:2379"}, TLSSecret: "tls"}, "", "http://mine:2379"},
		"https without a CA":                   {state.JobSpec{URLs: []string{"https://mine:2379"}}, "", "https://mine:2379"},
		"https with a CA":                      {state.JobSpec{URLs: []string{"https://etcd:2379", "HTTPS://etcd2:2379"}, TLSSecret: "tls"}, "", ""},
		"one of several without TLS":           {state.JobSpec{URLs: []string{"https://etcd:2379", "http://mine:2379"}, TLSSecret: "tls"}, "", "http://mine:2379"},
		"endpoints that the Secret names":      {state.JobSpec{URLs: []string{"http://a:2379", "http://b:2379/"}}, "http://a:2379/,\n http://b:2379\n", ""},
		"an endpoint that begins like another": {state.JobSpec{URLs: []string{"http://a:2379.mine"}}, "http://a:2379", "http://a:2379.mine"},
		"members of an EtcdCluster":            {state.JobSpec{URLs: []string{"http://example:2379"}, MayLackUser: true}, "", ""},
	} {
		if got := notAllowed(test.o, test.named); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

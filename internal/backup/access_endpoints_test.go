package backup

import "testing"

// A user who may create an EtcdBackup and may not read Secrets would get the password at a server of theirs.
func TestThePasswordOfASecretIsSentOnlyWhereItsOwnerAllows(t *testing.T) {
	for name, test := range map[string]struct {
		o     jobSpec
		named string
		want  string
	}{
		"an endpoint without TLS":              {jobSpec{URLs: []string{"http://mine:2379"}}, "", "http://mine:2379"},
		"an endpoint without TLS, with a CA":   {jobSpec{URLs: []string{"http://mine:2379"}, TLSSecret: "tls"}, "", "http://mine:2379"},
		"https without a CA":                   {jobSpec{URLs: []string{"https://mine:2379"}}, "", "https://mine:2379"},
		"https with a CA":                      {jobSpec{URLs: []string{"https://etcd:2379", "HTTPS://etcd2:2379"}, TLSSecret: "tls"}, "", ""},
		"one of several without TLS":           {jobSpec{URLs: []string{"https://etcd:2379", "http://mine:2379"}, TLSSecret: "tls"}, "", "http://mine:2379"},
		"endpoints that the Secret names":      {jobSpec{URLs: []string{"http://a:2379", "http://b:2379/"}}, "http://a:2379/,\n http://b:2379\n", ""},
		"an endpoint that begins like another": {jobSpec{URLs: []string{"http://a:2379.mine"}}, "http://a:2379", "http://a:2379.mine"},
		"members of an EtcdCluster":            {jobSpec{URLs: []string{"http://example:2379"}, MayLackUser: true}, "", ""},
	} {
		if got := notAllowed(test.o, test.named); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

package migrate

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// The Secret names a URL for backup-operator. On the machine of a user, the same name may lead to a server of somebody else, who would read the password of root.
func TestAPasswordIsSentWithoutTLSOnlyToAnAddressThatTheUserNames(t *testing.T) {
	const plain, secure = "http://old.default.svc:2379", "https://old.default.svc:2379"
	for _, c := range []struct {
		endpoint, certificate, named, via string
		sent                              bool
	}{
		{plain, "", plain, "", false},
		{plain, "", plain, "localhost:2379", true},
		{plain, "", "", "localhost:2379", false},
		{plain, "", "http://other:2379", "localhost:2379", false},
		{secure, "client", "", "", true},
		{secure, "", "", "", false},
	} {
		spec := v1beta2.EtcdBackupSpec{EtcdEndpoints: []string{c.endpoint}, ClientTLSSecret: c.certificate}
		if at := passwordRefused(spec, c.named, c.via); (at == "") != c.sent {
			t.Errorf("%+v: it is refused for %q", c, at)
		}
	}
}

package e2e

import (
	"context"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// rootPassword of etcd in this test.
const rootPassword = "correct-horse"

// operatorUser is the Secret that a user writes for the operators.
const operatorUser = `
apiVersion: v1
kind: Secret
metadata: {name: guarded-operator}
type: kubernetes.io/basic-auth
stringData: {username: root, password: ` + rootPassword + `}
`

func guarded(size int, version, more string) string {
	return fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: guarded}
spec: {size: %d, version: %q%s}
`, size, version, more)
}

func TestEveryOperationWorksWithAuthenticationOn(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(guarded(1, "3.5.35", ""))
	n.ready("guarded")
	plain := n.etcd("guarded", nil)
	n.put(plain, "key", 20)
	pods := n.podUIDs("guarded")
	n.enableAuth(plain)
	says(n, &v1beta2.EtcdCluster{}, "guarded", v1beta2.ConditionReady, v1beta2.ReasonEtcdAccessDenied, "it has no user", "spec.auth.operatorSecret")
	becomes(n, &v1beta2.EtcdCluster{}, "guarded", v1beta2.ConditionAvailable)

	const auth = ", auth: {operatorSecret: guarded-operator}"
	n.apply(operatorUser, guarded(1, "3.5.35", auth))
	n.ready("guarded")
	if after := n.podUIDs("guarded"); fmt.Sprint(after) != fmt.Sprint(pods) {
		t.Errorf("the Pods changed from %v to %v", pods, after)
	}
	traffic := n.trafficOf(n.asRoot("guarded"))
	n.apply(guarded(3, "3.5.35", auth))
	n.ready("guarded")
	n.memberReplaced("guarded")
	n.apply(guarded(3, "3.6.16", auth))
	n.ready("guarded")
	traffic.stop("growth, a replacement and an upgrade with authentication on")

	path := stack.Bucket + "/" + n.name + "/guarded.db"
	n.apply(s3Backup("guarded", ofCluster("guarded"), path))
	becomes(n, &v1beta2.EtcdBackup{}, "guarded", v1beta2.ConditionComplete)
	n.eventuallyQuiet(func(ctx context.Context) error {
		_, err := n.asRoot("guarded").Delete(ctx, "key-7")
		return err
	})
	n.apply(s3Restore("guarded", "guarded", path))
	becomes(n, &v1beta2.EtcdRestore{}, "guarded", v1beta2.ConditionComplete)
	n.ready("guarded")
	n.has(n.asRoot("guarded"), "key", 20)
	if _, err := n.etcd("guarded", nil).Get(t.Context(), "key-7"); err == nil {
		t.Error("authentication is off after the restore")
	}

	n.kubectl("patch", "etcdcluster/guarded", "--type=merge", "-p", `{"spec":{"hibernate":true}}`)
	says(n, &v1beta2.EtcdCluster{}, "guarded", v1beta2.ConditionReady, v1beta2.ReasonHibernated)
	n.kubectl("patch", "etcdcluster/guarded", "--type=merge", "-p", `{"spec":{"hibernate":false}}`)
	n.ready("guarded")
	n.apply(guarded(1, "3.6.16", auth))
	n.ready("guarded")
	n.has(n.asRoot("guarded"), "key", 20)
	n.operatorsNeverRestarted()
}

// enableAuth creates the user root and turns authentication on.
func (n *namespaced) enableAuth(etcd *clientv3.Client) {
	n.Helper()
	for what, do := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := etcd.UserAdd(ctx, "root", rootPassword); return err },
		func(ctx context.Context) error { _, err := etcd.UserGrantRole(ctx, "root", "root"); return err },
		func(ctx context.Context) error { _, err := etcd.AuthEnable(ctx); return err },
	} {
		if err := do(n.Context()); err != nil {
			n.Fatalf("step %d of turning authentication on: %v", what+1, err)
		}
	}
}

// asRoot returns a client of the cluster's client Service with the user root.
func (n *namespaced) asRoot(cluster string) (etcd *clientv3.Client) {
	n.Helper()
	n.eventuallyQuiet(func(context.Context) (err error) {
		etcd, err = suite.EtcdAs(n.Context(), n.name, cluster, nil, "root", rootPassword)
		return err
	})
	n.Cleanup(func() { _ = etcd.Close() })
	return etcd
}

// memberReplaced deletes a member with its data, and waits until another one has taken its place.
func (n *namespaced) memberReplaced(cluster string) {
	n.Helper()
	victim := n.ready(cluster).Status.MemberStatuses[0]
	n.kubectl("delete", "pvc", victim.Name, "--wait=false")
	n.kubectl("delete", "pod", victim.Name, "--wait=false")
	n.eventually("member "+victim.Name+" is replaced", func(ctx context.Context) error {
		var object v1beta2.EtcdCluster
		if err := suite.Client.Get(ctx, client.ObjectKey{Namespace: n.name, Name: cluster}, &object); err != nil {
			return err
		}
		for _, id := range memberIDs(&object) {
			if id == victim.ID {
				return fmt.Errorf("member %s still has a vote", id)
			}
		}
		return nil
	})
	if n.ready(cluster); len(n.pods(cluster)) != 3 {
		n.Errorf("the cluster has %d Pods, expected 3", len(n.pods(cluster)))
	}
}

func TestApplicationsWithManagedCertificatesAreNotRoot(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: shop}
spec: {size: 1, version: "3.6.16", TLS: {managed: {clientCommonName: shop}}}
`)
	cluster := n.ready("shop")
	operator := n.etcd("shop", n.reloadingConfig(cluster.Status.OperatorTLSSecret))
	n.put(operator, "key", 3)
	n.enableAuth(operator)
	application := n.etcd("shop", n.reloadingConfig(cluster.Status.ClientTLSSecret))
	if _, err := application.Get(t.Context(), "key-1"); err == nil {
		t.Error("the applications' certificate may read everything")
	}
	n.kubectl("scale", "etcdcluster/shop", "--replicas=3")
	if cluster = n.ready("shop"); cluster.Status.Size != 3 {
		t.Errorf("%d members serve, expected 3", cluster.Status.Size)
	}
	n.has(operator, "key", 3)
}

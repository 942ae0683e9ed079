package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// Every namespace could use the cloud identity of the operators, at every path.
func TestTheOwnIdentityServesNoNamespaceByDefault(t *testing.T) {
	r := render(t, "")
	for _, component := range []string{backupOperator, restoreOperator} {
		if args := r.deployment(t, component).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--own-identity=[]") {
			t.Errorf("%s has the arguments %v", component, args)
		}
	}
}

// An administrator must not find out by a failed backup, and not by notes that Argo CD does not show.
func TestHelmFailsIfNobodyHasDecidedWhoMayUseTheOwnIdentity(t *testing.T) {
	const annotated = "backupOperator: {serviceAccount: {annotations: {iam.gke.io/gcp-service-account: x}}"
	for name, test := range map[string]struct {
		values string
		want   []string // nothing if it is accepted
	}{
		"the former value": {"backupOperator: {ownIdentityNamespaces: [team-a, team-b]}", []string{
			"backupOperator.ownIdentityNamespaces is replaced by ownIdentity", "backupOperator:\n  ownIdentity:\n    - namespaces: [\"team-a\",\"team-b\"]\n      pathPrefix: \"*\"\n"}},
		"the former value with its default":  {`restoreOperator: {ownIdentityNamespaces: ["*"]}`, []string{"restoreOperator:\n  ownIdentity:\n    - namespaces: [\"*\"]\n      pathPrefix: \"*\"\n"}},
		"the former value for none":          {"restoreOperator: {ownIdentityNamespaces: []}", []string{"restoreOperator:\n  ownIdentity: []\n"}},
		"both values":                        {"backupOperator: {ownIdentityNamespaces: [team-a], ownIdentity: []}", []string{"has no effect any more"}},
		"a default that Helm has kept":       {`backupOperator: {ownIdentityNamespaces: ["*"], ownIdentity: []}`, nil},
		"the former value removed":           {"backupOperator: {ownIdentityNamespaces: null}", nil},
		"an identity of a cloud":             {annotated + "}", []string{"iam.gke.io/gcp-service-account", "pathPrefix: \"my-bucket/{namespace}/\"", "backupOperator.ownIdentity: []"}},
		"an identity of a cloud for none":    {annotated + ", ownIdentity: []}", nil},
		"an identity of a cloud with a list": {annotated + `, ownIdentity: [{namespaces: ["*"], pathPrefix: "b/{namespace}/"}]}`, nil},
		"an operator that is not installed":  {annotated + ", enabled: false}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := template(t, test.values)
			if (err == nil) != (test.want == nil) {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("the error does not contain %q:\n%s", want, out)
				}
			}
		})
	}
}

// The lines that the message says to write must be accepted.
func TestTheLinesForTheFormerValueWork(t *testing.T) {
	out, _ := template(t, "backupOperator: {ownIdentityNamespaces: [team-a]}")
	_, lines, found := strings.Cut(out, "and write:\n\n")
	lines, _, ended := strings.Cut(lines, "\nTo keep namespaces apart")
	if !found || !ended {
		t.Fatal(out)
	}
	args := render(t, lines).deployment(t, backupOperator).Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, `--own-identity=[{"namespaces":["team-a"],"pathPrefix":"*"}]`) {
		t.Errorf("with the lines\n%s\nthe arguments are %v", lines, args)
	}
}

const withoutSecrets = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: by-identity}
spec: {etcdCluster: {name: c}, storageType: S3, s3: {path: b/k}}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: with-keys}
spec: {etcdCluster: {name: c}, storageType: S3, s3: {path: b/k, awsSecret: keys}}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: by-identity}
spec: {etcdCluster: {name: c}, backupStorageType: GCS, gcs: {path: b/k}}
`

// The upgrade from a chart that allowed all namespaces must name what would fail after it.
func TestAnUpgradeNamesTheObjectsThatUseTheOwnIdentity(t *testing.T) {
	s, namespace := newSite(t), kubetest.Namespace(t)
	s.helm(t, "install", releaseName, earlierChart, "--namespace", namespace, "--wait=hookOnly")
	kubetest.MustKubectl(t, "", "wait", "customresourcedefinitions", "--all", "--for=condition=Established", "--timeout=60s")
	kubetest.MustKubectl(t, withoutSecrets, "apply", "--namespace", namespace, "-f", "-")
	upgrade := func(values string) (string, error) {
		return helm(t, values, "upgrade", releaseName, chartDir, "--namespace", namespace, "--reset-then-reuse-values", "--wait=hookOnly", "--values", "-", "--kubeconfig", s.kubeconfig)
	}
	out, err := upgrade("restoreOperator: {ownIdentity: []}")
	if err == nil || !strings.Contains(out, "These EtcdBackups name no Secret") || !strings.Contains(out, namespace+"/by-identity.") || strings.Contains(out, "with-keys") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err = upgrade("backupOperator: {ownIdentity: []}"); err == nil || !strings.Contains(out, "These EtcdRestores name no Secret") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err = upgrade("backupOperator: {ownIdentity: []}\nrestoreOperator: {ownIdentity: []}"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	s.helm(t, "uninstall", releaseName, "--namespace", namespace)
}

package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestInvalidValuesAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ values, want string }{
		"a misspelt value of an operator": {"clusterOperator: {replicaz: 1}", "'replicaz' not allowed"},
		"an unknown operator":             {"defragOperator: {enabled: true}", "'defragOperator' not allowed"},
		"a number as a tag":               {"image: {tag: 1.2}", "at '/image/tag': got number, want string"},
		"namespaces as a text":            {"watchNamespaces: a,b", "at '/watchNamespaces': got string, want array"},
		"a namespace twice":               {"watchNamespaces: [a, a]", "at '/watchNamespaces'"},
		"no name of a namespace":          {"watchNamespaces: [Team]", "at '/watchNamespaces/0': 'Team'"},
		"replicas as a text":              {"backupOperator: {replicas: two}", "at '/backupOperator/replicas'"},
		"a log level that does not exist": {"log: {level: trace}", "must be one of 'error', 'info', 'debug'"},
		"a spool without a size":          {"backupOperator: {spool: {sizeLimit: large}}", "at '/backupOperator/spool/sizeLimit'"},
		"no snapshot at a time":           {"backupOperator: {concurrency: {snapshots: 0}}", "at '/backupOperator/concurrency/snapshots'"},
		"a full disk of restores":         {"restoreOperator: {spool: {keepFreePercent: 95}}", "at '/restoreOperator/spool/keepFreePercent'"},
		"a full disk":                     {"backupOperator: {spool: {keepFreePercent: 95}}", "at '/backupOperator/spool/keepFreePercent'"},
		"a spool of cluster-operator":     {"clusterOperator: {spool: {sizeLimit: 1Gi}}", "'spool' not allowed"},
		"a digest that is none":           {"restoreOperator: {image: {digest: latest}}", "at '/restoreOperator/image/digest'"},
		"a block removed":                 {"clusterOperator: {metrics: null}", "missing property 'metrics'"},
		"a label that the chart owns":     {"commonLabels: {app.kubernetes.io/name: x}", "'app.kubernetes.io/name'"},
		"a second volume called spool":    {"backupOperator: {extraVolumes: [{name: spool}]}", "at '/backupOperator/extraVolumes/0/name'"},
		"two replicas and no election":    {"backupOperator: {replicas: 2, leaderElection: false}", "set leaderElection to true or replicas to 1"},
		"a probe of another kind":         {"backupOperator: {livenessProbe: {exec: {command: [x]}}}", "'exec' not allowed"},
		"a budget that blocks all drains": {"backupOperator: {podDisruptionBudget: {maxUnavailable: 0}}", "at '/backupOperator/podDisruptionBudget/maxUnavailable'"},
		"a strategy that does not exist":  {"backupOperator: {strategy: {type: OnDelete}}", "at '/backupOperator/strategy/type'"},
		"no cluster at a time":            {"clusterOperator: {concurrency: {clusters: 0}}", "at '/clusterOperator/concurrency/clusters'"},
		"an extra object that is a list":  {"extraObjects: [[1]]", "at '/extraObjects/0'"},
		"an entry without a prefix":       {"backupOperator: {ownIdentity: [{namespaces: [a]}]}", "missing property 'pathPrefix'"},
		"an empty prefix":                 {`backupOperator: {ownIdentity: [{namespaces: [a], pathPrefix: ""}]}`, "at '/backupOperator/ownIdentity/0/pathPrefix'"},
		"a prefix that leads up":          {"restoreOperator: {ownIdentity: [{namespaces: [a], pathPrefix: b/../c}]}", "at '/restoreOperator/ownIdentity/0/pathPrefix'"},
		"a prefix with a wildcard":        {"restoreOperator: {ownIdentity: [{namespaces: [a], pathPrefix: b/*}]}", "at '/restoreOperator/ownIdentity/0/pathPrefix'"},
		"an entry without namespaces":     {"backupOperator: {ownIdentity: [{namespaces: [], pathPrefix: b/}]}", "at '/backupOperator/ownIdentity/0/namespaces'"},
		"a misspelt part of an entry":     {"backupOperator: {ownIdentity: [{namespaces: [a], pathPrefix: b/, prefix: c}]}", "'prefix' not allowed"},
		"an alert that does not exist":    {"monitoring: {prometheusRule: {enabled: true, alerts: {EtcdClusterTypo: {enabled: false}}}}", "there is no alert of that name"},
		"a misspelt change of an alert":   {"monitoring: {prometheusRule: {alerts: {EtcdClusterStalled: {enable: false}}}}", "'enable' not allowed"},
		"a family that does not exist":    {"backupOperator: {metrics: {service: {ipFamilies: [IPv5]}}}", "at '/backupOperator/metrics/service/ipFamilies/0'"},
		"no account and no name of one":   {"backupOperator: {serviceAccount: {create: false}}", "name the account in serviceAccount.name"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := template(t, test.values)
			if err == nil {
				t.Fatal("helm accepts the invalid values")
			}
			if !strings.Contains(out, test.want) {
				t.Errorf("the error does not contain %q:\n%s", test.want, out)
			}
		})
	}
}

func TestValuesOfAParentChartAreAccepted(t *testing.T) {
	render(t, "global: {region: north}\nenabled: true")
}

const everything = `
image: {registry: mirror.example.com/etcd, tag: v9, pullPolicy: Always}
imagePullSecrets: [{name: pull}]
fullnameOverride: suite
commonLabels: {team: storage}
log: {level: debug, format: text}
clusterOperator: {seedImage: "mirror.example.com/seed:1"}
backupOperator:
  replicas: 2
  image: {repository: backup, tag: v10}
  spool: {sizeLimit: 40Gi}
  serviceAccount: {name: backup, annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/backup"}}
  ownIdentity: []
  metrics: {service: {annotations: {prometheus.io/scrape: "true"}}}
  resources: {limits: {memory: 2Gi, cpu: 2}}
  podAnnotations: {note: "yes"}
  podLabels: {tier: data}
  nodeSelector: {disk: ssd}
  tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]
  affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname}}]}}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]
  priorityClassName: system-cluster-critical
  extraArgs: ["--log-level=error"]
  extraEnv: [{name: GOMEMLIMIT, value: 1GiB}, {name: SSL_CERT_DIR, value: /ca}]
  extraVolumes: [{name: ca, configMap: {name: ca}}]
  extraVolumeMounts: [{name: ca, mountPath: /ca, readOnly: true}]
restoreOperator:
  ownIdentity: [{namespaces: [team-a, team-b], pathPrefix: "bucket/{namespace}/"}]
  signedURLs: false
  leaderElection: false
  image: {digest: "sha256:1111111111111111111111111111111111111111111111111111111111111111"}
  metrics: {enabled: false}
  serviceAccount: {create: false, name: shared}
  resources: {limits: null}
`

func TestValuesTakeEffect(t *testing.T) {
	r := render(t, everything)
	backup := r.deployment(t, backupOperator)
	pod := backup.Spec.Template
	container := pod.Spec.Containers[0]
	restore := r.deployment(t, restoreOperator)

	t.Run("restore-operator limits its identity to some namespaces, and writes no Secret without signed URLs", func(t *testing.T) {
		args := restore.Spec.Template.Spec.Containers[0].Args
		if !slices.Contains(args, `--own-identity=[{"namespaces":["team-a","team-b"],"pathPrefix":"bucket/{namespace}/"}]`) || !slices.Contains(args, "--signed-urls=false") {
			t.Errorf("restore-operator has the arguments %v", args)
		}
		for _, right := range r.rights(restoreOperator) {
			if strings.HasSuffix(right, " secrets") && right != "get secrets" {
				t.Errorf("it has the right to %s", right)
			}
		}
	})

	t.Run("a component's tag overrides the chart's, a digest overrides both, and the registry applies to all images", func(t *testing.T) {
		var got []string
		for _, d := range all[*appsv1.Deployment](r) {
			got = append(got, d.Spec.Template.Spec.Containers[0].Image)
		}
		slices.Sort(got)
		want := []string{
			"mirror.example.com/etcd/backup:v10",
			"mirror.example.com/etcd/etcd-suite/cluster-operator:v9",
			"mirror.example.com/etcd/etcd-suite/restore-operator@sha256:" + strings.Repeat("1", 64),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("images (-want +got):\n%s", diff)
		}
		if args := r.deployment(t, clusterOperator).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--seed-image=mirror.example.com/seed:1") {
			t.Errorf("cluster-operator has the arguments %v", args)
		}
	})

	t.Run("names, ServiceAccounts and labels are applied", func(t *testing.T) {
		account := all[*corev1.ServiceAccount](r)[0]
		if backup.Name != "suite-backup-operator" || pod.Spec.ServiceAccountName != "backup" || account.Name != "backup" ||
			account.Annotations["eks.amazonaws.com/role-arn"] != "arn:aws:iam::1:role/backup" {
			t.Errorf("Deployment %s uses ServiceAccount %s; the chart renders %s with annotations %v", backup.Name, pod.Spec.ServiceAccountName, account.Name, account.Annotations)
		}
		if pod.Labels["team"] != "storage" || pod.Labels["tier"] != "data" || pod.Annotations["note"] != "yes" || backup.Labels["team"] != "storage" {
			t.Errorf("the Pod has the labels %v and annotations %v", pod.Labels, pod.Annotations)
		}
		if restore.Spec.Template.Spec.ServiceAccountName != "shared" || len(all[*corev1.ServiceAccount](r)) != 2 {
			t.Errorf("restore-operator must use the existing ServiceAccount shared, but uses %s", restore.Spec.Template.Spec.ServiceAccountName)
		}
	})

	t.Run("replicas and scheduling fields are applied", func(t *testing.T) {
		s := pod.Spec
		if *backup.Spec.Replicas != 2 || s.NodeSelector["disk"] != "ssd" || s.Tolerations[0].Key != "dedicated" || s.PriorityClassName != "system-cluster-critical" ||
			s.Affinity.PodAntiAffinity == nil || s.TopologySpreadConstraints[0].MaxSkew != 1 || s.ImagePullSecrets[0].Name != "pull" || container.ImagePullPolicy != corev1.PullAlways {
			t.Errorf("the Pod lacks a configured field: %+v", s)
		}
	})

	t.Run("an extra flag is last, an extra variable overrides the chart's, and an extra volume is added", func(t *testing.T) {
		if got := container.Args[len(container.Args)-1]; got != "--log-level=error" {
			t.Errorf("the last argument is %s, want --log-level=error", got)
		}
		var env []string
		for _, e := range container.Env {
			env = append(env, e.Name+"="+e.Value)
		}
		if diff := cmp.Diff([]string{"TMPDIR=/spool", "GOMEMLIMIT=1GiB", "SSL_CERT_DIR=/ca"}, env); diff != "" {
			t.Errorf("the environment differs (-want +got):\n%s", diff)
		}
		if len(pod.Spec.Volumes) != 2 || pod.Spec.Volumes[0].EmptyDir.SizeLimit.String() != "40Gi" || container.VolumeMounts[1].MountPath != "/ca" {
			t.Errorf("the Pod has the volumes %+v and mounts %+v", pod.Spec.Volumes, container.VolumeMounts)
		}
	})

	t.Run("a spool on a volume of its own uses no space of the node", func(t *testing.T) {
		r := render(t, "backupOperator: {spool: {sizeLimit: 30Gi, volumeClaim: {enabled: true, storageClassName: fast}}}")
		s := r.deployment(t, backupOperator).Spec.Template.Spec
		if s.Volumes[0].EmptyDir != nil || s.Volumes[0].Ephemeral == nil {
			t.Fatalf("the Pod has the volumes %+v", s.Volumes)
		}
		claim := s.Volumes[0].Ephemeral.VolumeClaimTemplate.Spec
		if *claim.StorageClassName != "fast" || claim.Resources.Requests.Storage().String() != "30Gi" || *s.SecurityContext.FSGroup != 65532 {
			t.Errorf("the claim is %+v, the group %v", claim, s.SecurityContext.FSGroup)
		}
		if !slices.Contains(s.Containers[0].Args, "--spool-keep-free-percent=0") {
			t.Errorf("the arguments are %v", s.Containers[0].Args)
		}
	})

	t.Run("without leader election the old Pod ends before the new one starts, and no Lease is used", func(t *testing.T) {
		if restore.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			t.Errorf("the strategy is %q, want Recreate", restore.Spec.Strategy.Type)
		}
		if args := restore.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--leader-elect=false") {
			t.Errorf("the arguments lack --leader-elect=false: %v", args)
		}
		if rights := r.rights(restoreOperator); slices.Contains(rights, "create leases") {
			t.Errorf("the operator still has rights on Leases: %v", rights)
		}
	})

	t.Run("without metrics there is no port and no Service, and the server is disabled", func(t *testing.T) {
		c := restore.Spec.Template.Spec.Containers[0]
		if len(c.Ports) != 1 || !slices.Contains(c.Args, "--metrics-bind-address=0") || len(all[*corev1.Service](r)) != 2 {
			t.Errorf("the container has the ports %+v and arguments %v", c.Ports, c.Args)
		}
	})

	t.Run("without a memory limit GOMEMLIMIT is not set", func(t *testing.T) {
		for _, e := range restore.Spec.Template.Spec.Containers[0].Env {
			if e.Name == "GOMEMLIMIT" {
				t.Errorf("the environment has %+v", e)
			}
		}
	})
}

func TestALongReleaseNameGivesValidNames(t *testing.T) {
	r := render(t, "fullnameOverride: "+strings.Repeat("a", 46))
	for _, s := range all[*corev1.Service](r) {
		if len(s.Name) > 63 {
			t.Errorf("the name of Service %s has %d characters, the limit is 63", s.Name, len(s.Name))
		}
	}
}

func TestCRDsAreRenderedAsGenerated(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartDir, "files/crds/*.yaml"))
	if err != nil || len(files) != 3 {
		t.Fatalf("found the CRD files %v, expected 3, error %v: run make generate", files, err)
	}
	const policy = "helm.sh/resource-policy"
	for values, want := range map[string]string{"": "keep", "crds: {keep: false}": ""} {
		t.Run("with the resource policy '"+want+"'", func(t *testing.T) {
			crds := all[*apiextensionsv1.CustomResourceDefinition](render(t, values))
			if len(crds) != 3 {
				t.Fatalf("the chart renders %d CRDs, want 3", len(crds))
			}
			for _, crd := range crds {
				if got := crd.Annotations[policy]; got != want {
					t.Errorf("%s has the resource policy %q, want %q", crd.Name, got, want)
				}
				if crd.Labels["app.kubernetes.io/part-of"] != "etcd-operator" {
					t.Errorf("%s has the labels %v", crd.Name, crd.Labels)
				}
				delete(crd.Annotations, policy)
				crd.Labels = nil
				if diff := cmp.Diff(generated(t, crd.Spec.Names.Plural), crd); diff != "" {
					t.Errorf("the rendered CRD %s differs from the generated one (-generated +rendered):\n%s", crd.Name, diff)
				}
			}
		})
	}
	t.Run("crds.install=false renders no CRDs", func(t *testing.T) {
		if got := len(all[*apiextensionsv1.CustomResourceDefinition](render(t, "crds: {install: false}"))); got != 0 {
			t.Errorf("the chart renders %d CRDs, expected none", got)
		}
	})
}

func generated(t *testing.T, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(chartDir, "files/crds", group+"_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

func TestREADMEDocumentsEveryValue(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	for _, path := range leaves("", values) {
		operator, shared, _ := strings.Cut(path, ".")
		// The three operators share a table, whose rows have the path without the operator.
		inShared := strings.HasSuffix(operator, "Operator") && strings.Contains(string(readme), "| `"+shared+"` |")
		if !inShared && !strings.Contains(string(readme), "| `"+path+"` |") {
			t.Errorf("the README of the chart has no row for the value %s", path)
		}
	}
}

// whole are maps that the README describes as one value.
var whole = []string{"resources", "podSecurityContext", "securityContext", "livenessProbe", "readinessProbe"}

// leaves lists the paths of all values. It treats whole and empty maps as one value.
func leaves(prefix string, values map[string]any) []string {
	var paths []string
	for key, value := range values {
		path := strings.TrimPrefix(prefix+"."+key, ".")
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 && !slices.Contains(whole, key) {
			paths = append(paths, leaves(path, inner)...)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

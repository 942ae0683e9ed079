package chart

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// ofProduction returns the block of docs/production.md below a comment.
func ofProduction(t *testing.T, comment string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "<!-- "+comment+": production -->\n\n```yaml\n")
	block, _, closed := strings.Cut(block, "\n```\n")
	if !found || !closed {
		t.Fatalf("the page has no block below the comment %s", comment)
	}
	return block
}

// A user copies the values of the page. Without them, one lost node or one drain stops the repairs of all clusters.
func TestTheValuesForProductionSpreadTwoReplicasOfEachOperator(t *testing.T) {
	r := render(t, ofProduction(t, "values"))
	for operator := range operators {
		d := r.deployment(t, operator)
		if replicas := ptr.Deref(d.Spec.Replicas, 1); replicas != 2 {
			t.Errorf("%s has %d replicas, want 2", operator, replicas)
		}
		if !slices.ContainsFunc(all[*policyv1.PodDisruptionBudget](r), func(b *policyv1.PodDisruptionBudget) bool { return selects(t, b.Spec.Selector, d) }) {
			t.Errorf("%s has no PodDisruptionBudget", operator)
		}
		rules := map[string]corev1.UnsatisfiableConstraintAction{}
		for _, c := range d.Spec.Template.Spec.TopologySpreadConstraints {
			if !selects(t, c.LabelSelector, d) || !slices.Contains(c.MatchLabelKeys, appsv1.DefaultDeploymentUniqueLabelKey) {
				t.Errorf("%s: the constraint for %s does not count the Pods of one release of the operator: %+v", operator, c.TopologyKey, c)
			}
			for other := range operators {
				if other != operator && selects(t, c.LabelSelector, r.deployment(t, other)) {
					t.Errorf("%s: the constraint for %s also counts the Pods of %s", operator, c.TopologyKey, other)
				}
			}
			rules[c.TopologyKey] = c.WhenUnsatisfiable
		}
		want := map[string]corev1.UnsatisfiableConstraintAction{corev1.LabelHostname: corev1.DoNotSchedule, corev1.LabelTopologyZone: corev1.ScheduleAnyway}
		if diff := cmp.Diff(want, rules); diff != "" {
			t.Errorf("%s: spread (-want +got):\n%s", operator, diff)
		}
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, d *appsv1.Deployment) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(d.Spec.Template.Labels))
}

// With a port too few, the operators cannot reach what they manage. Without a peer, Prometheus reads nothing, and no alert fires.
func TestTheValuesForProductionLimitTheNetworkAndAreMonitored(t *testing.T) {
	r := render(t, ofProduction(t, "values"))
	policies := all[*networkingv1.NetworkPolicy](r)
	for operator := range operators {
		i := slices.IndexFunc(policies, func(p *networkingv1.NetworkPolicy) bool {
			return selects(t, &p.Spec.PodSelector, r.deployment(t, operator))
		})
		if i < 0 || len(policies[i].Spec.Ingress) != 1 || len(policies[i].Spec.Ingress[0].From) != 1 {
			t.Errorf("%s has no NetworkPolicy that lets one peer in", operator)
			continue
		}
		ports := map[int]bool{}
		for _, rule := range policies[i].Spec.Egress {
			for _, p := range rule.Ports {
				ports[p.Port.IntValue()] = true
			}
		}
		if diff := cmp.Diff([]int{53, 443, 2379, 2380, 2381, 6443}, slices.Sorted(maps.Keys(ports))); diff != "" {
			t.Errorf("%s: ports that it may connect to (-want +got):\n%s", operator, diff)
		}
	}
	if got := monitoringObjects(r); got[0] != 1 || got[1] != 3 || got[2] != 1 || got[3] == 0 {
		t.Errorf("%d PodMonitors, %d ServiceMonitors, %d PrometheusRules and %d dashboards", got[0], got[1], got[2], got[3])
	}
}

// Prometheus verifies the name in the certificate. With another name it sends no token, and each operator counts as down.
func TestTheCertificatesForProductionHaveTheNamesThatPrometheusVerifies(t *testing.T) {
	want := map[string]string{}
	for _, match := range regexp.MustCompile(`secretName: (\S+)\n  dnsNames: \[(\S+)\]`).FindAllStringSubmatch(ofProduction(t, "certificates"), -1) {
		want[match[1]] = match[2]
	}
	out, err := helm(t, ofProduction(t, "values"), "template", "etcd-operator", chartDir, "--namespace", "etcd-operator", "--values", "-", "--skip-tests")
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, out)
	}
	got := map[string]string{}
	for _, document := range strings.Split("\n"+out, "\n---\n") {
		monitor, is := decode(t, document).(*serviceMonitor)
		if !is {
			continue
		}
		for _, e := range monitor.Spec.Endpoints {
			got[e.TLSConfig.CA.Secret.Name] = e.TLSConfig.ServerName
			if e.BearerTokenFile == "" {
				t.Errorf("Prometheus sends no token to %s", monitor.Name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 3 {
		t.Errorf("Secrets and the names in their certificates (-of the page +that Prometheus verifies):\n%s", diff)
	}
}

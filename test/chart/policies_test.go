package chart

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestAPodDisruptionBudgetProtectsSeveralReplicas(t *testing.T) {
	if found := all[*policyv1.PodDisruptionBudget](render(t, "")); len(found) > 0 {
		t.Errorf("with one replica a budget has no effect or blocks every drain, but the chart renders %d", len(found))
	}
	if found := all[*policyv1.PodDisruptionBudget](render(t, "backupOperator: {replicas: 3, podDisruptionBudget: {enabled: false}}")); len(found) > 0 {
		t.Errorf("the chart renders %d budgets that are switched off", len(found))
	}
	r := render(t, "backupOperator: {replicas: 3, podDisruptionBudget: {maxUnavailable: 2}}")
	budgets := all[*policyv1.PodDisruptionBudget](r)
	if len(budgets) != 1 || budgets[0].Spec.MaxUnavailable.IntValue() != 2 {
		t.Fatalf("the budgets are %+v", budgets)
	}
	selector := labels.SelectorFromSet(budgets[0].Spec.Selector.MatchLabels)
	for component := range operators {
		if got := selector.Matches(labels.Set(r.deployment(t, component).Spec.Template.Labels)); got != (component == backupOperator) {
			t.Errorf("the budget of backup-operator selects the Pods of %s: %t", component, got)
		}
	}
}

func TestNetworkPoliciesAreOffByDefaultAndAdmitMetricsOnly(t *testing.T) {
	if found := all[*networkingv1.NetworkPolicy](render(t, "")); len(found) > 0 {
		t.Errorf("the chart renders %d NetworkPolicies by default", len(found))
	}
	r := render(t, `
networkPolicy:
  enabled: true
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  egress: [{ports: [{port: 53, protocol: UDP}]}]
restoreOperator: {metrics: {enabled: false}}`)
	policies := all[*networkingv1.NetworkPolicy](r)
	if len(policies) != 3 {
		t.Fatalf("the chart renders %d NetworkPolicies, want 3", len(policies))
	}
	for _, p := range policies {
		component := p.Labels[componentLabel]
		pod := r.deployment(t, component).Spec.Template
		if !labels.SelectorFromSet(p.Spec.PodSelector.MatchLabels).Matches(labels.Set(pod.Labels)) {
			t.Errorf("the policy of %s does not select its Pods", component)
		}
		if len(p.Spec.PolicyTypes) != 2 || len(p.Spec.Egress) != 1 {
			t.Errorf("%s: types %v, egress %+v", component, p.Spec.PolicyTypes, p.Spec.Egress)
		}
		if component == restoreOperator {
			if len(p.Spec.Ingress) != 0 {
				t.Errorf("without metrics nothing connects to %s, but the policy admits %+v", component, p.Spec.Ingress)
			}
			continue
		}
		if len(p.Spec.Ingress) != 1 || p.Spec.Ingress[0].Ports[0].Port.StrVal != pod.Spec.Containers[0].Ports[0].Name || len(p.Spec.Ingress[0].From) != 1 {
			t.Errorf("%s: ingress %+v", component, p.Spec.Ingress)
		}
	}
	only := all[*networkingv1.NetworkPolicy](render(t, "networkPolicy: {enabled: true}"))
	if len(only) != 3 || len(only[0].Spec.PolicyTypes) != 1 || len(only[0].Spec.Ingress[0].From) != 0 {
		t.Errorf("without lists a policy limits only incoming connections, and not their peers: %+v", only[0].Spec)
	}
}

func TestEveryObjectHasTheCommonLabelsAndAnnotations(t *testing.T) {
	r := render(t, `
commonLabels: {team: storage}
commonAnnotations: {owner: storage, note: common}
networkPolicy: {enabled: true}
clusterOperator: {replicas: 2, podAnnotations: {note: own}, serviceAccount: {annotations: {note: own}}, metrics: {service: {annotations: {note: own}}}}`)
	if len(r.objects) < 20 {
		t.Fatalf("the chart renders %d objects, so the test tested too little", len(r.objects))
	}
	for _, object := range r.objects {
		if object.GetLabels()["team"] != "storage" || object.GetAnnotations()["owner"] != "storage" {
			t.Errorf("%T %s has the labels %v and annotations %v", object, object.GetName(), object.GetLabels(), object.GetAnnotations())
		}
	}
	pod := r.deployment(t, clusterOperator).Spec.Template
	if pod.Annotations["note"] != "own" || pod.Annotations["owner"] != "storage" {
		t.Errorf("the Pod has the annotations %v", pod.Annotations)
	}
	for _, s := range all[*corev1.Service](r) {
		if want := map[bool]string{true: "own", false: "common"}[s.Labels[componentLabel] == clusterOperator]; s.Annotations["note"] != want {
			t.Errorf("Service %s has the annotations %v", s.Name, s.Annotations)
		}
	}
}

func TestNameOverrideChangesLabelsAndSelectorsTogether(t *testing.T) {
	r := render(t, "nameOverride: etcd-suite")
	for component := range operators {
		d := r.deployment(t, component)
		if d.Labels["app.kubernetes.io/name"] != "etcd-suite" || !labels.SelectorFromSet(d.Spec.Selector.MatchLabels).Matches(labels.Set(d.Spec.Template.Labels)) ||
			d.Spec.Selector.MatchLabels["app.kubernetes.io/name"] != "etcd-suite" {
			t.Errorf("%s has the labels %v and selects %v", component, d.Labels, d.Spec.Selector.MatchLabels)
		}
	}
}

func TestExtraObjectsAreInstalledAndMayUseTemplates(t *testing.T) {
	r := render(t, `
extraObjects:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: plain, namespace: etcd-system}
    data: {of: "{{ .Release.Name }}"}
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: text, namespace: etcd-system}
    data: {of: {{ .Release.Name }}}`)
	for _, c := range all[*corev1.ConfigMap](r) {
		if c.Data["of"] != releaseName {
			t.Errorf("ConfigMap %s has %v", c.Name, c.Data)
		}
	}
	if got := len(all[*corev1.ConfigMap](r)); got != 2 {
		t.Errorf("the chart renders %d extra objects, want 2", got)
	}
}

func TestPodSettingsTakeEffect(t *testing.T) {
	r := render(t, `
clusterOperator:
  concurrency: {clusters: 20}
restoreOperator:
  concurrency: {verifications: 3}
backupOperator:
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  podSecurityContext: {runAsUser: 1000, fsGroup: 1000}
  securityContext: {privileged: false}
  livenessProbe: {timeoutSeconds: 9}
  readinessProbe: {failureThreshold: 7}
  terminationGracePeriodSeconds: 90`)
	d := r.deployment(t, backupOperator)
	s, c := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
	if d.Spec.Strategy.RollingUpdate == nil || d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 0 || *s.TerminationGracePeriodSeconds != 90 {
		t.Errorf("strategy %+v, grace period %v", d.Spec.Strategy, s.TerminationGracePeriodSeconds)
	}
	if *s.SecurityContext.RunAsUser != 1000 || !*s.SecurityContext.RunAsNonRoot || *c.SecurityContext.Privileged || !*c.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("the security contexts are %+v and %+v", s.SecurityContext, c.SecurityContext)
	}
	if c.LivenessProbe.TimeoutSeconds != 9 || c.LivenessProbe.PeriodSeconds != 20 || c.ReadinessProbe.FailureThreshold != 7 {
		t.Errorf("the probes are %+v and %+v", c.LivenessProbe, c.ReadinessProbe)
	}
	for component, flag := range map[string]string{clusterOperator: "--max-concurrent-clusters=20", restoreOperator: "--max-proofs=3"} {
		if args := r.deployment(t, component).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, flag) {
			t.Errorf("%s has the arguments %v, want %s", component, args, flag)
		}
	}
	t.Run("without leader election the strategy is Recreate", func(t *testing.T) {
		d := render(t, "backupOperator: {leaderElection: false, strategy: {type: RollingUpdate}}").deployment(t, backupOperator)
		if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			t.Errorf("the strategy is %q", d.Spec.Strategy.Type)
		}
	})
	t.Run("a user's fsGroup replaces that of the volume", func(t *testing.T) {
		d := render(t, "backupOperator: {podSecurityContext: {fsGroup: 1000}, spool: {volumeClaim: {enabled: true}}}").deployment(t, backupOperator)
		if got := *d.Spec.Template.Spec.SecurityContext.FSGroup; got != 1000 {
			t.Errorf("fsGroup %d", got)
		}
	})
}

func TestNoSelectorChangesOnUpgrade(t *testing.T) {
	// A selector cannot change, so helm upgrade of an earlier release would fail.
	for component := range operators {
		want := fmt.Sprint(map[string]string{"app.kubernetes.io/component": component, "app.kubernetes.io/instance": releaseName, "app.kubernetes.io/name": "etcd-operator"})
		if got := fmt.Sprint(render(t, "").deployment(t, component).Spec.Selector.MatchLabels); got != want {
			t.Errorf("%s selects %s, want %s", component, got, want)
		}
	}
}

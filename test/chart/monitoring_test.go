package chart

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// These types have the fields of the Prometheus operator's kinds that the chart may set.
type (
	object struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	endpoint struct {
		Port              string           `json:"port"`
		HonorLabels       bool             `json:"honorLabels"`
		Interval          string           `json:"interval"`
		ScrapeTimeout     string           `json:"scrapeTimeout"`
		Relabelings       []map[string]any `json:"relabelings"`
		MetricRelabelings []map[string]any `json:"metricRelabelings"`
		Scheme            string           `json:"scheme"`
		BearerTokenFile   string           `json:"bearerTokenFile"`
		TLSConfig         *struct {
			InsecureSkipVerify bool   `json:"insecureSkipVerify"`
			ServerName         string `json:"serverName"`
			CA                 struct {
				Secret corev1.SecretKeySelector `json:"secret"`
			} `json:"ca"`
		} `json:"tlsConfig"`
	}
	serviceMonitor struct {
		object
		Spec struct {
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []endpoint           `json:"endpoints"`
		} `json:"spec"`
	}
	podMonitor struct {
		object
		Spec struct {
			NamespaceSelector struct {
				Any        bool     `json:"any"`
				MatchNames []string `json:"matchNames"`
			} `json:"namespaceSelector"`
			Selector            metav1.LabelSelector `json:"selector"`
			PodTargetLabels     []string             `json:"podTargetLabels"`
			PodMetricsEndpoints []endpoint           `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}
	prometheusRule struct {
		object
		Spec struct {
			Groups []struct {
				Name  string `json:"name"`
				Rules []struct {
					Alert       string            `json:"alert"`
					Expr        string            `json:"expr"`
					For         string            `json:"for"`
					Labels      map[string]string `json:"labels"`
					Annotations map[string]string `json:"annotations"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
)

const everyMonitor = "monitoring: {labels: {release: prometheus}, podMonitor: {enabled: true, interval: 15s}, serviceMonitor: {enabled: true}, " +
	"prometheusRule: {enabled: true}, dashboards: {enabled: true}}\n"

// monitoringObjects counts the objects for Prometheus and Grafana.
func monitoringObjects(r release) [4]int {
	return [4]int{len(all[*podMonitor](r)), len(all[*serviceMonitor](r)), len(all[*prometheusRule](r)), len(all[*corev1.ConfigMap](r))}
}

func TestEachObjectForMonitoringHasItsOwnSwitch(t *testing.T) {
	for values, want := range map[string][4]int{
		"": {},
		"monitoring: {podMonitor: {enabled: true}}":     {1, 0, 0, 0},
		"monitoring: {serviceMonitor: {enabled: true}}": {0, 3, 0, 0},
		"monitoring: {prometheusRule: {enabled: true}}": {0, 0, 1, 0},
		"monitoring: {dashboards: {enabled: true}}":     {0, 0, 0, 3},
		everyMonitor: {1, 3, 1, 3},
	} {
		if got := monitoringObjects(render(t, values)); got != want {
			t.Errorf("with %q there are %v objects, want %v", values, got, want)
		}
	}
}

// A Prometheus that is shared drops labels and waits less than usual. Without these settings, a platform team patches the chart.
func TestTheEndpointsHaveTheSettingsOfTheScrape(t *testing.T) {
	const settings = "enabled: true, interval: 20s, scrapeTimeout: 5s, relabelings: [{action: labeldrop, regex: pod}], metricRelabelings: [{action: drop}]"
	r := render(t, "monitoring: {podMonitor: {"+settings+"}, serviceMonitor: {"+settings+"}}\nclusterOperator: {metrics: {service: {ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6, IPv4]}}}")
	endpoints := all[*podMonitor](r)[0].Spec.PodMetricsEndpoints
	for _, m := range all[*serviceMonitor](r) {
		endpoints = append(endpoints, m.Spec.Endpoints...)
	}
	for _, e := range endpoints {
		if e.Interval != "20s" || e.ScrapeTimeout != "5s" || len(e.Relabelings) != 1 || e.Relabelings[0]["regex"] != "pod" || len(e.MetricRelabelings) != 1 {
			t.Errorf("an endpoint is %+v", e)
		}
	}
	for _, s := range all[*corev1.Service](r) {
		if two := len(s.Spec.IPFamilies) == 2; two != (s.Labels[componentLabel] == clusterOperator) {
			t.Errorf("Service %s has the families %v", s.Name, s.Spec.IPFamilies)
		}
	}
}

func TestServiceMonitorsSelectTheServicesOfTheirOperators(t *testing.T) {
	r := render(t, everyMonitor+"backupOperator: {metrics: {secure: false}}")
	for _, m := range all[*serviceMonitor](r) {
		selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all[*corev1.Service](r) {
			if same := s.Labels[componentLabel] == m.Labels[componentLabel]; selector.Matches(labels.Set(s.Labels)) != same {
				t.Errorf("ServiceMonitor %s and Service %s: selected %v", m.Name, s.Name, !same)
			}
		}
		e := m.Spec.Endpoints[0]
		secure := m.Labels[componentLabel] != backupOperator
		if !e.HonorLabels || e.Port != "metrics" || m.Labels["release"] != "prometheus" {
			t.Errorf("ServiceMonitor %s has the labels %v and the endpoint %+v", m.Name, m.Labels, e)
		}
		if (e.Scheme == "https") != secure || (e.TLSConfig != nil) != secure {
			t.Errorf("ServiceMonitor %s has the endpoint %+v, secure is %v", m.Name, e, secure)
		}
		if want := map[bool]string{true: "--metrics-secure=true", false: "--metrics-secure=false"}[secure]; !slices.Contains(r.deployment(t, m.Labels[componentLabel]).Spec.Template.Spec.Containers[0].Args, want) {
			t.Errorf("%s lacks %s", m.Labels[componentLabel], want)
		}
	}
}

func TestPrometheusVerifiesTheCertificateOfTheMetricsEndpoint(t *testing.T) {
	r := render(t, everyMonitor+"backupOperator: {metrics: {certSecret: backup-metrics}}")
	pod := r.deployment(t, backupOperator).Spec.Template.Spec
	volume := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "backup-metrics" })
	mounted := volume >= 0 && slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == pod.Volumes[volume].Name && slices.Contains(pod.Containers[0].Args, "--metrics-cert-dir="+m.MountPath)
	})
	if !mounted {
		t.Errorf("the Secret is not mounted where the operator reads it: %+v", pod)
	}
	var service string
	for _, s := range all[*corev1.Service](r) {
		if s.Labels[componentLabel] == backupOperator {
			service = s.Name + "." + s.Namespace + ".svc"
		}
	}
	for _, m := range all[*serviceMonitor](r) {
		own, c := m.Labels[componentLabel] == backupOperator, m.Spec.Endpoints[0].TLSConfig
		if c.InsecureSkipVerify == own || own && (c.ServerName != service || c.CA.Secret.Name != "backup-metrics" || c.CA.Secret.Key != "ca.crt") {
			t.Errorf("ServiceMonitor %s has %+v, want the certificate of %s verified: %v", m.Name, c, service, own)
		}
	}
}

const verified = "clusterOperator: {metrics: {certSecret: a}}\nbackupOperator: {metrics: {certSecret: b}}\nrestoreOperator: {metrics: {certSecret: c}}"

// Prometheus sent its token to each server that answered at the address of a Pod. That server could then read all metrics in its name.
// The notes of helm name the certificates that Prometheus needs.
func TestPrometheusSendsItsTokenOnlyToAServerThatItVerifies(t *testing.T) {
	everyOperator := []string{backupOperator, clusterOperator, restoreOperator}
	for name, test := range map[string]struct {
		monitor, values string
		tokens          []string // the operators that receive the token
		warning         string   // the values that the notes name
	}{
		"no certificate":                    {"", "", nil, "\nbackupOperator.metrics.certSecret, clusterOperator.metrics.certSecret, restoreOperator.metrics.certSecret."},
		"one certificate":                   {"", "backupOperator: {metrics: {certSecret: b}}", []string{backupOperator}, "\nclusterOperator.metrics.certSecret, restoreOperator.metrics.certSecret."},
		"a certificate for each":            {"", verified, everyOperator, ""},
		"a certificate that is not used":    {"", "clusterOperator: {metrics: {certSecret: a, secure: false}}\nbackupOperator: {enabled: false}", nil, "\nrestoreOperator.metrics.certSecret."},
		"the consent to send it unverified": {", sendTokenUnverified: true", "", everyOperator, ""},
		"values of an earlier release":      {", sendTokenUnverified: null", "", nil, "\nbackupOperator.metrics.certSecret, clusterOperator"},
	} {
		t.Run(name, func(t *testing.T) {
			values := "monitoring: {serviceMonitor: {enabled: true" + test.monitor + "}}\n" + test.values
			var tokens []string
			for _, m := range all[*serviceMonitor](render(t, values)) {
				if m.Spec.Endpoints[0].BearerTokenFile != "" {
					tokens = append(tokens, m.Labels[componentLabel])
				}
			}
			if slices.Sort(tokens); !slices.Equal(tokens, test.tokens) {
				t.Errorf("the token is sent to %q, want %q", tokens, test.tokens)
			}
			notes, err := helm(t, values, "install", releaseName, chartDir, "--dry-run=client", "--values", "-")
			if err != nil || strings.Contains(notes, "sends its token only") != (test.warning != "") || !strings.Contains(notes, test.warning) {
				t.Errorf("the notes do not name %q: %v\n%s", test.warning, err, notes[max(0, strings.Index(notes, "NOTES:")):])
			}
		})
	}
}

func TestThePodMonitorSelectsMembersInTheNamespacesThatAreServed(t *testing.T) {
	m := all[*podMonitor](render(t, everyMonitor))[0]
	selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	member := labels.Set{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: "example"}
	if !selector.Matches(member) || selector.Matches(labels.Set{v1beta2.LabelApp: v1beta2.AppName}) {
		t.Errorf("the selector is %s", selector)
	}
	if e := m.Spec.PodMetricsEndpoints[0]; e.Port != "metrics" || e.Interval != "15s" || !slices.Equal(m.Spec.PodTargetLabels, []string{v1beta2.LabelCluster}) || !m.Spec.NamespaceSelector.Any {
		t.Errorf("the PodMonitor is %+v", m.Spec)
	}
	m = all[*podMonitor](render(t, everyMonitor+"watchNamespaces: [a, b]"))[0]
	if s := m.Spec.NamespaceSelector; s.Any || !slices.Equal(s.MatchNames, []string{"a", "b"}) {
		t.Errorf("the namespaces are %+v", s)
	}
}

func TestAlertsAndDashboardsAreRenderedAsTheyAre(t *testing.T) {
	r := render(t, everyMonitor)
	rule := all[*prometheusRule](r)[0]
	if len(rule.Spec.Groups) != 4 || !strings.Contains(rule.Spec.Groups[0].Rules[0].Annotations["summary"], "{{ $labels.name }}") {
		t.Errorf("the rule is %+v", rule.Spec)
	}
	for _, m := range all[*corev1.ConfigMap](r) {
		if m.Labels["grafana_dashboard"] != "1" || len(m.Data) != 1 {
			t.Errorf("ConfigMap %s has the labels %v and %d files", m.Name, m.Labels, len(m.Data))
		}
		for name, content := range m.Data {
			if !json.Valid([]byte(content)) || !strings.Contains(content, "etcd_operator_") {
				t.Errorf("%s is no dashboard", name)
			}
		}
	}
}

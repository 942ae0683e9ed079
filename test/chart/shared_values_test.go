package chart

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/storage/reach"
)

// Platform teams set the same tolerations, proxy and name servers for each operator. A setting that one operator does not get is found on the day on
// which its node is drained, or its store is behind the proxy.
func TestTheSettingsOfAllOperatorsApplyToEachOfThem(t *testing.T) {
	r := render(t, `
operators:
  podAnnotations: {note: all}
  podLabels: {tier: infra}
  tolerations: [{key: infra, operator: Exists}]
  affinity: {nodeAffinity: {}}
  priorityClassName: high
  runtimeClassName: gvisor
  hostAliases: [{ip: 10.0.0.1, hostnames: [store.example.com]}]
  dnsPolicy: Default
  dnsConfig: {searches: [example.com]}
  extraArgs: [--log-level=error]
  extraEnv: [{name: HTTPS_PROXY, value: "http://proxy"}, {name: NO_PROXY, value: a}]
  extraVolumes: [{name: ca, configMap: {name: ca}}]
  extraVolumeMounts: [{name: ca, mountPath: /ca}]
`)
	for name := range operators {
		pod := r.deployment(t, name).Spec.Template
		c := pod.Spec.Containers[0]
		for what, is := range map[string]bool{
			"annotation":    pod.Annotations["note"] == "all",
			"label":         pod.Labels["tier"] == "infra",
			"node selector": pod.Spec.NodeSelector["kubernetes.io/os"] == "linux",
			"toleration":    len(pod.Spec.Tolerations) == 1,
			"affinity":      pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil,
			"priority":      pod.Spec.PriorityClassName == "high",
			"runtime class": pod.Spec.RuntimeClassName != nil && *pod.Spec.RuntimeClassName == "gvisor",
			"host alias":    len(pod.Spec.HostAliases) == 1,
			"DNS policy":    pod.Spec.DNSPolicy == corev1.DNSDefault,
			"DNS config":    pod.Spec.DNSConfig != nil && len(pod.Spec.DNSConfig.Searches) == 1,
			"flag":          slices.Contains(c.Args, "--log-level=error"),
			"variable":      slices.Contains(c.Env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy"}),
			"volume":        slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "ca" }),
			"mount":         slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "ca" && m.MountPath == "/ca" }),
		} {
			if !is {
				t.Errorf("%s has no %s of operators", name, what)
			}
		}
	}
}

// The API server refuses a Pod with two variables of one name in a server-side apply, so an exception for one operator would break its upgrade.
func TestASettingOfOneOperatorWins(t *testing.T) {
	r := render(t, `
operators:
  nodeSelector: {disk: ssd}
  priorityClassName: high
  affinity: {nodeAffinity: {}}
  extraEnv: [{name: HTTPS_PROXY, value: all}, {name: NO_PROXY, value: all}]
backupOperator:
  nodeSelector: {disk: hdd}
  priorityClassName: low
  affinity: {podAffinity: {}}
  extraEnv: [{name: HTTPS_PROXY, value: own}]
`)
	pod := r.deployment(t, backupOperator).Spec.Template.Spec
	if pod.NodeSelector["disk"] != "hdd" || pod.NodeSelector["kubernetes.io/os"] != "linux" || pod.PriorityClassName != "low" || pod.Affinity.NodeAffinity != nil {
		t.Errorf("node selector %v, priority %s, affinity %+v", pod.NodeSelector, pod.PriorityClassName, pod.Affinity)
	}
	var proxies []string
	for _, v := range pod.Containers[0].Env {
		if strings.HasSuffix(v.Name, "_PROXY") {
			proxies = append(proxies, v.Name+"="+v.Value)
		}
	}
	if want := []string{"NO_PROXY=all", "HTTPS_PROXY=own"}; !slices.Equal(proxies, want) {
		t.Errorf("the variables are %q, want %q", proxies, want)
	}
}

// A parent chart of a platform installs the operators into a namespace of their own. An object that is left in the namespace of the release has an
// account, a role or a policy of another namespace, so the operators have no rights.
func TestEachObjectIsInTheNamespaceThatTheValuesName(t *testing.T) {
	out, err := template(t, "namespaceOverride: elsewhere\nmonitoring: {podMonitor: {enabled: true}, serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboards: {enabled: true, namespace: grafana, annotations: {grafana_folder: etcd}}}")
	if err != nil {
		t.Fatal(out)
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "namespace: ") && !strings.Contains(line, "namespace: elsewhere") && !strings.Contains(line, "namespace: grafana") && strings.HasPrefix(line, "  namespace:") {
			t.Errorf("an object has %s", strings.TrimSpace(line))
		}
		if strings.Contains(line, "system:serviceaccount:") && !strings.Contains(line, "system:serviceaccount:elsewhere:") {
			t.Errorf("a policy names another account: %s", strings.TrimSpace(line))
		}
	}
	if !strings.Contains(out, "grafana_folder: etcd") {
		t.Error("the dashboards have no folder")
	}
}

// A team removes an alert that does not fit it, and lets another one fire later. All others are as they were.
func TestSingleAlertsCanBeChanged(t *testing.T) {
	const on = "monitoring: {prometheusRule: {enabled: true, alerts: {%}}}"
	type alert struct {
		expr, lasts string
		labels      map[string]string
	}
	names := func(values string) (names []string, degraded alert) {
		for _, group := range all[*prometheusRule](render(t, values))[0].Spec.Groups {
			for _, rule := range group.Rules {
				names = append(names, rule.Alert)
				if rule.Alert == "EtcdClusterDegraded" {
					degraded = alert{rule.Expr, rule.For, rule.Labels}
				}
			}
		}
		return names, degraded
	}
	before, _ := names(strings.Replace(on, "%", "", 1))
	after, degraded := names(strings.Replace(on, "%", "EtcdClusterStalled: {enabled: false}, EtcdClusterDegraded: {for: 1h, severity: critical, labels: {team: storage}}", 1))
	want := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return name == "EtcdClusterStalled" })
	if len(before) < 10 || !slices.Equal(after, want) {
		t.Errorf("the alerts are %q, want %q", after, want)
	}
	if degraded.lasts != "1h" || degraded.labels["severity"] != "critical" || degraded.labels["team"] != "storage" || degraded.expr == "" {
		t.Errorf("the changed alert is %+v", degraded)
	}
}

// The seed of a restore reads the store with what cluster-operator hands to it, so all three have the same settings.
func TestTheOperatorsReachStoresInTheSameWay(t *testing.T) {
	r := render(t, `
stores: {httpsProxy: "http://proxy:3128", httpProxy: "http://other:3128", noProxy: [.svc, 10.0.0.0/8], caCertificates: "-----BEGIN CERTIFICATE-----\n$(A)"}
`)
	for name := range operators {
		env := map[string]string{}
		for _, v := range r.deployment(t, name).Spec.Template.Spec.Containers[0].Env {
			env[v.Name] = v.Value
		}
		for variable, want := range map[string]string{
			reach.EnvHTTPSProxy: "http://proxy:3128", reach.EnvHTTPProxy: "http://other:3128", reach.EnvNoProxy: ".svc,10.0.0.0/8",
			reach.EnvCACertificates: "-----BEGIN CERTIFICATE-----\n$$(A)", // Kubernetes makes $(A) of it
		} {
			if env[variable] != want {
				t.Errorf("%s has %s=%q, want %q", name, variable, env[variable], want)
			}
		}
	}
}

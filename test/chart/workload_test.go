package chart

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/restore"
)

func TestHelmLintAcceptsTheChart(t *testing.T) {
	if out, err := helm(t, "", "lint", "--strict", chartDir); err != nil {
		t.Errorf("helm lint --strict: %v\n%s", err, out)
	}
}

func TestDefaultValuesRunThreeOperators(t *testing.T) {
	r := render(t, "")

	t.Run("each operator has one replica with the image of the chart's version", func(t *testing.T) {
		got := map[string]string{}
		for _, d := range all[*appsv1.Deployment](r) {
			if *d.Spec.Replicas != 1 {
				t.Errorf("%s has %d replicas, want 1", d.Name, *d.Spec.Replicas)
			}
			got[d.Name] = d.Spec.Template.Spec.Containers[0].Image
		}
		want := map[string]string{
			"demo-cluster-operator": "ghcr.io/etcd-suite/cluster-operator:0.1.0",
			"demo-backup-operator":  "ghcr.io/etcd-suite/backup-operator:0.1.0",
			"demo-restore-operator": "ghcr.io/etcd-suite/restore-operator:0.1.0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("images (-want +got):\n%s", diff)
		}
	})

	t.Run("every namespaced object has the release's namespace", func(t *testing.T) {
		for _, object := range r.objects {
			kind := fmt.Sprintf("%T", object)
			clusterWide := strings.Contains(kind, "Cluster") || strings.Contains(kind, "CustomResource") || strings.Contains(kind, "AdmissionPolicy")
			if want := map[bool]string{false: releaseNamespace, true: ""}[clusterWide]; object.GetNamespace() != want {
				t.Errorf("%s %s is in namespace %q, want %q", kind, object.GetName(), object.GetNamespace(), want)
			}
		}
	})

	t.Run("the operators accept the flags of their containers", func(t *testing.T) {
		for component := range operators {
			container := r.deployment(t, component).Spec.Template.Spec.Containers[0]
			var options operator.Options
			flags := pflag.NewFlagSet(component, pflag.ContinueOnError)
			flags.SetOutput(io.Discard)
			options.AddFlags(flags)
			var ownOptions backup.Options
			own := map[string]string{clusterOperator: "seed-image", backupOperator: "spool-dir", restoreOperator: "spool-dir"}[component]
			value := &ownOptions.SpoolDir
			var restoreFlags restore.Flags
			var clusterOptions cluster.Options
			switch component {
			case backupOperator:
				ownOptions.AddFlags(flags)
			case restoreOperator:
				restoreFlags.AddFlags(flags)
				value = &restoreFlags.SpoolDir
			default:
				clusterOptions.AddFlags(flags)
				value = &clusterOptions.SeedImage
			}
			if err := flags.Parse(container.Args); err != nil {
				t.Errorf("%s: %v", component, err)
			}
			want := operator.Options{LeaderElect: true, MetricsAddress: ":8080", MetricsSecure: true, ProbeAddress: ":8081", LogLevel: "info", LogFormat: "json"}
			if diff := cmp.Diff(want, options); diff != "" {
				t.Errorf("%s: options (-want +got):\n%s", component, diff)
			}
			wantOwn := map[string]string{"seed-image": "ghcr.io/etcd-suite/restore-operator:0.1.0", "spool-dir": "/spool"}[own]
			if *value != wantOwn {
				t.Errorf("%s: --%s is %q, want %q", component, own, *value, wantOwn)
			}
		}
	})

	t.Run("backup- and restore-operator have a bounded spool, cluster-operator has none", func(t *testing.T) {
		got := map[string]string{}
		for component := range operators {
			for _, volume := range r.deployment(t, component).Spec.Template.Spec.Volumes {
				got[component] += volume.Name + " " + volume.EmptyDir.SizeLimit.String()
			}
		}
		if diff := cmp.Diff(map[string]string{backupOperator: "spool 20Gi", restoreOperator: "spool 24Gi"}, got); diff != "" {
			t.Errorf("the volumes differ (-want +got):\n%s", diff)
		}
	})

	t.Run("backup-operator knows the size of its spool", func(t *testing.T) {
		args := r.deployment(t, backupOperator).Spec.Template.Spec.Containers[0].Args
		for _, want := range []string{"--spool-limit=20Gi", "--spool-keep-free-percent=10", "--max-concurrent-snapshots=4", "--max-concurrent-restore-tests=1", "--restore-test-memory=1Gi"} {
			if !slices.Contains(args, want) {
				t.Errorf("the arguments lack %s: %v", want, args)
			}
		}
	})

	t.Run("Deployments and Services select only the Pods of their own operator", func(t *testing.T) {
		selectors := map[string]labels.Selector{}
		for _, d := range all[*appsv1.Deployment](r) {
			selectors["Deployment "+d.Labels[componentLabel]] = labels.SelectorFromSet(d.Spec.Selector.MatchLabels)
		}
		for _, s := range all[*corev1.Service](r) {
			selectors["Service "+s.Labels[componentLabel]] = labels.SelectorFromSet(s.Spec.Selector)
		}
		if len(selectors) != 6 {
			t.Errorf("found %d selectors, want 6", len(selectors))
		}
		for name, selector := range selectors {
			for component := range operators {
				pod := labels.Set(r.deployment(t, component).Spec.Template.Labels)
				if got, want := selector.Matches(pod), strings.HasSuffix(name, component); got != want {
					t.Errorf("%s selects the Pods of %s: %t, want %t", name, component, got, want)
				}
			}
		}
	})

	t.Run("probes and Services use ports of the container", func(t *testing.T) {
		for component := range operators {
			container := r.deployment(t, component).Spec.Template.Spec.Containers[0]
			ports := map[string]int32{}
			for _, p := range container.Ports {
				ports[p.Name] = p.ContainerPort
			}
			live, ready := container.LivenessProbe.HTTPGet, container.ReadinessProbe.HTTPGet
			if live.Path != "/healthz" || ports[live.Port.String()] != 8081 || ready.Path != "/readyz" || ports[ready.Port.String()] != 8081 {
				t.Errorf("%s has the wrong probes %+v and %+v", component, live, ready)
			}
			for _, s := range all[*corev1.Service](r) {
				if s.Labels[componentLabel] == component && ports[s.Spec.Ports[0].TargetPort.String()] != 8080 {
					t.Errorf("%s: the target port of the Service is %s, want the metrics port", component, s.Spec.Ports[0].TargetPort.String())
				}
			}
		}
	})

	t.Run("every container requests CPU and memory, and limits only memory", func(t *testing.T) {
		for component := range operators {
			resources := r.deployment(t, component).Spec.Template.Spec.Containers[0].Resources
			if got := resources.Requests.Cpu().String() + " " + resources.Requests.Memory().String(); got != "100m 128Mi" {
				t.Errorf("%s requests %s, want 100m 128Mi", component, got)
			}
			if resources.Limits.Memory().IsZero() || !resources.Limits.Cpu().IsZero() {
				t.Errorf("%s must limit memory and not CPU, but has the limits %v", component, resources.Limits)
			}
		}
	})
}

func TestEveryPodMeetsTheRestrictedPodSecurityStandard(t *testing.T) {
	r := render(t, "")
	for component := range operators {
		t.Run(component, func(t *testing.T) {
			spec := r.deployment(t, component).Spec.Template.Spec
			if spec.HostNetwork || spec.HostPID || spec.HostIPC {
				t.Error("the Pod uses a namespace of its node")
			}
			if s := spec.SecurityContext; s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("the Pod must run as non-root with the RuntimeDefault seccomp profile, but has the security context %+v", s)
			}
			for _, c := range append(spec.InitContainers, spec.Containers...) {
				checkContainer(t, c)
			}
			for _, v := range spec.Volumes {
				if v.EmptyDir == nil {
					t.Errorf("volume %s is not an emptyDir", v.Name)
				}
			}
		})
	}
}

func checkContainer(t *testing.T, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	switch {
	case s == nil:
		t.Errorf("%s has no security context", c.Name)
	case s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation:
		t.Errorf("%s allows privilege escalation", c.Name)
	case s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem:
		t.Errorf("%s has a writable root file system", c.Name)
	case s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0:
		t.Errorf("%s must drop all capabilities, but has %+v", c.Name, s.Capabilities)
	case s.Privileged != nil && *s.Privileged:
		t.Errorf("%s is privileged", c.Name)
	}
}

func TestDisabledOperatorHasNoObjects(t *testing.T) {
	for component, key := range operators {
		t.Run(component, func(t *testing.T) {
			r := render(t, key+": {enabled: false}")
			if got := len(all[*appsv1.Deployment](r)); got != 2 {
				t.Errorf("the chart renders %d Deployments, want 2", got)
			}
			for _, object := range r.objects {
				if object.GetLabels()[componentLabel] == component || strings.Contains(object.GetName(), component) {
					t.Errorf("the chart still renders %T %s", object, object.GetName())
				}
			}
		})
	}
	t.Run("if all three are disabled, only the CRDs and the roles for users remain", func(t *testing.T) {
		r := render(t, "clusterOperator: {enabled: false}\nbackupOperator: {enabled: false}\nrestoreOperator: {enabled: false}")
		var got []string
		for _, object := range r.objects {
			got = append(got, object.GetName())
		}
		slices.Sort(got)
		want := []string{
			"demo-edit:etcd-system", "demo-view:etcd-system",
			"etcdbackups.etcd.database.coreos.com", "etcdclusters.etcd.database.coreos.com", "etcdrestores.etcd.database.coreos.com",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the rendered objects differ (-want +got):\n%s", diff)
		}
	})
}

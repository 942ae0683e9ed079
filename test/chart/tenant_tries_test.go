package chart

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

var (
	unconfinedSeccomp  = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
	unconfinedAppArmor = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	elsewhere          = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "169.254.169.254", Port: intstr.FromInt32(80)}}
	elsewhereTCP       = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Host: "10.0.0.1", Port: intstr.FromInt32(22)}}
)

func contextOf(c corev1.PodSecurityContext) *v1beta2.PodPolicy {
	return &v1beta2.PodPolicy{SecurityContext: &c}
}

// beside returns a change of a container beside etcd.
func beside(change func(*corev1.Container)) func() *v1beta2.PodPolicy {
	return func() *v1beta2.PodPolicy {
		c := corev1.Container{Name: "beside", Image: "i"}
		change(&c)
		return &v1beta2.PodPolicy{Containers: []corev1.Container{c}}
	}
}

func secured(s corev1.SecurityContext) func() *v1beta2.PodPolicy {
	return beside(func(c *corev1.Container) { c.SecurityContext = &s })
}

// beyondBaseline has a value of each field of spec.pod that the Pod Security Standard "baseline" refuses in a Pod. docs/security.md names each
// of them as bound, which a test of test/readme compares.
var beyondBaseline = map[string]func() *v1beta2.PodPolicy{
	"pod.containers[].ports[].hostPort": beside(func(c *corev1.Container) {
		c.Ports = []corev1.ContainerPort{{ContainerPort: 9000, HostPort: 9000}}
	}),
	"pod.containers[].livenessProbe.httpGet.host":    beside(func(c *corev1.Container) { c.LivenessProbe = &corev1.Probe{ProbeHandler: elsewhere} }),
	"pod.containers[].livenessProbe.tcpSocket.host":  beside(func(c *corev1.Container) { c.LivenessProbe = &corev1.Probe{ProbeHandler: elsewhereTCP} }),
	"pod.containers[].readinessProbe.httpGet.host":   beside(func(c *corev1.Container) { c.ReadinessProbe = &corev1.Probe{ProbeHandler: elsewhere} }),
	"pod.containers[].readinessProbe.tcpSocket.host": beside(func(c *corev1.Container) { c.ReadinessProbe = &corev1.Probe{ProbeHandler: elsewhereTCP} }),
	"pod.containers[].startupProbe.httpGet.host":     beside(func(c *corev1.Container) { c.StartupProbe = &corev1.Probe{ProbeHandler: elsewhere} }),
	"pod.containers[].startupProbe.tcpSocket.host":   beside(func(c *corev1.Container) { c.StartupProbe = &corev1.Probe{ProbeHandler: elsewhereTCP} }),
	"pod.containers[].lifecycle.postStart.httpGet.host": beside(func(c *corev1.Container) {
		c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: elsewhere.HTTPGet}}
	}),
	"pod.containers[].lifecycle.postStart.tcpSocket.host": beside(func(c *corev1.Container) {
		c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{TCPSocket: elsewhereTCP.TCPSocket}}
	}),
	"pod.containers[].lifecycle.preStop.httpGet.host": beside(func(c *corev1.Container) {
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: elsewhere.HTTPGet}}
	}),
	"pod.containers[].lifecycle.preStop.tcpSocket.host": beside(func(c *corev1.Container) {
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{TCPSocket: elsewhereTCP.TCPSocket}}
	}),
	"pod.containers[].securityContext.capabilities.add[]":   secured(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN", "NET_RAW"}}}),
	"pod.containers[].securityContext.privileged":           secured(corev1.SecurityContext{Privileged: ptr.To(true)}),
	"pod.containers[].securityContext.seLinuxOptions.user":  secured(corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{User: "system_u"}}),
	"pod.containers[].securityContext.seLinuxOptions.role":  secured(corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Role: "system_r"}}),
	"pod.containers[].securityContext.seLinuxOptions.type":  secured(corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Type: "spc_t"}}),
	"pod.containers[].securityContext.procMount":            secured(corev1.SecurityContext{ProcMount: ptr.To(corev1.UnmaskedProcMount)}),
	"pod.containers[].securityContext.seccompProfile.type":  secured(corev1.SecurityContext{SeccompProfile: unconfinedSeccomp}),
	"pod.containers[].securityContext.appArmorProfile.type": secured(corev1.SecurityContext{AppArmorProfile: unconfinedAppArmor}),
	"pod.containers[].securityContext.windowsOptions.hostProcess": secured(corev1.SecurityContext{
		WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: ptr.To(true)},
	}),
	"pod.annotations": func() *v1beta2.PodPolicy {
		return &v1beta2.PodPolicy{Annotations: map[string]string{corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "etcd": "unconfined"}}
	},
	"pod.securityContext.seLinuxOptions.user": func() *v1beta2.PodPolicy {
		return contextOf(corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{User: "system_u"}})
	},
	"pod.securityContext.seLinuxOptions.role": func() *v1beta2.PodPolicy {
		return contextOf(corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Role: "system_r"}})
	},
	"pod.securityContext.seLinuxOptions.type": func() *v1beta2.PodPolicy {
		return contextOf(corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Type: "spc_t"}})
	},
	"pod.securityContext.windowsOptions.hostProcess": func() *v1beta2.PodPolicy {
		return contextOf(corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: ptr.To(true)}})
	},
	"pod.securityContext.sysctls[].name": func() *v1beta2.PodPolicy {
		return contextOf(corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "65536"}}})
	},
	"pod.securityContext.seccompProfile.type": func() *v1beta2.PodPolicy {
		return contextOf(corev1.PodSecurityContext{SeccompProfile: unconfinedSeccomp})
	},
	"pod.securityContext.appArmorProfile.type": func() *v1beta2.PodPolicy {
		return contextOf(corev1.PodSecurityContext{AppArmorProfile: unconfinedAppArmor})
	},
}

// A user who may create EtcdClusters, and no Pods, got by an EtcdCluster what Pod Security refuses in a Pod: a container without seccomp, raw
// packets, or requests that the node sends.
func TestAnEtcdClusterGivesNoMoreThanABaselinePod(t *testing.T) {
	n := newTenant(t)
	n.awaitPolicy()
	kubetest.MustKubectl(t, "", "label", "namespace", n.namespace, "pod-security.kubernetes.io/enforce=baseline")
	for path, policy := range beyondBaseline {
		t.Run(path, func(t *testing.T) {
			for where, p := range map[string]*v1beta2.PodPolicy{"containers": policy(), "initContainers": first(policy())} {
				if err := n.create(p); err == nil || !denied(err) && !strings.Contains(err.Error(), "remove hostPort") {
					t.Errorf("%s: an EtcdCluster with it is accepted, or another part refuses it: %v", where, err)
				}
				// Kubernetes refuses some of them before it asks Pod Security.
				if err := n.asPod(p); err == nil || !strings.Contains(err.Error(), `violates PodSecurity "baseline`) && !strings.Contains(err.Error(), "is invalid") {
					t.Errorf("%s: a Pod with it is accepted: %v", where, err)
				}
			}
		})
	}
}

// The policy refused sidecars that Pod Security accepts, so that an EtcdCluster could do less than a Pod.
func TestWhatABaselinePodHasIsAcceptedInAnEtcdCluster(t *testing.T) {
	n := newTenant(t)
	n.awaitPolicy()
	kubetest.MustKubectl(t, "", "label", "namespace", n.namespace, "pod-security.kubernetes.io/enforce=baseline")
	policy := everyOption()
	policy.Annotations = map[string]string{corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "sidecar": "runtime/default"}
	policy.SecurityContext = &corev1.PodSecurityContext{
		Sysctls:        []corev1.Sysctl{{Name: "net.ipv4.tcp_keepalive_time", Value: "60"}},
		SELinuxOptions: &corev1.SELinuxOptions{Type: "container_t", Level: "s0:c1,c2"},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: ptr.To("p.json")},
	}
	policy.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(9000)}}}
	policy.Containers[0].SecurityContext = &corev1.SecurityContext{
		Capabilities: &corev1.Capabilities{Add: []corev1.Capability{
			"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
		}},
		ProcMount: ptr.To(corev1.DefaultProcMount),
	}
	if err := n.asPod(policy); err != nil && strings.Contains(err.Error(), "violates PodSecurity") {
		t.Fatalf("Pod Security refuses it in a Pod: %v", err)
	}
	if err := n.create(policy); err != nil {
		t.Errorf("an EtcdCluster with it is refused: %v", err)
	}
}

// After an upgrade of the chart, a user could no longer change an EtcdCluster with an older sidecar, for example its size.
func TestAnEtcdClusterOfAnEarlierReleaseCanBeChanged(t *testing.T) {
	n := newTenant(t, "--set", "admissionPolicies.allowPrivileged=true")
	policy := secured(corev1.SecurityContext{Privileged: ptr.To(true), Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}})()
	policy.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: unconfinedSeccomp}
	c := n.cluster(policy)
	if err := n.Create(t.Context(), c); err != nil {
		t.Fatalf("with allowPrivileged: %v", err)
	}
	n.site.helm(t, "upgrade", releaseName, chartDir, "--namespace", n.release, "--wait=hookOnly", ownIdentity)
	n.awaitPolicy()
	c.Spec.Size, c.Spec.Pod.Containers = 3, append(c.Spec.Pod.Containers, corev1.Container{Name: "another", Image: "i"})
	if err := n.Update(t.Context(), c); err != nil {
		t.Errorf("a change of size, and one more sidecar: %v", err)
	}
	c.Spec.Pod.Containers[1].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
	if err := n.Update(t.Context(), c); !denied(err) {
		t.Errorf("a second privileged sidecar: %v", err)
	}
}

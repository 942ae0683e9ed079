package chart

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// OpenShift's restricted-v2 refuses a Pod that names a user or a group outside of the namespace's range.
func TestOperatorsLeaveUserAndGroupToThePlatform(t *testing.T) {
	for name, values := range map[string]string{
		"by default": "",
		"with volumes for the spools, as docs/install.md describes": `
backupOperator: {spool: {volumeClaim: {enabled: true, fsGroup: null}}}
restoreOperator: {spool: {volumeClaim: {enabled: true, fsGroup: null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range all[*appsv1.Deployment](render(t, values)) {
				pod := d.Spec.Template.Spec
				if c := pod.SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil {
					t.Errorf("%s names a user or group: %+v", d.Name, c)
				}
				for _, c := range pod.Containers {
					if c.SecurityContext.RunAsUser != nil || c.SecurityContext.RunAsGroup != nil {
						t.Errorf("%s names a user or group: %+v", d.Name, c.SecurityContext)
					}
				}
			}
		})
	}
}

// A ResourceQuota refuses a Pod with a container that lacks what the quota limits.
func TestEveryContainerOfTheChartHasRequestsAndTakesLimits(t *testing.T) {
	for values, names := range map[string][]corev1.ResourceName{
		"": {corev1.ResourceMemory},
		`
clusterOperator: {resources: {limits: {cpu: "1"}}}
backupOperator: {resources: {limits: {cpu: "1"}}}
restoreOperator: {resources: {limits: {cpu: "1"}}}`: {corev1.ResourceMemory, corev1.ResourceCPU},
	} {
		for _, d := range all[*appsv1.Deployment](render(t, values)) {
			pod := d.Spec.Template.Spec
			for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
				if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() {
					t.Errorf("%s: container %s has the requests %v", d.Name, c.Name, c.Resources.Requests)
				}
				for _, limit := range names {
					if _, ok := c.Resources.Limits[limit]; !ok {
						t.Errorf("%s: container %s has no limit of %s", d.Name, c.Name, limit)
					}
				}
			}
		}
	}
}

func TestOneValueSelectsTheRegistryOfAllImages(t *testing.T) {
	r := render(t, "image: {registry: mirror.example.com/cache}\nimagePullSecrets: [{name: mirror}]")
	const prefix = "mirror.example.com/cache/"
	for _, d := range all[*appsv1.Deployment](r) {
		pod := d.Spec.Template.Spec
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			if !strings.HasPrefix(c.Image, prefix) {
				t.Errorf("%s has the image %s", d.Name, c.Image)
			}
		}
		if len(pod.ImagePullSecrets) != 1 {
			t.Errorf("%s has the pull secrets %v", d.Name, pod.ImagePullSecrets)
		}
	}
	if args := r.deployment(t, clusterOperator).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--seed-image="+prefix+"etcd-suite/restore-operator:0.1.0") {
		t.Errorf("the init container of a restored member has another image: %q", args)
	}
}

package plugin

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// flags of etcdctl by those of etcd that have the same file.
var ctlFlags = map[string]string{
	"--cert-file=": "--cert=", "--key-file=": "--key=", "--trusted-ca-file=": "--cacert=", "--advertise-client-urls=": "--endpoints=",
}

// Inside is a program that runs in the container etcd of a Pod.
type Inside struct {
	Pod     string
	Command []string
}

// Ctl returns how etcdctl runs in a member's Pod. It uses the address and the files that etcd itself was started with.
func Ctl(pods []corev1.Pod, member string, args []string) (Inside, error) {
	pod, err := MemberPod(pods, member)
	if err != nil {
		return Inside{}, err
	}
	call := []string{"etcdctl"}
	for _, c := range pod.Spec.Containers {
		if c.Name != "etcd" {
			continue
		}
		for _, arg := range append(c.Command, c.Args...) {
			for from, to := range ctlFlags {
				if value, ok := strings.CutPrefix(arg, from); ok {
					call = append(call, to+value)
				}
			}
		}
	}
	return Inside{Pod: pod.Name, Command: append(call, args...)}, nil
}

// ClientURL returns the client URL of a member, as etcd was started with it.
func ClientURL(pod corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		for _, arg := range append(c.Command, c.Args...) {
			if urls, ok := strings.CutPrefix(arg, "--advertise-client-urls="); ok && c.Name == "etcd" {
				first, _, _ := strings.Cut(urls, ",")
				return first
			}
		}
	}
	return ""
}

// MemberPod returns the Pod of a member, or the first one that is ready.
func MemberPod(pods []corev1.Pod, member string) (corev1.Pod, error) {
	for _, pod := range pods {
		if pod.Name == member || member == "" && findings.PodReady(pod) {
			return pod, nil
		}
	}
	if member != "" {
		return corev1.Pod{}, fmt.Errorf("member %s has no Pod. Nothing was run. List the members: kubectl etcd status", member)
	}
	return corev1.Pod{}, fmt.Errorf("no member is ready. Nothing was run. See kubectl etcd status, or name a member with --member")
}

// Named returns the objects that belong to a cluster, as "Kind name".
func Named(o observed.Objects) []string {
	names := []string{"EtcdCluster " + o.Cluster.Name}
	for _, m := range o.Cluster.Status.MemberStatuses {
		names = append(names, "Pod "+m.Name, "PersistentVolumeClaim "+m.Name)
	}
	for _, pod := range o.Pods {
		names = append(names, "Pod "+pod.Name, "PersistentVolumeClaim "+pod.Name)
	}
	for _, b := range observed.BackupsOf(o.Cluster.Name, o.Backups) {
		names = append(names, "EtcdBackup "+b.Name)
	}
	for _, r := range observed.RestoresOf(o.Cluster.Name, o.Restores) {
		names = append(names, "EtcdRestore "+r.Name)
	}
	return names
}

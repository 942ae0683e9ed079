package plugin

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// flags of etcdctl by those of etcd that have the same file.
var ctlFlags = map[string]string{
	"--cert-file=": "--cert=", "--key-file=": "--key=", "--trusted-ca-file=": "--cacert=", "--advertise-client-urls=": "--endpoints=",
}

// Ctl returns the arguments of kubectl exec, from the Pod's name on, that run etcdctl in a member's Pod. etcdctl uses the
// address and the files that etcd itself was started with.
func Ctl(pods []corev1.Pod, member string, args []string) ([]string, error) {
	for _, pod := range pods {
		if member != "" && pod.Name != member || member == "" && !podReady(pod) {
			continue
		}
		call := []string{pod.Name, "--container", "etcd", "--", "etcdctl"}
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
		return append(call, args...), nil
	}
	if member != "" {
		return nil, fmt.Errorf("member %s has no Pod. Nothing was run. List the members: kubectl etcd status", member)
	}
	return nil, fmt.Errorf("no member is ready. Nothing was run. See kubectl etcd status, or name a member with --member")
}

// Named returns the objects that belong to a cluster, as "Kind name".
func Named(o Objects) []string {
	names := []string{"EtcdCluster " + o.Cluster.Name}
	for _, m := range o.Cluster.Status.MemberStatuses {
		names = append(names, "Pod "+m.Name, "PersistentVolumeClaim "+m.Name)
	}
	for _, pod := range o.Pods {
		names = append(names, "Pod "+pod.Name, "PersistentVolumeClaim "+pod.Name)
	}
	for _, b := range BackupsOf(o.Cluster.Name, o.Backups) {
		names = append(names, "EtcdBackup "+b.Name)
	}
	for _, r := range RestoresOf(o.Cluster.Name, o.Restores) {
		names = append(names, "EtcdRestore "+r.Name)
	}
	return names
}

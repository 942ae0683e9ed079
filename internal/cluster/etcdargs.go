package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

const (
	peerTLSDir   = "/etc/etcdtls/member/peer-tls"
	serverTLSDir = "/etc/etcdtls/member/server-tls"
)

// etcdArgs are the flags of a member's etcd.
func etcdArgs(s plan.State, m plan.CreateMember) []string {
	args := []string{
		"--name=" + m.Name,
		"--data-dir=" + dataDir,
		"--listen-peer-urls=" + plan.URL(s.Spec.TLS.SecurePeer(), "0.0.0.0", v1beta2.PeerPort),
		"--listen-client-urls=" + plan.URL(s.Spec.TLS.SecureClient(), "0.0.0.0", v1beta2.ClientPort),
		"--listen-metrics-urls=" + plan.URL(false, "0.0.0.0", v1beta2.MetricsPort),
		"--initial-advertise-peer-urls=" + s.PeerURL(m.Name),
		"--advertise-client-urls=" + s.ClientURL(m.Name),
		"--initial-cluster-token=" + s.Token(m.Incarnation),
	}
	if m.Start == plan.StartForce {
		args = append(args, forceFlag)
	}
	return slices.Concat(args, initialCluster(s, m), tlsArgs(s), corruptionChecks(s, m.Incarnation), etcdOptions(s))
}

// withoutFlags leaves out variables whose option a flag sets: etcd refuses to start with both, also with equal values. It also leaves out
// the variable that would make each member a cluster of its own, which an EtcdCluster may have from before the API refused it.
func withoutFlags(env []corev1.EnvVar, args []string) []corev1.EnvVar {
	set := map[string]bool{"ETCD_FORCE_NEW_CLUSTER": true}
	for _, arg := range args {
		flag, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		set["ETCD_"+strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))] = true
	}
	return slices.DeleteFunc(slices.Clone(env), func(e corev1.EnvVar) bool { return set[e.Name] })
}

// rejoinOnly names a member that is not this one. etcd looks at --initial-cluster only when it finds no data, and
// then refuses to start because its own name is missing. So a member that has voted cannot come back empty.
const rejoinOnly = "this-member-may-only-start-with-its-data=http://127.0.0.1:1"

func initialCluster(s plan.State, m plan.CreateMember) []string {
	var members []string
	state := "existing"
	switch m.Start {
	case plan.StartNew:
		state = "new"
		for _, name := range s.InitialNames(m.Incarnation, m.InitialSize) {
			members = append(members, name+"="+s.PeerURL(name))
		}
	case plan.StartJoin:
		members = []string{joinPeers(s, m.Name)}
		if m.Waits {
			members = []string{"$(" + envInitialCluster + ")"}
		}
	default:
		members = []string{rejoinOnly}
	}
	return []string{initialClusterFlag + strings.Join(members, ","), "--initial-cluster-state=" + state}
}

// joinPeers is the --initial-cluster of a member that joins.
func joinPeers(s plan.State, member string) string {
	var members []string
	for _, name := range s.JoinPeers(member) {
		for _, url := range s.PeerURLs(name) {
			members = append(members, name+"="+url)
		}
	}
	return strings.Join(members, ",")
}

const (
	initialClusterFlag = "--initial-cluster="
	forceFlag          = "--force-new-cluster=true"
)

// peersOf reads the names in a container's --initial-cluster, as Member.Peers has them. A Pod that waited has them in given.
func peersOf(command []string, given string) string {
	var names []string
	for _, arg := range command {
		if list, ok := strings.CutPrefix(arg, initialClusterFlag); ok {
			if strings.HasPrefix(list, "$(") {
				list = given
			}
			for _, member := range strings.Split(list, ",") {
				name, _, _ := strings.Cut(member, "=")
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",") // a foreign member may have several peer URLs
}

// tlsOf reads from a container's command whether its etcd talks TLS to members and to clients.
func tlsOf(command []string) (peer, client bool) {
	for _, arg := range command {
		peer = peer || strings.HasPrefix(arg, peerCertFlag)
		client = client || strings.HasPrefix(arg, serverCertFlag)
	}
	return peer, client
}

const (
	peerCertFlag   = "--peer-cert-file="
	serverCertFlag = "--cert-file="
	quotaFlag      = "--quota-backend-bytes="
)

func tlsArgs(s plan.State) []string {
	var args []string
	if s.Spec.TLS.SecurePeer() {
		args = append(args,
			"--peer-client-cert-auth=true",
			"--peer-trusted-ca-file="+peerTLSDir+"/"+v1beta2.PeerCAKey,
			peerCertFlag+peerTLSDir+"/"+v1beta2.PeerCertKey,
			"--peer-key-file="+peerTLSDir+"/"+v1beta2.PeerKeyKey,
		)
	}
	if s.Spec.TLS.SecureClient() {
		args = append(args,
			"--client-cert-auth=true",
			"--trusted-ca-file="+serverTLSDir+"/"+v1beta2.ServerCAKey,
			serverCertFlag+serverTLSDir+"/"+v1beta2.ServerCertKey,
			"--key-file="+serverTLSDir+"/"+v1beta2.ServerKeyKey,
		)
	}
	return args
}

func tlsMounts(s plan.State) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	if s.Spec.TLS.SecurePeer() {
		mounts = append(mounts, corev1.VolumeMount{Name: "member-peer-tls", MountPath: peerTLSDir, ReadOnly: true})
	}
	if s.Spec.TLS.SecureClient() {
		mounts = append(mounts, corev1.VolumeMount{Name: "member-server-tls", MountPath: serverTLSDir, ReadOnly: true})
	}
	return mounts
}

func tlsVolumes(s plan.State) []corev1.Volume {
	secret := func(name, secret string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
	}
	var volumes []corev1.Volume
	if s.Spec.TLS.SecurePeer() {
		volumes = append(volumes, secret("member-peer-tls", s.Spec.TLS.PeerSecret(s.Name)))
	}
	if s.Spec.TLS.SecureClient() {
		volumes = append(volumes, secret("member-server-tls", s.Spec.TLS.ServerSecret(s.Name)))
	}
	return volumes
}

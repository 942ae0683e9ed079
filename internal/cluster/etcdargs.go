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
	return slices.Concat(args, initialCluster(m), tlsArgs(s, m.Incarnation), corruptionChecks(s, m.Incarnation), etcdOptions(s))
}

// rejoinOnly names a member that is not this one. etcd looks at --initial-cluster only when it finds no data, and
// then refuses to start because its own name is missing. So a member that has voted cannot come back empty.
const rejoinOnly = "this-member-may-only-start-with-its-data=http://127.0.0.1:1"

// initialCluster returns the flags that decide how etcd starts without data. Those of a member that makes its data are in an annotation.
func initialCluster(m plan.CreateMember) []string {
	members, state := rejoinOnly, "existing"
	if makesData(m.Start) {
		members = "$(" + envInitialCluster + ")"
	}
	if m.Start == plan.StartNew {
		state = "new"
	}
	return []string{initialClusterFlag + members, "--initial-cluster-state=" + state}
}

// initialMembers is the --initial-cluster of a member that makes its data.
func initialMembers(s plan.State, m plan.CreateMember) string {
	if m.Start == plan.StartJoin {
		return joinPeers(s, m.Name)
	}
	var members []string
	for _, name := range s.InitialNames(m.Incarnation, m.InitialSize) {
		members = append(members, name+"="+s.PeerURL(name))
	}
	return strings.Join(members, ",")
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

// peersOf reads the names in a container's --initial-cluster, as Member.Peers has them. A Pod that makes its data has them in given.
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

// checksName reads from a container's command whether its etcd checks a name in certificates, as the operator asks for.
func checksName(command []string, flag string) bool {
	return slices.ContainsFunc(command, func(arg string) bool { return strings.HasPrefix(arg, flag) })
}

const (
	peerCertFlag   = "--peer-cert-file="
	peerNameFlag   = "--peer-cert-allowed-hostname="
	clientNameFlag = "--client-cert-allowed-hostname="
	serverCertFlag = "--cert-file="
	quotaFlag      = "--quota-backend-bytes="
)

func tlsArgs(s plan.State, incarnation int32) []string {
	var args []string
	if s.Spec.TLS.SecurePeer() {
		args = append(args,
			"--peer-client-cert-auth=true",
			"--peer-trusted-ca-file="+peerTLSDir+"/"+v1beta2.PeerCAKey,
			peerCertFlag+peerTLSDir+"/"+v1beta2.PeerCertKey,
			"--peer-key-file="+peerTLSDir+"/"+v1beta2.PeerKeyKey,
		)
	}
	if s.ChecksPeers(incarnation) {
		args = append(args, peerNameFlag+s.PeerHostname())
	}
	if s.Spec.TLS.SecureClient() {
		args = append(args,
			"--client-cert-auth=true",
			"--trusted-ca-file="+serverTLSDir+"/"+v1beta2.ServerCAKey,
			serverCertFlag+serverTLSDir+"/"+v1beta2.ServerCertKey,
			"--key-file="+serverTLSDir+"/"+v1beta2.ServerKeyKey,
		)
	}
	if s.ChecksClients() {
		args = append(args, clientNameFlag+s.ClientHostname())
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

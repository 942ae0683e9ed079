package chart

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// copied is an annotation by which a controller copies a Secret to each namespace.
const copied = "reflector.v1.k8s.emberstack.com/reflection-auto-enabled"

const adopt = `{"metadata":{"ownerReferences":[{"apiVersion":"etcd.database.coreos.com/v1beta2","kind":"EtcdCluster","name":"foreign","uid":"1","controller":true}]}}`

// forbiddenCalls are what a process with the token of an operator may try. Each is refused although the account has all rights.
var forbiddenCalls = map[string][]request{
	"a Secret becomes a token": {
		{"create a token of a ServiceAccount", clusterOperator, func(l *limits, c client.Client) error {
			secret := of(l.managed, l.secret("managed-peer-tls"))
			secret.Type, secret.Annotations = corev1.SecretTypeServiceAccountToken, map[string]string{corev1.ServiceAccountNameKey: "members"}
			return create(l, c, secret)
		}},
		{"create a token of a ServiceAccount", restoreOperator, func(l *limits, c client.Client) error {
			secret := l.signedURL("token")
			secret.Type, secret.Annotations = corev1.SecretTypeServiceAccountToken, map[string]string{corev1.ServiceAccountNameKey: "members"}
			return c.Create(l.Context(), secret)
		}},
		{"create a bootstrap token", restoreOperator, func(l *limits, c client.Client) error {
			secret := l.signedURL("bootstrap")
			secret.Type = "bootstrap.kubernetes.io/token"
			return c.Create(l.Context(), secret)
		}},
	},
	"a Secret belongs to something else": {
		{"create any Secret", clusterOperator, func(l *limits, c client.Client) error { return create(l, c, l.secret("managed-ca")) }},
		{"create a Secret with another name", clusterOperator, func(l *limits, c client.Client) error {
			return create(l, c, of(l.managed, l.secret("argocd-cluster")))
		}},
		{"create the Secret of members of another cluster", clusterOperator, func(l *limits, c client.Client) error {
			return create(l, c, of(l.managed, l.secret("managed-b-peer-tls")))
		}},
		{"create the Secret of the operators for another cluster", clusterOperator, func(l *limits, c client.Client) error {
			return create(l, c, of(l.managed, l.secret("managed-b-operator-tls")))
		}},
		{"create a Secret with the name of the cluster only", clusterOperator, func(l *limits, c client.Client) error {
			return create(l, c, of(l.managed, l.secret("managed-tls")))
		}},
		{"create a signed URL", clusterOperator, func(l *limits, c client.Client) error { return c.Create(l.Context(), l.signedURL("cluster")) }},
		{"overwrite a Secret", clusterOperator, func(l *limits, c client.Client) error {
			return changeForeign(l, c, l.secret("foreign-ca"), `{"data":{"ca.crt":"eA=="}}`)
		}},
		{"adopt a Secret", clusterOperator, func(l *limits, c client.Client) error { return changeForeign(l, c, l.secret("foreign-ca"), adopt) }},
		{"delete a Secret of a cluster", clusterOperator, func(l *limits, c client.Client) error {
			return c.Delete(l.Context(), l.secret("managed-ca"))
		}},
		{"create any Secret", restoreOperator, func(l *limits, c client.Client) error { return create(l, c, l.secret("any")) }},
		{"overwrite the CA of a cluster", restoreOperator, func(l *limits, c client.Client) error {
			return merge(l, c, l.secret("managed-ca"), `{"data":{"ca.crt":"eA=="}}`)
		}},
		{"adopt a Secret", restoreOperator, func(l *limits, c client.Client) error {
			return changeForeign(l, c, l.secret("etcdrestore-1"), `{"metadata":{"ownerReferences":[{"apiVersion":"etcd.database.coreos.com/v1beta2","kind":"EtcdRestore","name":"x","uid":"1"}]}}`)
		}},
		{"delete a Secret", restoreOperator, func(l *limits, c client.Client) error { return deleteForeign(l, c, l.secret("foreign")) }},
		{"create any Secret", backupOperator, func(l *limits, c client.Client) error { return create(l, c, l.secret("any")) }},
		{"delete a Secret", backupOperator, func(l *limits, c client.Client) error { return c.Delete(l.Context(), l.secret("managed-ca")) }},
	},
	"another controller copies or uses a Secret": {
		{"create a Secret that is copied to other namespaces", clusterOperator, func(l *limits, c client.Client) error {
			secret := of(l.managed, l.secret("managed-alice-tls"))
			secret.Annotations = map[string]string{copied: "true"}
			return create(l, c, secret)
		}},
		{"copy the CA of a cluster to other namespaces", clusterOperator, func(l *limits, c client.Client) error {
			return merge(l, c, l.secret("managed-ca"), `{"metadata":{"annotations":{"replicator.v1.mittwald.de/replicate-to":"*"}}}`)
		}},
		{"copy a signed URL to other namespaces", restoreOperator, func(l *limits, c client.Client) error {
			secret := l.signedURL("copied-url")
			secret.Annotations = map[string]string{copied: "true"}
			return create(l, c, secret)
		}},
		{"change an annotation of a user", clusterOperator, func(l *limits, c client.Client) error {
			if err := merge(l, l.admin, l.secret("managed-client-tls"), `{"metadata":{"annotations":{"`+copied+`":"false"}}}`); err != nil {
				l.Fatal(err)
			}
			return merge(l, c, l.secret("managed-client-tls"), `{"metadata":{"annotations":{"`+copied+`":"true"}}}`)
		}},
		{"give Argo CD a repository", clusterOperator, func(l *limits, c client.Client) error {
			secret := of(l.managed, l.secret("managed-alice-tls"))
			secret.Labels["argocd.argoproj.io/secret-type"] = "repository"
			return create(l, c, secret)
		}},
	},
	"a Pod reaches its node": {
		badPod("use the network of the node", func(p *corev1.PodSpec) { p.HostNetwork = true }),
		badPod("use the processes of the node", func(p *corev1.PodSpec) { p.HostPID = true }),
		badPod("use the IPC of the node", func(p *corev1.PodSpec) { p.HostIPC = true }),
		badPod("mount a path of the node", func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
		}),
		badPod("mount a volume of another type", func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "nfs", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}})
		}),
		badPod("run a privileged container", func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		}),
		badPod("run a privileged init container", func(p *corev1.PodSpec) {
			p.InitContainers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		}),
		badPod("add a capability that reaches the node", func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}
		}),
		badPod("take a port of the node", func(p *corev1.PodSpec) {
			p.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 2379, HostPort: 2379}}
		}),
		badPod("add all capabilities", func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"ALL"}}}
		}),
	},
	"a Pod has a token": {
		badPod("mount the token of its account", func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = ptr.To(true) }),
		badPod("mount the token by default", func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil }),
		badPod("mount a token for the Kubernetes API", func(p *corev1.PodSpec) { p.Volumes = append(p.Volumes, projected("")) }),
		badPod("mount a token for its audience", func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, projected("https://kubernetes.default.svc.cluster.local"))
		}),
	},
	"a Pod is no member": {
		{"create any Pod", clusterOperator, func(l *limits, c client.Client) error {
			pod := l.pod("managed-x")
			pod.OwnerReferences = nil
			return create(l, c, pod)
		}},
		{"create a Pod with another name", clusterOperator, func(l *limits, c client.Client) error { return create(l, c, l.pod("etcd-kubemaster")) }},
		{"create a Pod", backupOperator, func(l *limits, c client.Client) error { return create(l, c, l.pod("managed-x")) }},
		{"create a Pod", restoreOperator, func(l *limits, c client.Client) error { return create(l, c, l.pod("managed-x")) }},
		{"label a Pod of others", clusterOperator, func(l *limits, c client.Client) error {
			return changeForeign(l, c, foreignPod(l), `{"metadata":{"labels":{"app":"etcd"}}}`)
		}},
		{"adopt a Pod of others", clusterOperator, func(l *limits, c client.Client) error { return changeForeign(l, c, foreignPod(l), adopt) }},
		{"delete a Pod of others", clusterOperator, func(l *limits, c client.Client) error { return deleteForeign(l, c, foreignPod(l)) }},
		{"change the spec of a member", clusterOperator, func(l *limits, c client.Client) error {
			pods, _ := l.members()
			return merge(l, c, &pods[0], `{"spec":{"activeDeadlineSeconds":1}}`)
		}},
		{"give a member to another owner", clusterOperator, func(l *limits, c client.Client) error {
			pods, _ := l.members()
			return merge(l, c, &pods[0], `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"x","uid":"1","controller":true}]}}`)
		}},
		{"delete a member", restoreOperator, func(l *limits, c client.Client) error {
			pods, _ := l.members()
			return c.Delete(l.Context(), &pods[0])
		}},
	},
	"a volume is no member's": {
		{"create any volume", clusterOperator, func(l *limits, c client.Client) error {
			volume := foreignVolume(l)
			volume.Name = "managed-any"
			return c.Create(l.Context(), volume)
		}},
		{"copy a volume of others", clusterOperator, func(l *limits, c client.Client) error {
			volume := of(l.managed, foreignVolume(l))
			volume.Name = "managed-bcdfghjklm"
			volume.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "data-postgres-0"}
			return create(l, c, volume)
		}},
		{"adopt a volume of others", clusterOperator, func(l *limits, c client.Client) error { return changeForeign(l, c, foreignVolume(l), adopt) }},
		{"mark a volume of others", clusterOperator, func(l *limits, c client.Client) error {
			return changeForeign(l, c, foreignVolume(l), `{"metadata":{"annotations":{"etcd.database.coreos.com/cluster-uid":"x"}}}`)
		}},
		{"delete a volume of others", clusterOperator, func(l *limits, c client.Client) error { return deleteForeign(l, c, foreignVolume(l)) }},
		{"delete a volume of a member", backupOperator, func(l *limits, c client.Client) error {
			_, volumes := l.members()
			return c.Delete(l.Context(), &volumes[0])
		}},
	},
	"a Service or budget is of others": {
		{"create any Service", clusterOperator, func(l *limits, c client.Client) error { return create(l, c, foreignService(l)) }},
		{"lead a Service to other Pods", clusterOperator, func(l *limits, c client.Client) error {
			return merge(l, c, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "managed-client"}}, `{"spec":{"selector":{"etcd_cluster":"other"}}}`)
		}},
		{"take an address of others", clusterOperator, func(l *limits, c client.Client) error {
			return merge(l, c, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "managed-client"}}, `{"spec":{"externalIPs":["192.0.2.1"]}}`)
		}},
		{"lead the name of a Service to another server", clusterOperator, func(l *limits, c client.Client) error {
			service := of(l.managed, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "managed-client"}})
			service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Selector: map[string]string{"etcd_cluster": "managed"}}
			return create(l, c, service)
		}},
		{"change a Service of others", clusterOperator, func(l *limits, c client.Client) error {
			return changeForeign(l, c, foreignService(l), `{"spec":{"selector":{"etcd_cluster":"managed"}}}`)
		}},
		{"delete a Service of others", clusterOperator, func(l *limits, c client.Client) error { return deleteForeign(l, c, foreignService(l)) }},
		{"block drains of others", clusterOperator, func(l *limits, c client.Client) error {
			budget := of(l.managed, l.budget("managed"))
			budget.Spec.Selector = &metav1.LabelSelector{}
			return create(l, c, budget)
		}},
		{"delete a budget of others", clusterOperator, func(l *limits, c client.Client) error { return deleteForeign(l, c, l.budget("foreign")) }},
	},
	"a NetworkPolicy limits others": {
		{"create any NetworkPolicy", clusterOperator, func(l *limits, c client.Client) error { return create(l, c, l.networkPolicy("any")) }},
		{"cut off Pods of others", clusterOperator, func(l *limits, c client.Client) error {
			policy := of(l.managed, l.networkPolicy("managed"))
			policy.Spec.PodSelector = metav1.LabelSelector{}
			return create(l, c, policy)
		}},
		{"cut off Pods of others by an expression", clusterOperator, func(l *limits, c client.Client) error {
			policy := of(l.managed, l.networkPolicy("managed"))
			policy.Spec.PodSelector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "etcd_cluster", Operator: metav1.LabelSelectorOpExists}}}
			return create(l, c, policy)
		}},
		{"limit what members connect to", clusterOperator, func(l *limits, c client.Client) error {
			policy := of(l.managed, l.networkPolicy("managed"))
			policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
			return create(l, c, policy)
		}},
		{"open Pods of others", clusterOperator, func(l *limits, c client.Client) error {
			return changeForeign(l, c, l.networkPolicy("foreign"), `{"spec":{"ingress":[{}]}}`)
		}},
		{"delete a NetworkPolicy of others", clusterOperator, func(l *limits, c client.Client) error { return deleteForeign(l, c, l.networkPolicy("foreign")) }},
		{"write a NetworkPolicy", backupOperator, func(l *limits, c client.Client) error {
			return create(l, c, of(l.managed, l.networkPolicy("managed")))
		}},
	},
	"a Certificate is for others": {
		badCertificate("overwrite another Secret", `{"spec":{"secretName":"webhook-tls"}}`),
		badCertificate("name an issuer of the whole Kubernetes cluster", `{"spec":{"issuerRef":{"name":"corp-ca","kind":"ClusterIssuer","group":"cert-manager.io"}}}`),
		badCertificate("become a CA", `{"spec":{"isCA":true}}`),
		badCertificate("name another server", `{"spec":{"dnsNames":["kubernetes.default.svc"]}}`),
		badCertificate("name another server of that prefix", `{"spec":{"dnsNames":["issued-client.example.com"]}}`),
		badCertificate("name a server of a namespace with that prefix", `{"spec":{"dnsNames":["issued-client.NAMESPACEb.svc"]}}`),
		badCertificate("name its Service in another domain", `{"spec":{"dnsNames":["issued-client.NAMESPACE.svc.bank.example"]}}`),
		badCertificate("name its Service in a domain that begins with svc", `{"spec":{"dnsNames":["issued-client.NAMESPACE.svcbank.example"]}}`),
		badCertificate("name its Service in a domain below that of Kubernetes", `{"spec":{"dnsNames":["issued-client.NAMESPACE.svc.bank.cluster.local"]}}`),
		badCertificate("name members in another domain", `{"spec":{"dnsNames":["*.issued.NAMESPACE.svc.bank.example"]}}`),
		badCertificate("name members in a domain that begins with svc", `{"spec":{"dnsNames":["*.issued.NAMESPACE.svcbank.example"]}}`),
		badCertificate("name members of another cluster", `{"spec":{"dnsNames":["*.managed.NAMESPACE.svc"]}}`),
		badCertificate("name members of a cluster in another namespace", `{"spec":{"dnsNames":["*.issued.NAMESPACEb.svc"]}}`),
		badCertificate("name clients of another cluster", `{"spec":{"dnsNames":["client.managed.NAMESPACE.svc"]}}`),
		badCertificate("name clients in another domain", `{"spec":{"dnsNames":["client.issued.NAMESPACE.svc.bank.example"]}}`),
		badCertificate("name members in a domain that only the server may have", `{"spec":{"dnsNames":["etcd.edge.example"]}}`),
		badServer("name a server in a domain that ends like an allowed one", `{"spec":{"dnsNames":["etcd.bankedge.example"]}}`),
		badServer("name a server with an address", `{"spec":{"ipAddresses":["192.0.2.10"]}}`),
		badCertificate("name one server", `{"spec":{"dnsNames":["www.issued.NAMESPACE.svc"]}}`),
		badCertificate("copy its Secret to other namespaces", `{"spec":{"secretTemplate":{"annotations":{"reflector.v1.k8s.emberstack.com/reflection-auto-enabled":"true"}}}}`),
		badCertificate("copy its Secret to other namespaces by annotations of both", `{"metadata":{"annotations":{"`+copied+`":"true"}},"spec":{"secretTemplate":{"annotations":{"`+copied+`":"true"}}}}`),
		badCertificate("make its Secret a setting of Argo CD", `{"metadata":{"labels":{"argocd.argoproj.io/secret-type":"cluster"}},"spec":{"secretTemplate":{"labels":{"argocd.argoproj.io/secret-type":"cluster"}}}}`),
		badCertificate("label its Secret otherwise than itself", `{"metadata":{"labels":{"team":"a"}},"spec":{"secretTemplate":{"labels":{"team":"b"}}}}`),
		badCertificate("name an address of a server", `{"spec":{"ipAddresses":["192.0.2.1"]}}`),
		badCertificate("be in a group of administrators", `{"spec":{"subject":{"organizations":["system:masters"]}}}`),
		badCertificate("name an address of mail", `{"spec":{"emailAddresses":["alice@example.com"]}}`),
		badCertificate("name another member", `{"spec":{"commonName":"other-peer"}}`),
		{"create another Certificate", clusterOperator, func(l *limits, c client.Client) error {
			certificate := l.certificate("issued-other")
			certificate.Object["spec"] = map[string]any{"secretName": "issued-other-issued", "issuerRef": map[string]any{"name": "ca"}}
			return create(l, c, of(l.issued, certificate))
		}},
		badUser("request a Certificate of a user for servers", "shop", func(spec map[string]any) { spec["usages"] = []any{"server auth", "client auth"} }),
		badUser("request a Certificate of a user for all usages", "shop", func(spec map[string]any) { delete(spec, "usages") }),
		badUser("request a Certificate of a user with the name of another", "shop", func(spec map[string]any) { spec["commonName"] = "admin" }),
		badUser("request a Certificate of root", "root", nil),
		badUser("request a Certificate of a user with the name of that of another cluster", "shop-peer", nil),
		badUser("request a Certificate of a user with the name of members", "shop", func(spec map[string]any) { spec["dnsNames"] = []any{"*.issued.elsewhere.svc", "issued-client"} }),
		badUser("request a Certificate of a user with an address", "shop", func(spec map[string]any) { spec["ipAddresses"] = []any{"127.0.0.1"} }),
		badUser("request a Certificate of a user in another Secret", "shop", func(spec map[string]any) { spec["secretName"] = "webhook-tls" }),
		{"delete a Certificate of members", clusterOperator, func(l *limits, c client.Client) error { return c.Delete(l.Context(), l.certificate("issued-peer")) }},
		{"delete a Certificate of others", clusterOperator, func(l *limits, c client.Client) error {
			return deleteForeign(l, c, l.certificate("issued-web"))
		}},
		{"adopt a Certificate", clusterOperator, func(l *limits, c client.Client) error {
			return changeForeign(l, c, l.certificate("issued-web"), `{"metadata":{"ownerReferences":[{"apiVersion":"etcd.database.coreos.com/v1beta2","kind":"EtcdCluster","name":"issued","uid":"1"}]},"spec":{"commonName":"web","usages":["client auth"],"secretName":"issued-web-issued","issuerRef":{"name":"ca"}}}`)
		}},
		{"request a Certificate", restoreOperator, func(l *limits, c client.Client) error {
			return merge(l, c, l.certificate("issued-peer"), `{"spec":{"duration":"1h"}}`)
		}},
	},
	"an object of the suite is the user's": {
		{"change the spec of an EtcdCluster", clusterOperator, func(l *limits, c client.Client) error {
			return merge(l, c, l.managed.DeepCopy(), `{"spec":{"size":1}}`)
		}},
		{"delete an EtcdCluster", clusterOperator, func(l *limits, c client.Client) error { return c.Delete(l.Context(), l.managed.DeepCopy()) }},
		{"delete an EtcdCluster", backupOperator, func(l *limits, c client.Client) error { return c.Delete(l.Context(), l.managed.DeepCopy()) }},
		{"change the spec of an EtcdBackup", backupOperator, func(l *limits, c client.Client) error {
			return merge(l, c, l.backup("changed", nil), `{"spec":{"s3":{"path":"other/key"}}}`)
		}},
		{"delete an EtcdBackup without a time to live", backupOperator, func(l *limits, c client.Client) error { return c.Delete(l.Context(), l.backup("kept", nil)) }},
		{"delete an EtcdBackup", restoreOperator, func(l *limits, c client.Client) error {
			return c.Delete(l.Context(), l.backup("others", ptr.To(int32(0))))
		}},
		{"delete an EtcdRestore without a time to live", restoreOperator, func(l *limits, c client.Client) error {
			return c.Delete(l.Context(), l.restore("kept", nil))
		}},
		{"create an EtcdRestore", restoreOperator, func(l *limits, c client.Client) error {
			restore := l.restore("copied", nil)
			restore.ObjectMeta = metav1.ObjectMeta{Namespace: l.team, Name: "made"}
			return create(l, c, restore)
		}},
	},
	"an event or a Lease is of others": {
		{"write events about Pods", clusterOperator, func(l *limits, c client.Client) error { return create(l, c, l.event("Pod", "v1")) }},
		{"write events about nodes", backupOperator, func(l *limits, c client.Client) error {
			return create(l, c, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: l.team, Name: "x"}})
		}},
		{"take the Lease of another operator", backupOperator, func(l *limits, c client.Client) error { return create(l, c, l.lease(restoreOperator)) }},
		{"take a Lease of Kubernetes", clusterOperator, func(l *limits, c client.Client) error {
			lease := l.lease(clusterOperator)
			lease.Namespace, lease.Name = "kube-system", "kube-controller-manager"
			return create(l, c, lease)
		}},
	},
}

func TestPoliciesHoldIfAProcessIsTakenOver(t *testing.T) {
	l := newLimits(t)
	l.takeOver()
	for kind, calls := range forbiddenCalls {
		t.Run(kind, func(t *testing.T) {
			for _, call := range calls {
				if err := call.do(l, l.operators[call.component]); !denied(err) {
					t.Errorf("%s can %s, or another part refuses it: %v", call.component, call.name, err)
				}
			}
		})
	}
	t.Run("other accounts are not limited", func(t *testing.T) {
		if err := l.admin.Create(t.Context(), l.secret("of-a-user")); err != nil {
			t.Error(err)
		}
	})
}

// create tries it in a dry run, which policies treat like a request.
func create(l *limits, c client.Client, object client.Object) error {
	return c.Create(l.Context(), object, client.DryRunAll)
}

// changeForeign lets a user create an object, and the operator change it.
func changeForeign(l *limits, c client.Client, object client.Object, patch string) error {
	if err := client.IgnoreAlreadyExists(l.admin.Create(l.Context(), object)); err != nil {
		l.Fatal(err)
	}
	return merge(l, c, object, patch)
}

func deleteForeign(l *limits, c client.Client, object client.Object) error {
	if err := client.IgnoreAlreadyExists(l.admin.Create(l.Context(), object)); err != nil {
		l.Fatal(err)
	}
	return c.Delete(l.Context(), object)
}

// badPod is the creation of a member's Pod with one change.
func badPod(name string, change func(*corev1.PodSpec)) request {
	return request{name, clusterOperator, func(l *limits, c client.Client) error {
		pod := l.pod("managed-x")
		change(&pod.Spec)
		return create(l, c, pod)
	}}
}

func badCertificate(name, patch string) request {
	return request{name, clusterOperator, func(l *limits, c client.Client) error {
		return merge(l, c, l.certificate("issued-peer"), strings.ReplaceAll(patch, "NAMESPACE", l.team))
	}}
}

// badUser requests the Certificate of a user with something that it may not have.
func badUser(name, user string, change func(spec map[string]any)) request {
	return request{name, clusterOperator, func(l *limits, c client.Client) error { return create(l, c, l.userCertificate(user, change)) }}
}

// userCertificate is the Certificate of a user, as cluster-operator requests it.
func (l *limits) userCertificate(user string, change func(spec map[string]any)) *unstructured.Unstructured {
	certificate := l.certificate("issued-" + user)
	spec := map[string]any{
		"secretName": "issued-" + user + "-issued", "commonName": user, "usages": []any{"digital signature", "client auth"},
		"dnsNames": []any{"client.issued." + l.team + ".svc"}, "issuerRef": map[string]any{"name": "ca", "kind": "Issuer", "group": "cert-manager.io"},
	}
	if change != nil {
		change(spec)
	}
	certificate.Object["spec"] = spec
	return of(l.issued, certificate)
}

// badServer is badCertificate for the one of members for clients.
func badServer(name, patch string) request {
	return request{name, clusterOperator, func(l *limits, c client.Client) error { return merge(l, c, l.certificate("issued-server"), patch) }}
}

func (l *limits) certificate(name string) *unstructured.Unstructured {
	certificate := &unstructured.Unstructured{Object: map[string]any{}}
	certificate.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"})
	certificate.SetNamespace(l.team)
	certificate.SetName(name)
	return certificate
}

func foreignPod(l *limits) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "foreign"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "i"}}}}
}

// foreignVolume is like a volume of a StatefulSet, which has no owner.
func foreignVolume(l *limits) *corev1.PersistentVolumeClaim {
	_, volumes := l.members()
	spec := volumes[0].Spec.DeepCopy()
	spec.VolumeName = ""
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "data-postgres-0"}, Spec: *spec}
}

func foreignService(l *limits) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "foreign"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
}

package netpolicy

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// A wrong answer here would pass a policy that opens a port, or cuts off a member. The cases are those of
// https://kubernetes.io/docs/concepts/services-networking/network-policies/.
func TestAllowsAsTheKubernetesDocumentationSays(t *testing.T) {
	db := End{Namespace: "default", NamespaceLabels: map[string]string{"project": "other"}, Labels: map[string]string{"role": "db"}, Ports: map[string]int32{"sql": 6379}}
	frontend := End{Namespace: "default", Labels: map[string]string{"role": "frontend"}, Address: "10.1.0.1"}
	elsewhere := End{Namespace: "x", NamespaceLabels: map[string]string{"project": "mine"}, Labels: map[string]string{"role": "frontend"}, Address: "10.1.0.2"}
	for name, test := range map[string]struct {
		policy string
		from   End
		want   bool
	}{
		"no policy selects the Pod":                  {"{podSelector: {matchLabels: {role: web}}}", elsewhere, true},
		"an empty policy denies all":                 {"{podSelector: {}, policyTypes: [Ingress]}", frontend, false},
		"a policy of egress denies nothing":          {"{podSelector: {}, policyTypes: [Egress]}", frontend, true},
		"an empty rule allows all":                   {"{podSelector: {}, ingress: [{}]}", elsewhere, true},
		"a Pod of the namespace":                     {"{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {role: frontend}}}]}]}", frontend, true},
		"a Pod with that label of another namespace": {"{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {role: frontend}}}]}]}", elsewhere, false},
		"a namespace":                                {"{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {project: mine}}}]}]}", elsewhere, true},
		"both selectors of one entry":                {"{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {project: mine}}, podSelector: {matchLabels: {role: web}}}]}]}", elsewhere, false},
		"one of two entries":                         {"{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {project: mine}}}, {podSelector: {matchLabels: {role: web}}}]}]}", elsewhere, true},
		"an address":                                 {"{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.1.0.0/16}}]}]}", frontend, true},
		"an address that is left out":                {"{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.1.0.0/16, except: [10.1.0.0/24]}}]}]}", frontend, false},
		"the port":                                   {"{podSelector: {}, ingress: [{ports: [{port: 6379}]}]}", frontend, true},
		"another port":                               {"{podSelector: {}, ingress: [{ports: [{port: 80}]}]}", frontend, false},
		"the name of the port":                       {"{podSelector: {}, ingress: [{ports: [{port: sql}]}]}", frontend, true},
		"a range of ports":                           {"{podSelector: {}, ingress: [{ports: [{port: 6000, endPort: 7000}]}]}", frontend, true},
		"another protocol":                           {"{podSelector: {}, ingress: [{ports: [{port: 6379, protocol: UDP}]}]}", frontend, false},
		"an end outside of Kubernetes, which no selector selects": {"{podSelector: {}, ingress: [{from: [{podSelector: {}}, {namespaceSelector: {}}]}]}", End{Address: "10.1.0.3"}, false},
	} {
		policy := networkingv1.NetworkPolicy{}
		policy.Namespace = "default"
		if err := yaml.UnmarshalStrict([]byte(test.policy), &policy.Spec); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := Allows([]networkingv1.NetworkPolicy{policy}, test.from, db, 6379); got != test.want {
			t.Errorf("%s: allowed: %t, want %t", name, got, test.want)
		}
	}
}

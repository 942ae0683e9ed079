package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const group = "etcd.database.coreos.com"

// rights returns all rights of a component. A right is a verb and a resource, for
// example "get pods" or "patch etcdclusters/status".
func (r release) rights(component string) []string {
	var rights []string
	for _, rule := range r.rules(component) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				rights = append(rights, verb+" "+resource)
			}
		}
	}
	slices.Sort(rights)
	return slices.Compact(rights)
}

func (r release) rules(component string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, role := range all[*rbacv1.Role](r) {
		if role.Labels[componentLabel] == component {
			rules = append(rules, role.Rules...)
		}
	}
	for _, role := range all[*rbacv1.ClusterRole](r) {
		if role.Labels[componentLabel] == component {
			rules = append(rules, role.Rules...)
		}
	}
	return rules
}

func expand(lines ...string) []string {
	var rights []string
	for _, line := range lines {
		resource, verbs, _ := strings.Cut(line, ": ")
		for _, verb := range strings.Fields(verbs) {
			rights = append(rights, verb+" "+resource)
		}
	}
	slices.Sort(rights)
	return rights
}

func TestEachOperatorHasExactlyTheRightsThatItNeeds(t *testing.T) {
	r := render(t, "")
	common := []string{"secrets: get", "events: create patch", "leases: create get update", "tokenreviews: create", "subjectaccessreviews: create"}
	for component, want := range map[string][]string{
		clusterOperator: {
			"etcdclusters: get list watch", "etcdclusters/status: patch", "etcdclusters/finalizers: update",
			"etcdrestores: get list watch",
			"pods: get list watch create patch delete", "pods/resize: patch", "persistentvolumeclaims: get list watch create patch delete",
			"services: get list watch create patch", "poddisruptionbudgets: get list watch create patch delete",
			"networkpolicies: get list watch create patch delete",
			"storageclasses: list", "nodes: get", "events: list", "endpointslices: list",
			"secrets: create update", "certificates: get create patch delete",
		},
		backupOperator: {
			"etcdbackups: delete get list watch patch", "etcdbackups/status: patch",
			"etcdclusters: get list watch", "etcdrestores: list",
		},
		restoreOperator: {
			"etcdrestores: get list watch delete", "etcdrestores/status: patch",
			"etcdclusters: get list watch", "etcdbackups: get list watch",
			"persistentvolumeclaims: get", "pods: list",
			"secrets: delete", // without an entry in ownIdentity it signs no URL
		},
	} {
		t.Run(component, func(t *testing.T) {
			if diff := cmp.Diff(expand(append(want, common...)...), r.rights(component)); diff != "" {
				t.Errorf("the rights of %s differ (-want +got):\n%s", component, diff)
			}
		})
	}
}

func TestNoRuleHasAWildcardOrASensitiveRight(t *testing.T) {
	for name, values := range map[string]string{"all namespaces": "", "two namespaces": "watchNamespaces: [a, b]"} {
		t.Run(name, func(t *testing.T) {
			r := render(t, values, ownIdentity)
			for component := range operators {
				for _, rule := range r.rules(component) {
					checkRule(t, component, rule)
				}
			}
		})
	}
}

func checkRule(t *testing.T, component string, rule rbacv1.PolicyRule) {
	t.Helper()
	for _, words := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
		if slices.Contains(words, "*") || len(words) == 0 {
			t.Errorf("%s has a rule with a wildcard or an empty list: %+v", component, rule)
		}
	}
	issues := component == clusterOperator && slices.Equal(rule.Verbs, []string{"create", "update"})
	signs := component == restoreOperator && slices.Equal(rule.Verbs, []string{"create", "update", "delete"})
	if slices.Contains(rule.Resources, "secrets") && !slices.Equal(rule.Verbs, []string{"get"}) && !issues && !signs {
		t.Errorf("%s has the rights %v on Secrets", component, rule.Verbs)
	}
	if component == clusterOperator && slices.Contains(rule.Resources, "etcdbackups") {
		t.Errorf("cluster-operator has the rights %v on EtcdBackups, but must have none", rule.Verbs)
	}
	for _, verb := range rule.Verbs {
		if slices.Contains([]string{"escalate", "bind", "impersonate", "deletecollection"}, verb) {
			t.Errorf("%s has the sensitive right to %s %v", component, verb, rule.Resources)
		}
	}
	for _, resource := range rule.Resources {
		resize := component == clusterOperator && resource == "pods/resize" && slices.Equal(rule.Verbs, []string{"patch"})
		if strings.HasPrefix(resource, "pods/") && !resize || strings.HasPrefix(resource, "serviceaccounts") {
			t.Errorf("%s has rights on %s", component, resource)
		}
	}
}

func TestEveryBindingRefersToTheRoleAndServiceAccountOfItsOperator(t *testing.T) {
	for name, values := range map[string]string{"all namespaces": "", "two namespaces": "watchNamespaces: [a, b]"} {
		t.Run(name, func(t *testing.T) {
			r := render(t, values)
			accounts := map[string]string{}
			for _, account := range all[*corev1.ServiceAccount](r) {
				accounts[account.Name] = account.Labels[componentLabel]
			}
			check := func(binding metav1.Object, role metav1.Object, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
				component := binding.GetLabels()[componentLabel]
				if role == nil || role.GetLabels()[componentLabel] != component {
					t.Errorf("binding %s refers to %s %s, which does not belong to %s", binding.GetName(), ref.Kind, ref.Name, component)
				}
				if len(subjects) != 1 || subjects[0].Namespace != releaseNamespace || accounts[subjects[0].Name] != component {
					t.Errorf("binding %s must have only the ServiceAccount of %s, but has %+v", binding.GetName(), component, subjects)
				}
			}
			bindings := 0
			for _, b := range all[*rbacv1.RoleBinding](r) {
				bindings++
				check(b, find(all[*rbacv1.Role](r), b.Namespace, b.RoleRef.Name), b.RoleRef, b.Subjects)
			}
			for _, b := range all[*rbacv1.ClusterRoleBinding](r) {
				bindings++
				check(b, find(all[*rbacv1.ClusterRole](r), "", b.RoleRef.Name), b.RoleRef, b.Subjects)
			}
			if bindings < 7 {
				t.Errorf("the chart has %d bindings, expected at least 7, so the test tested too little", bindings)
			}
		})
	}
}

func find[T metav1.Object](objects []T, namespace, name string) metav1.Object {
	for _, o := range objects {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}

func TestWatchNamespacesLimitsRightsToTheNamespaces(t *testing.T) {
	t.Run("each operator has a Role in each namespace, and the only cluster-wide rights are on StorageClasses and Nodes, and to check who reads metrics", func(t *testing.T) {
		r := render(t, "watchNamespaces: [a, b]")
		for component := range operators {
			var namespaces []string
			for _, role := range all[*rbacv1.Role](r) {
				if role.Labels[componentLabel] == component {
					namespaces = append(namespaces, role.Namespace+"/"+role.Name)
				}
			}
			slices.Sort(namespaces)
			name := "demo-" + component
			want := []string{"a/" + name, "b/" + name, releaseNamespace + "/" + name + "-leader-election"}
			if diff := cmp.Diff(want, namespaces); diff != "" {
				t.Errorf("Roles (-want +got):\n%s", diff)
			}
			if args := r.deployment(t, component).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--watch-namespaces=a,b") {
				t.Errorf("%s has the arguments %v", component, args)
			}
		}
		if bindings := all[*rbacv1.ClusterRoleBinding](r); len(bindings) != 5 {
			t.Errorf("ClusterRoleBindings: %v", bindings)
		}
		wide := map[string]rbacv1.PolicyRule{
			"demo-cluster-operator-storageclasses:etcd-system": {APIGroups: []string{"storage.k8s.io"}, Resources: []string{"storageclasses"}, Verbs: []string{"list"}},
			"demo-cluster-operator-nodes:etcd-system":          {APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}},
		}
		for _, role := range all[*rbacv1.ClusterRole](r) {
			if role.Labels[componentLabel] == "" {
				continue // a role for users
			}
			want := []rbacv1.PolicyRule{wide[role.Name]}
			if role.Name == "demo-"+role.Labels[componentLabel]+"-metrics:etcd-system" {
				want = []rbacv1.PolicyRule{
					{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
					{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
				}
			}
			if diff := cmp.Diff(want, role.Rules); diff != "" {
				t.Errorf("rules of ClusterRole %s (-want +got):\n%s", role.Name, diff)
			}
		}
	})

	t.Run("no object is cluster-wide if StorageClasses, Nodes, secure metrics, policies, user roles and CRDs are disabled", func(t *testing.T) {
		r := render(t, "watchNamespaces: [a]\nclusterOperator: {readStorageClasses: false, readNodes: false, metrics: {secure: false}}\nbackupOperator: {metrics: {secure: false}}\nrestoreOperator: {metrics: {secure: false}}\nadmissionPolicies: {create: false}\nuserRoles: {create: false}\ncrds: {install: false}")
		for _, object := range r.objects {
			if object.GetNamespace() == "" {
				t.Errorf("%T %s is cluster-wide", object, object.GetName())
			}
		}
	})

	t.Run("each operator has rights only on its own Lease, except create", func(t *testing.T) {
		r := render(t, "watchNamespaces: [a]")
		for component := range operators {
			for _, rule := range r.rules(component) {
				if !slices.Contains(rule.Resources, "leases") || slices.Equal(rule.Verbs, []string{"create"}) {
					continue
				}
				if !slices.Equal(rule.ResourceNames, []string{component + "." + group}) {
					t.Errorf("%s has rights on Leases of others: %+v", component, rule)
				}
			}
		}
	})
}

func TestRolesForUsersAndWithoutRBAC(t *testing.T) {
	t.Run("rbac.create=false renders no role for an operator", func(t *testing.T) {
		r := render(t, "rbac: {create: false}")
		for component := range operators {
			if got := r.rights(component); len(got) > 0 {
				t.Errorf("%s has the rights %v", component, got)
			}
		}
		if got := len(all[*rbacv1.RoleBinding](r)) + len(all[*rbacv1.ClusterRoleBinding](r)); got != 0 {
			t.Errorf("the chart has %d bindings, expected none", got)
		}
	})

	t.Run("viewers can read the three kinds, editors can change them, and no user can write a status", func(t *testing.T) {
		r := render(t, "")
		read, write := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete", "deletecollection"}
		for _, role := range all[*rbacv1.ClusterRole](r) {
			view := role.Labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
			edit := role.Labels["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
			if role.Labels[componentLabel] != "" {
				if view || edit {
					t.Errorf("the operator's role %s is aggregated to users", role.Name)
				}
				continue
			}
			if role.Name == "demo-metrics-reader:etcd-system" {
				if view || edit || len(role.Rules) != 1 || !slices.Equal(role.Rules[0].NonResourceURLs, []string{"/metrics"}) {
					t.Errorf("the role for readers of metrics has the rules %+v and labels %v", role.Rules, role.Labels)
				}
				continue
			}
			if !edit || role.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] != "true" {
				t.Errorf("%s has the labels %v", role.Name, role.Labels)
			}
			want := map[bool][]string{true: read, false: write}[view]
			if got := role.Rules[0]; !slices.Equal(got.Verbs, want) || len(got.Resources) != 3 {
				t.Errorf("role %s has the rule %+v, want the verbs %v on three resources", role.Name, got, want)
			}
			for _, rule := range role.Rules {
				if !slices.Equal(rule.APIGroups, []string{group}) {
					t.Errorf("role %s has rights in other API groups: %+v", role.Name, rule)
				}
				for _, resource := range rule.Resources {
					if strings.HasSuffix(resource, "/status") && !slices.Equal(rule.Verbs, []string{"get"}) {
						t.Errorf("role %s gives users the rights %v on %s", role.Name, rule.Verbs, resource)
					}
				}
			}
		}
	})
}

package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policies returns the policies that are bound, by name. It fails the test if one is not bound, or does not deny.
func (r release) policies(t *testing.T) map[string]*admissionv1.ValidatingAdmissionPolicy {
	t.Helper()
	bound := map[string][]admissionv1.ValidationAction{}
	for _, binding := range all[*admissionv1.ValidatingAdmissionPolicyBinding](r) {
		bound[binding.Spec.PolicyName] = binding.Spec.ValidationActions
	}
	found := map[string]*admissionv1.ValidatingAdmissionPolicy{}
	for _, policy := range all[*admissionv1.ValidatingAdmissionPolicy](r) {
		if !slices.Equal(bound[policy.Name], []admissionv1.ValidationAction{admissionv1.Deny}) {
			t.Errorf("the bindings of policy %s have the actions %v", policy.Name, bound[policy.Name])
		}
		found[policy.Name] = policy
	}
	if len(found) != len(bound) {
		t.Errorf("%d policies have %d bindings", len(found), len(bound))
	}
	return found
}

// unlimited are the rights to write that no policy limits, and the reason.
var unlimited = map[string]string{
	"etcdclusters/status":      "the status is what its operator says",
	"etcdbackups/status":       "the status is what its operator says",
	"etcdrestores/status":      "the status is what its operator says",
	"etcdclusters/finalizers":  "it is a right only, and no object",
	"tokenreviews":             "it is a question, which Kubernetes does not store",
	"subjectaccessreviews":     "it is a question, which Kubernetes does not store",
	"selfsubjectaccessreviews": "it is a question, which Kubernetes does not store",
}

func TestAPolicyLimitsEachRightToWrite(t *testing.T) {
	r := render(t, "")
	operations := map[string]admissionv1.OperationType{"create": "CREATE", "update": "UPDATE", "patch": "UPDATE", "delete": "DELETE"}
	limits := map[string]bool{}
	for _, policy := range r.policies(t) {
		for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, operation := range rule.Operations {
						limits[group+" "+resource+" "+string(operation)] = true
					}
				}
			}
		}
	}
	tested := 0
	for component := range operators {
		for _, rule := range r.rules(component) {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					operation, writes := operations[verb]
					if !writes || unlimited[resource] != "" {
						continue
					}
					tested++
					if !limits[rule.APIGroups[0]+" "+resource+" "+string(operation)] {
						t.Errorf("%s may %s %s, and no policy limits that", component, verb, resource)
					}
				}
			}
		}
	}
	if tested < 25 {
		t.Errorf("%d rights were tested, so the test tested too little", tested)
	}
}

func TestPoliciesMatchOnlyTheAccountsOfTheRelease(t *testing.T) {
	for name, test := range map[string]struct {
		values string
		want   []string
	}{
		"each operator has an account": {"", []string{"demo-backup-operator", "demo-cluster-operator", "demo-restore-operator"}},
		"one operator is off":          {"backupOperator: {enabled: false}", []string{"demo-cluster-operator", "demo-restore-operator"}},
		"two share an account":         {"backupOperator: {serviceAccount: {create: false, name: shared}}\nrestoreOperator: {serviceAccount: {create: false, name: shared}}", []string{"demo-cluster-operator", "shared"}},
	} {
		t.Run(name, func(t *testing.T) {
			policies := render(t, test.values).policies(t)
			if len(policies) < 8 {
				t.Errorf("the chart renders %d policies", len(policies))
			}
			var accounts []string
			for _, account := range test.want {
				accounts = append(accounts, "'system:serviceaccount:"+releaseNamespace+":"+account+"'")
			}
			for _, policy := range policies {
				if policy.Name == releaseName+"-clusters."+releaseNamespace && *policy.Spec.FailurePolicy == admissionv1.Fail {
					continue // it limits what users write
				}
				if len(policy.Spec.MatchConditions) != 1 || *policy.Spec.FailurePolicy != admissionv1.Fail {
					t.Fatalf("policy %s must fail closed, and only for the operators: %+v", policy.Name, policy.Spec)
				}
				want := "request.userInfo.username in [" + strings.Join(accounts, ",") + "]"
				if diff := cmp.Diff(want, policy.Spec.MatchConditions[0].Expression); diff != "" {
					t.Errorf("%s matches other accounts (-want +got):\n%s", policy.Name, diff)
				}
				for _, validation := range policy.Spec.Validations {
					if !strings.HasSuffix(validation.Message, ".") || validation.Reason == nil || *validation.Reason != metav1.StatusReasonForbidden {
						t.Errorf("%s refuses with the message %q and the reason %v", policy.Name, validation.Message, validation.Reason)
					}
				}
			}
		})
	}
}

func TestPoliciesAreRenderedOnlyIfTheAPIServerServesThem(t *testing.T) {
	const kinds = "--api-versions=apps/v1/Deployment"
	for name, test := range map[string]struct {
		args []string
		want bool
	}{
		"without a server, because each supported Kubernetes has them": {nil, true},
		"with a server that has them":                                  {[]string{kinds, "--api-versions=admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"}, true},
		"not with a server that lacks them":                            {[]string{kinds}, false},
		"not if the value is false":                                    {[]string{"--set=admissionPolicies.create=false"}, false},
		"not without an operator":                                      {[]string{"--set=clusterOperator.enabled=false,backupOperator.enabled=false,restoreOperator.enabled=false"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := helm(t, "", append([]string{"template", releaseName, chartDir, "--namespace", releaseNamespace}, test.args...)...)
			if err != nil {
				t.Fatal(err, out)
			}
			if got := strings.Contains(out, "kind: ValidatingAdmissionPolicy\n"); got != test.want {
				t.Errorf("rendered: %t, want %t", got, test.want)
			}
		})
	}
}

func TestRightsThatAConfigurationDoesNotNeedAreLeftOut(t *testing.T) {
	for name, test := range map[string]struct {
		values, component string
		without           []string
	}{
		"no signed URL without an identity":   {"", restoreOperator, []string{"create secrets", "update secrets"}},
		"no signed URL":                       {"restoreOperator: {signedURLs: false}", restoreOperator, []string{"create secrets", "update secrets", "delete secrets"}},
		"no Certificate that no Secret takes": {"clusterOperator: {managedTLS: false}", clusterOperator, []string{"create certificates", "patch certificates", "create secrets"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := render(t, "", ownIdentity).rights(test.component)
			left := render(t, test.values).rights(test.component)
			for _, right := range test.without {
				if !slices.Contains(all, right) || slices.Contains(left, right) {
					t.Errorf("%s: by default %t, now %t", right, slices.Contains(all, right), slices.Contains(left, right))
				}
			}
		})
	}
}

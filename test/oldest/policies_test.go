package oldest

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// The API server compiles each expression when a policy is created. If it does not know a function, helm upgrade fails.
func TestTheOldestReleaseAcceptsThePolicies(t *testing.T) {
	compiled := 0
	for _, document := range render(t) {
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal([]byte(document), &policy); err != nil || policy.Kind != "ValidatingAdmissionPolicy" {
			continue
		}
		for _, problem := range compile(t, policy) {
			t.Errorf("%s: %s", policy.Name, problem)
		}
		compiled += len(policy.Spec.Validations)
	}
	if compiled < 30 {
		t.Errorf("%d expressions were compiled, so the test tested too little", compiled)
	}
	unknown := admissionv1.ValidatingAdmissionPolicy{Spec: admissionv1.ValidatingAdmissionPolicySpec{Validations: []admissionv1.Validation{{Expression: "laterFunction()"}}}}
	if len(compile(t, unknown)) == 0 {
		t.Error("the compiler accepts a function that does not exist, so the test tests nothing")
	}
}

func compile(t *testing.T, policy admissionv1.ValidatingAdmissionPolicy) []string {
	t.Helper()
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	note := func(result plugincel.CompilationResult) {
		if result.Error != nil {
			problems = append(problems, result.Error.Detail)
		}
	}
	options := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, variable := range policy.Spec.Variables {
		note(compiler.CompileAndStoreVariable(&validating.Variable{Name: variable.Name, Expression: variable.Expression}, options, environment.NewExpressions))
	}
	for _, validation := range policy.Spec.Validations {
		note(compiler.CompileCELExpression(&validating.ValidationCondition{Expression: validation.Expression}, options, environment.NewExpressions))
	}
	return problems
}

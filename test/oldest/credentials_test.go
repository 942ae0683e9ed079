package oldest

import (
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

const member = `
apiVersion: v1
kind: Pod
metadata:
  name: example-bcdfghjklm
  namespace: team
  labels: {etcd_cluster: example}
  ownerReferences: [{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, name: example, uid: u, controller: true}]
spec:
  automountServiceAccountToken: false
  containers: [{name: etcd}]
  volumes: [{name: v, projected: {sources: [%s]}}]
`

// A process with the token of cluster-operator mounted a certificate of a ServiceAccount into a Pod. Newer releases of Kubernetes have this source of a projected
// volume, and the policy knew only the one for tokens.
func TestAPodOfAMemberHasNoCredentialsOfAServiceAccount(t *testing.T) {
	for source, allowed := range map[string]bool{
		"{secret: {name: example-server-tls}}":                                                        true,
		"{configMap: {name: x}}":                                                                      true,
		"{downwardAPI: {items: []}}":                                                                  true,
		"{clusterTrustBundle: {signerName: example.com/x, path: x}}":                                  true,
		"{serviceAccountToken: {audience: istio-ca, path: x}}":                                        true,
		"{serviceAccountToken: {path: x}}":                                                            false,
		"{podCertificate: {signerName: kubernetes.io/kube-apiserver-client-pod, keyType: ED25519}}":   false,
		"{podCertificate: {signerName: example.com/mesh, keyType: ED25519, credentialBundlePath: x}}": false,
		"{aLaterSource: {path: x}}":                                                                   false,
		"{configMap: {name: x}}, {podCertificate: {signerName: example.com/mesh, keyType: ED25519}}":  false,
	} {
		refused := refusals(t, "pods", strings.Replace(member, "%s", source, 1))
		if (len(refused) == 0) != allowed {
			t.Errorf("%s: refused with %q", source, refused)
		}
	}
}

var operatorName = regexp.MustCompile(`request.userInfo.username == '([^']+)'`)

// refusals returns the messages with which a policy refuses an object that cluster-operator creates.
func refusals(t *testing.T, resource, text string) (messages []string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	kind, of := object.GroupVersionKind(), schema.GroupVersionResource{Version: "v1", Resource: resource}
	for _, document := range render(t) {
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal([]byte(document), &policy); err != nil || policy.Kind != "ValidatingAdmissionPolicy" || !strings.Contains(policy.Name, "-"+resource+".") {
			continue
		}
		compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
		if err != nil {
			t.Fatal(err)
		}
		account := ""
		for _, variable := range policy.Spec.Variables {
			if name := operatorName.FindStringSubmatch(variable.Expression); variable.Name == "isClusterOperator" && name != nil {
				account = name[1]
			}
			compiler.CompileAndStoreVariable(&validating.Variable{Name: variable.Name, Expression: variable.Expression}, plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions)
		}
		var expressions []plugincel.ExpressionAccessor
		for _, validation := range policy.Spec.Validations {
			expressions = append(expressions, &validating.ValidationCondition{Expression: validation.Expression})
		}
		attributes := &admission.VersionedAttributes{VersionedKind: kind, VersionedObject: object, Attributes: admission.NewAttributesRecord(
			object, nil, kind, object.GetNamespace(), object.GetName(), of, "", admission.Create, nil, false, &user.DefaultInfo{Name: account})}
		request := plugincel.CreateAdmissionRequest(attributes, metav1.GroupVersionResource{Version: of.Version, Resource: of.Resource}, metav1.GroupVersionKind(kind))
		filter := compiler.Compile(expressions, plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions)
		results, _, err := filter.ForInput(t.Context(), attributes, request, plugincel.OptionalVariableBindings{}, nil, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range results {
			if result.Error != nil || result.EvalResult.Value() != true {
				messages = append(messages, policy.Spec.Validations[i].Message)
			}
		}
		return messages
	}
	t.Fatalf("there is no policy for %s", resource)
	return nil
}

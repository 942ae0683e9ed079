package view

import (
	"errors"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnErrorNamesTheKindAsUsersKnowIt(t *testing.T) {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "example"}}
	if got := Wrap("create", budget, errors.New("exceeded quota")).Error(); got != "create PodDisruptionBudget example: exceeded quota" {
		t.Errorf("got %q", got)
	}
}

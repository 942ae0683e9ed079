package failure

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// cert-manager was removed while the operator ran, so each request for the Certificate of a user ended with 404. Each pass ended with it, and no member was
// repaired until the operator restarted.
func TestARequestForTheCertificateOfAUserThatFailsHoldsUpNoRepair(t *testing.T) {
	gone := apierrors.NewGenericServerResponse(404, "patch", schema.GroupResource{Group: "cert-manager.io", Resource: "certificates"}, "example-shop", "404 page not found", 0, true)
	v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3))}
	for _, step := range []steps.Step{steps.RequestUserCertificates{What: "user shop"}, steps.WithdrawUserCertificates{What: "user old"}} {
		if !Skippable(v, "requestUsers", step, gone) {
			t.Errorf("the pass ends with %T", step)
		}
	}
}

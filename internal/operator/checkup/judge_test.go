package checkup

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// whole are the facts of a release that works.
func whole() (Request, Facts) {
	request := Request{Lease: "cluster-operator.etcd.database.coreos.com", Namespace: "etcd-operator", Version: "0.1.0", Within: time.Minute}
	seen := Facts{Asked: 40, Lease: Lease{Holder: "pod-1", Version: "0.1.0", Renewed: true}, Schemas: map[string]map[string]map[string]bool{}}
	for _, kind := range kinds {
		parts := map[string]map[string]bool{"spec": {}, "status": {}}
		for _, field := range fields(reflect.TypeOf(kind.spec)) {
			parts["spec"][field] = true
		}
		for _, field := range fields(reflect.TypeOf(kind.status)) {
			parts["status"][field] = true
		}
		seen.Schemas[kind.name] = parts
	}
	return request, seen
}

func TestAReleaseThatWorksPasses(t *testing.T) {
	request, seen := whole()
	var out bytes.Buffer
	if code := report(&out, Judge(request, seen)); code != 0 || strings.Count(out.String(), "ok ") != 3 {
		t.Errorf("code %d:\n%s", code, &out)
	}
}

// Each of these is a release that is installed and does not work, or works only in part, and helm install does not notice.
func TestAReleaseThatDoesNotWorkFailsAndSaysWhatToDo(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "x")
	for name, one := range map[string]struct {
		change func(*Request, *Facts)
		want   string
	}{
		"CRDs of an earlier release":     {func(_ *Request, f *Facts) { delete(f.Schemas["EtcdCluster"]["spec"], "readOnly") }, "EtcdCluster.spec.readOnly"},
		"a status of an earlier CRD":     {func(_ *Request, f *Facts) { delete(f.Schemas["EtcdBackup"]["status"], "conditions") }, "EtcdBackup.status.conditions"},
		"no CRDs":                        {func(_ *Request, f *Facts) { f.Schemas = nil }, "crds.install=true"},
		"a right that is missing":        {func(_ *Request, f *Facts) { f.Denied = []string{"create pods in team"} }, "may not create pods in team"},
		"no replica became leader":       {func(_ *Request, f *Facts) { f.Lease = Lease{Err: notFound} }, "kubectl get pods --namespace etcd-operator"},
		"a Lease that cannot be read":    {func(_ *Request, f *Facts) { f.Lease = Lease{Err: errors.New("forbidden")} }, "forbidden"},
		"a leader that hangs":            {func(_ *Request, f *Facts) { f.Lease.Renewed = false }, "did not renew"},
		"an operator of another version": {func(_ *Request, f *Facts) { f.Lease.Version = "0.0.9" }, "version 0.0.9"},
	} {
		request, seen := whole()
		one.change(&request, &seen)
		var out bytes.Buffer
		if code := report(&out, Judge(request, seen)); code != 1 || !strings.Contains(out.String(), one.want) {
			t.Errorf("%s: code %d, want %q in\n%s", name, code, one.want, &out)
		}
	}
}

func TestAnOperatorWithoutLeaderElectionNeedsNoLease(t *testing.T) {
	request, seen := whole()
	request.Lease, seen.Lease = "", Lease{}
	if findings := Judge(request, seen); len(findings) != 2 || !findings[0].Passed || !findings[1].Passed {
		t.Errorf("got %+v", findings)
	}
}

func TestEachVerbResourceAndNameOfARuleIsOneRight(t *testing.T) {
	got := attributes("team", rbacv1.PolicyRule{APIGroups: []string{"g"}, Resources: []string{"a", "a/status"}, Verbs: []string{"get", "patch"}, ResourceNames: []string{"x"}})
	var all []string
	for _, a := range got {
		all = append(all, describe(a))
	}
	if want := "get a x in team; patch a x in team; get a/status x in team; patch a/status x in team"; strings.Join(all, "; ") != want {
		t.Errorf("got %q, want %q", all, want)
	}
}

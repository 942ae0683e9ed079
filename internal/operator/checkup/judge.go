package checkup

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// versionLabel is the label of a Lease with the version of the operator that holds it.
const versionLabel = "app.kubernetes.io/version"

// Judge decides what the facts mean for the release.
func Judge(request Request, seen Facts) []Finding {
	findings := []Finding{definitions(seen), rights(seen)}
	if request.Lease != "" {
		findings = append(findings, leads(request, seen.Lease))
	}
	return findings
}

// kinds are those of the suite with the fields that this operator knows.
var kinds = []struct {
	name         string
	spec, status any
}{
	{"EtcdCluster", v1beta2.EtcdClusterSpec{}, v1beta2.EtcdClusterStatus{}},
	{"EtcdBackup", v1beta2.EtcdBackupSpec{}, v1beta2.EtcdBackupStatus{}},
	{"EtcdRestore", v1beta2.EtcdRestoreSpec{}, v1beta2.EtcdRestoreStatus{}},
}

func definitions(seen Facts) Finding {
	f := Finding{Name: "CustomResourceDefinitions"}
	var missing []string
	for _, kind := range kinds {
		served, ok := seen.Schemas[kind.name]
		if !ok {
			missing = append(missing, kind.name)
			continue
		}
		for part, of := range map[string]any{"spec": kind.spec, "status": kind.status} {
			for _, field := range fields(reflect.TypeOf(of)) {
				if !served[part][field] {
					missing = append(missing, kind.name+"."+part+"."+field)
				}
			}
		}
	}
	slices.Sort(missing)
	f.Passed = len(missing) == 0
	f.Detail = "Kubernetes serves the three kinds with all fields of this version."
	if !f.Passed {
		f.Detail = fmt.Sprintf("Kubernetes does not serve %s. It drops what it does not serve, so these settings have no effect. Install the "+
			"CustomResourceDefinitions of this release: set crds.install=true, or apply its crds.yaml.", some(missing))
	}
	return f
}

// fields are the JSON names of a struct's fields.
func fields(of reflect.Type) []string {
	var all []string
	for _, field := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			all = append(all, name)
		}
	}
	return all
}

func rights(seen Facts) Finding {
	f := Finding{Name: "Rights", Passed: len(seen.Denied) == 0, Detail: fmt.Sprintf("The operator has all %d that it needs.", seen.Asked)}
	if !f.Passed {
		f.Detail = fmt.Sprintf("The ServiceAccount of the operator may not %s. Set rbac.create=true, or grant the rights that the README of the chart lists.",
			some(seen.Denied))
	}
	return f
}

func leads(request Request, seen Lease) Finding {
	f := Finding{Name: "Leader"}
	const log = "Read its Pods and their log: kubectl get pods --namespace %s"
	switch {
	case apierrors.IsNotFound(seen.Err):
		f.Detail = fmt.Sprintf("No replica of the operator became leader within %s. "+log+".", request.Within, request.Namespace)
	case seen.Err != nil:
		f.Detail = fmt.Sprintf("The Lease %s cannot be read: %v.", request.Lease, seen.Err)
	case !seen.Renewed:
		f.Detail = fmt.Sprintf("The leader did not renew its Lease within %s, so no replica works. "+log+".", request.Within, request.Namespace)
	case seen.Version != request.Version:
		f.Detail = fmt.Sprintf("%s leads with version %s, and this release has %s. Wait until its rollout ends, or look for a second release that manages the "+
			"same objects.", seen.Holder, seen.Version, request.Version)
	default:
		f.Passed, f.Detail = true, fmt.Sprintf("%s leads with version %s.", seen.Holder, seen.Version)
	}
	return f
}

// some shows the first of many.
func some(all []string) string {
	const most = 5
	if len(all) > most {
		return fmt.Sprintf("%s, and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

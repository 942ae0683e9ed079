package checkup

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

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

// some shows the first of many.
func some(all []string) string {
	const most = 5
	if len(all) > most {
		return fmt.Sprintf("%s, and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

package kube

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// texts are the fields of a status that people read and no code compares with a name. Errors, members and manifests put words of others there.
// Paths, names and IDs are kept as they are, because they identify something.
var texts = map[string]bool{
	"Message": true, "Reason": true, "Choice": true, "Version": true, "CurrentVersion": true, "EtcdVersion": true, "StorageVersion": true, "Alarms": true,
	"Cause": true, "OtherUsers": true, "OtherRoles": true, "Added": true, "Removed": true, "Changed": true, "Promoted": true,
}

// makeLegible replaces characters that hide others in the texts of an object's status.
func makeLegible(object client.Object) {
	v := reflect.ValueOf(object)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return
	}
	if status := v.Elem().FieldByName("Status"); status.IsValid() {
		legibly(status, false)
	}
}

// legibly replaces them below a value. text says whether the value itself is one of the texts.
func legibly(v reflect.Value, text bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			legibly(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			legibly(v.Index(i), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				legibly(v.Field(i), texts[field.Name])
			}
		}
	case reflect.String:
		if text && v.CanSet() {
			if shown := legible.Line(v.String()); shown != v.String() {
				v.SetString(shown)
			}
		}
	}
}

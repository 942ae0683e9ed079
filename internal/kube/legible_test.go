package kube

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/legible"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// asTheyAre are the fields of the statuses that are no texts: what they identify, or that the operator itself chooses them.
var asTheyAre = map[string]string{
	"names of Kubernetes": "Name ServiceName Selector ClientTLSSecret OperatorTLSSecret OperatorAuthSecret VolumeName SecretName Secret Schedule " +
		"UID VolumeClaimUID ClaimName ClaimUID HandledRequest",
	"members, which internal/etcd reads":                                         "Ready Unready ClientURL PeerURLs PromotingMember RemovingMember Member Voters",
	"URLs of the client Service, which observe makes legible and the API checks": "Internal External",
	"IDs and sums":       "ID AccusedMembers ClusterID ClusterIDBefore ClusterUID OnlyClusterID SpecHash SHA256 SignedBy",
	"objects of a store": "Path Bucket Key Endpoint Region SafetySnapshot SnapshotStore From To Base Cluster",
	"names of spec.auth, which have no control characters": "Roles RemovedRoles RemovedUsers UserCertificates",
	"keys of etcd, which internal/restore/keys quotes":     "First",
	"words and numbers of the operator": "Promote Type Status Phase ReadyMembers TargetVersion Step Role Result RestoreTest Stage StorageType SafetySnapshotPolicy " +
		"SnapshotSize CreatedAt",
}

// A message could erase itself in a terminal, or show another text than it has. A new field of a status must be one of both.
func TestNoTextOfAStatusHidesCharacters(t *testing.T) {
	const hostile = "a\x1b[2K\u202eb\nc"
	kept := strings.Fields(strings.Join(valuesOf(asTheyAre), " "))
	for _, object := range []client.Object{&v1beta2.EtcdCluster{}, &v1beta2.EtcdBackup{}, &v1beta2.EtcdRestore{}} {
		status := reflect.ValueOf(object).Elem().FieldByName("Status")
		fill(status, hostile)
		makeLegible(object)
		each(status, "", func(field, text string) {
			switch {
			case slices.Contains(kept, field):
				if text != hostile {
					t.Errorf("%T: %s identifies something, and was changed to %q", object, field, text)
				}
			case text != legible.Line(hostile):
				t.Errorf("%T: %s is %q. Add it to texts, or to asTheyAre with the reason", object, field, text)
			}
		})
	}
}

func TestNoEventHidesCharacters(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	PublishEvents(recorder, &v1beta2.EtcdBackup{}, []planning.Event{{Type: "Warning", Reason: "X", Action: "Y", Note: "a\x1b[2K\u202eb"}})
	if got := <-recorder.Events; strings.ContainsFunc(got, legible.Hides) {
		t.Errorf("the event is %q", got)
	}
}

func valuesOf(of map[string]string) (values []string) {
	for _, value := range of {
		values = append(values, value)
	}
	return values
}

// fill sets each text below a value.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	case reflect.String:
		v.SetString(text)
	}
}

// each calls do for each text below a value, with the name of its field.
func each(v reflect.Value, field string, do func(field, text string)) {
	switch v.Kind() {
	case reflect.Pointer:
		each(v.Elem(), field, do)
	case reflect.Slice:
		each(v.Index(0), field, do)
	case reflect.Struct:
		for i := range v.NumField() {
			if of := v.Type().Field(i); of.IsExported() {
				each(v.Field(i), of.Name, do)
			}
		}
	case reflect.String:
		do(field, v.String())
	}
}

package state_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// ofPod are the fields of a member that its Pod shows.
var ofPod = []string{
	"Pod", "StartupBudget", "PodCreated", "EtcdSince", "DataInPod", "PodReady", "ProbesAlarm", "ReadyAlone", "Gate", "GateSince", "Beside", "BesideSince", "UnreadySince", "GoneBy",
	"Stopped", "Terminated", "Held", "Finalizers", "Node", "Zone", "NodeSilent", "Empty", "NeedsMinor", "PodReason", "PodMessage", "Corrupt", "MissingSecret", "Start",
	"MayStartEmpty", "Waits", "Ran", "AddressSince", "PublishedSince", "PodImage", "PodQuota", "SecurePeer", "SecureClient", "ChecksPeers", "ChecksClients", "Trust",
	"Loaded", "ShowsNew", "Outdated", "Resize", "ResizeMessage", "Relabel", "WithoutUID", "Unlabelled", "Peers", "InService", "Seed",
}

// Two of three old members were on nodes that the API server did not reach. Before the switch of a restore, the operator read their Pods again, and forgot
// which etcd they run. So it took them for members that cannot be fenced, and waited without an end.
func TestAMemberWhosePodIsReadAgainKeepsWhatEtcdAnswered(t *testing.T) {
	member := reflect.New(reflect.TypeFor[state.Member]()).Elem()
	for i := range member.NumField() {
		setAny(member.Field(i))
	}
	without := reflect.ValueOf(member.Interface().(state.Member).WithoutPod())
	for i := range without.NumField() {
		name := without.Type().Field(i).Name
		if dropped := without.Field(i).IsZero(); dropped != slices.Contains(ofPod, name) {
			t.Errorf("%s is dropped: %t. Add what the Pod shows to ofPod, and everything else to WithoutPod", name, dropped)
		}
	}
}

// setAny sets a field to a value that is not zero.
func setAny(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(plantest.Noon))
			return
		}
		setAny(v.Field(0))
	default:
		panic(v.Kind())
	}
}

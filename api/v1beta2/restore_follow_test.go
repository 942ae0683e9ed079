package v1beta2_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// The spec of an EtcdRestore cannot change, but for one field. The rule names each of the others, so a new field would be changeable without it.
func TestTheRuleThatTheSpecCannotChangeNamesEachField(t *testing.T) {
	content, err := os.ReadFile("etcdrestore.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rule, found := strings.Cut(string(content), `XValidation:rule="self.etcdCluster`)
	if !found {
		t.Fatal("there is no rule that begins with etcdCluster")
	}
	rule, _, _ = strings.Cut("self.etcdCluster"+rule, `",message`)
	var fields func(of reflect.Type)
	fields = func(of reflect.Type) {
		for i := range of.NumField() {
			name, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if options == "inline" {
				fields(of.Field(i).Type)
				continue
			}
			exists, same := "has(self."+name+") == has(oldSelf."+name+") && ", "self."+name+" == oldSelf."+name
			if name == "follow" {
				same = "(self.follow.promote == oldSelf.follow.promote || oldSelf.follow.promote == 'Planned')"
			}
			if !strings.Contains(rule, same) || name != "etcdCluster" && !strings.Contains(rule, exists) {
				t.Errorf("the rule does not compare %s", name)
			}
		}
	}
	fields(reflect.TypeFor[v1beta2.EtcdRestoreSpec]())
}

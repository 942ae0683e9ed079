package grant

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// A tenant wrote into, or read from, the part of the platform's bucket that is another tenant's.
func TestMayComparesThePathWithThePrefixOfItsNamespace(t *testing.T) {
	list := List{
		{[]string{All}, "platform/{namespace}/"},
		{[]string{"team-a"}, "shared/a"},
		{[]string{"ops", "audit"}, "archive-{namespace}"},
		{[]string{"root"}, All},
	}
	for name, test := range map[string]struct {
		namespace, path string
		want            bool
	}{
		"below the own prefix":                         {"team-a", "platform/team-a/one.db", true},
		"deep below it":                                {"team-a", "platform/team-a/x/y/z.db", true},
		"a listing of the own prefix":                  {"team-a", "platform/team-a/", true},
		"a listing that also finds names of others":    {"team-a", "platform/team-a", false},
		"a listing above the prefix":                   {"team-a", "platform/", false},
		"a listing of a part of the prefix":            {"team-a", "platform/team", false},
		"the prefix of another namespace":              {"team-a", "platform/team-b/one.db", false},
		"a namespace whose name begins alike":          {"team", "platform/team-a/one.db", false},
		"a prefix whose name begins alike":             {"team-a", "platform/team-ab/one.db", false},
		"up and down again":                            {"team-a", "platform/team-a/../team-b/one.db", false},
		"up at the end":                                {"team-a", "platform/team-a/..", false},
		"up with backslashes":                          {"team-a", `platform/team-a/x\..\..\team-b`, false},
		"up after Azure has dropped a dot":             {"team-a", "platform/team-a/.../team-b/one.db", false},
		"a part that is a dot":                         {"team-a", "platform/team-a/./one.db", false},
		"dots within a name":                           {"team-a", "platform/team-a/v3.6..db", true},
		"the prefix in another case":                   {"team-a", "platform/TEAM-A/one.db", false},
		"the bucket in another case":                   {"team-a", "Platform/team-a/one.db", false},
		"the prefix after another part":                {"team-a", "platform/x/platform/team-a/one.db", false},
		"a slash before the prefix":                    {"team-a", "platform//team-a/one.db", false},
		"a bucket whose name begins alike":             {"team-a", "platform2/team-a/one.db", false},
		"a second prefix, without a slash at its end":  {"team-a", "shared/a/one.db", true},
		"which is no prefix of names":                  {"team-a", "shared/ab/one.db", false},
		"and no object":                                {"team-a", "shared/a", false},
		"the second prefix for others":                 {"team-b", "shared/a/one.db", false},
		"a bucket for each namespace":                  {"ops", "archive-ops/one.db", true},
		"the bucket of another namespace":              {"ops", "archive-audit/one.db", false},
		"such a bucket for a namespace without entry":  {"team-a", "archive-team-a/one.db", false},
		"everything":                                   {"root", "any/../where", true},
		"the archive of an own path":                   {"team-a", "platform/continuous-archive/team-a/x", true},
		"a listing of all archives":                    {"team-a", "platform/continuous-archive/", false},
		"the archive of another namespace":             {"team-a", "platform/continuous-archive/team-b/x", false},
		"archives, as a namespace of that name":        {"continuous-archive", "platform/continuous-archive/team-b/x", false},
		"the own archive of a namespace of that name":  {"continuous-archive", "platform/continuous-archive/continuous-archive/x", true},
		"no namespace, with a prefix for all":          {"", "platform//one.db", false},
		"an empty path":                                {"team-a", "/", false},
		"a namespace that is written like all of them": {All, "platform/*/one.db", true},
	} {
		bucket, key, _ := strings.Cut(test.path, "/")
		if got := list.May(test.namespace, bucket, key); got != test.want {
			t.Errorf("%s: %s may use %s: %v", name, test.namespace, test.path, got)
		}
	}
}

func TestNothingIsAllowedWithoutAnEntry(t *testing.T) {
	for _, list := range []List{nil, {}, {{nil, All}}, {{nil, "b/"}}} {
		if list.May("ns", "b", "k") {
			t.Errorf("%v allows it", list)
		}
		err := list.Of("ns").Check(true, "b", "k")
		if !errors.Is(err, ErrOwnIdentity) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v: %v", list, err)
		}
		if err := list.Of("ns").Check(false, "b", "k"); err != nil {
			t.Errorf("%v refuses the owner of a bucket: %v", list, err)
		}
	}
}

// With a Secret, a tenant could reach the prefix of another tenant. An owner of a bucket must not lose it.
func TestASecretIsLimitedOnlyInBucketsThatTheListNames(t *testing.T) {
	list := List{{[]string{All}, "platform/{namespace}/"}, {[]string{"ops"}, "archive-{namespace}"}, {[]string{All}, "pool-{namespace}/x"}, {[]string{"root"}, All}}
	for name, test := range map[string]struct {
		namespace, path string
		want            error
	}{
		"the own prefix":       {"team-a", "platform/team-a/k", nil},
		"the prefix of others": {"team-a", "platform/team-b/k", ErrPath},
		"the prefix of others, with a bucket in capitals": {"team-a", "PLATFORM/team-b/k", ErrPath},
		"up and down again":                             {"team-a", "platform/team-a/../team-b/k", ErrPath},
		"the whole bucket":                              {"team-a", "platform/", ErrPath},
		"an own bucket":                                 {"team-a", "mine/k", nil},
		"an own bucket whose name begins alike":         {"team-a", "platform-a/k", nil},
		"the bucket of a named namespace":               {"team-a", "archive-ops/k", ErrPath},
		"a bucket that an entry names for no namespace": {"team-a", "archive-team-a/k", nil},
		"the bucket of another of all namespaces":       {"team-a", "pool-team-b/x/k", ErrPath},
		"everything":                                    {"root", "platform/team-b/k", nil},
	} {
		bucket, key, _ := strings.Cut(test.path, "/")
		if err := list.Of(test.namespace).Check(false, bucket, key); !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The message must help its reader, and tell him nothing about other namespaces.
func TestARefusalNamesWhatIsAllowedAndNothingOfOthers(t *testing.T) {
	list := List{{[]string{"team-a"}, "platform/{namespace}/"}, {[]string{"secret-project"}, "hidden/"}}
	for _, own := range []bool{true, false} {
		err := list.Of("team-a").Check(own, "platform", "x")
		reason, advice := Explain(err, "backupOperator.ownIdentity")
		if !Refused(reason) || !strings.Contains(advice, "backupOperator.ownIdentity") || !strings.Contains(err.Error(), "platform/team-a/") || strings.Contains(err.Error()+advice, "hidden") {
			t.Errorf("%s: %v: %s", reason, err, advice)
		}
	}
	if reason, _ := Explain(fs.ErrPermission, ""); reason != "" {
		t.Errorf("a refusal of the store has the reason %s", reason)
	}
}

func TestTheArchiveOfAPathIsBelowTheFolderThatMayKnows(t *testing.T) {
	if root := archive.Root("folder", "ns", "cluster"); root != archives+"folder/ns/cluster/" {
		t.Errorf("archives are in %s", root)
	}
}

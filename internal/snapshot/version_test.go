package snapshot

import "testing"

func TestCompatibleRejectsFormatsNewerThanEtcd(t *testing.T) {
	for name, test := range map[string]struct {
		snapshot, target string
		want             bool
	}{
		"the same minor":                          {"3.6.0", "3.6.16", true},
		"a newer etcd":                            {"3.6.0", "3.7.3", true},
		"an older etcd":                           {"3.7.0", "3.6.16", false},
		"a newer patch is the same format":        {"3.5.35", "3.5.0", true},
		"a snapshot without a version":            {"", "3.5.9", true},
		"a snapshot without a version, etcd 3.2":  {"", "3.2.13", true},
		"a leading v":                             {"v3.6.0", "v3.6.1", true},
		"a two-digit minor version":               {"3.9.0", "3.10.0", true},
		"a two-digit minor version that is newer": {"3.10.0", "3.9.0", false},
		"another major":                           {"4.0.0", "3.99.0", false},
		"a pre-release":                           {"3.8.0-alpha.0", "3.8.0", true},
		"versions without a patch level":          {"3.6", "3.6", true},
		"an invalid target":                       {"3.6.0", "latest", false},
		"an invalid snapshot version":             {"three", "3.6.0", false},
		"an empty target":                         {"3.6.0", "", false},
		"a negative number":                       {"3.-6.0", "3.6.0", false},
		"a number that overflows":                 {"3.99999999999999999999", "3.6.0", false},
		"a snapshot of 3.5 for etcd 3.4":          {"3.5.0", "3.4.23", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Compatible(test.snapshot, test.target); (err == nil) != test.want {
				t.Errorf("error %v, want compatible %v", err, test.want)
			}
		})
	}
}

func TestFormatIsTheOldestThatCanHaveWrittenTheDatabase(t *testing.T) {
	for name, test := range map[string]struct{ storage, etcd, want string }{
		"the storage version if there is one": {"3.6.0", "3.7.3", "3.6.0"},
		"the member's version before 3.6":     {"", "3.4.23", "3.4.23"},
		"3.5 during an upgrade to 3.6":        {"", "3.6.16", "3.5.0"},
		"3.5 if no version is known":          {"", "", "3.5.0"},
		"3.5 if the version is invalid":       {"", "git", "3.5.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Manifest{StorageVersion: test.storage, EtcdVersion: test.etcd}).Format(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

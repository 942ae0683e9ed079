package snapshot

import "testing"

func TestCompatible(t *testing.T) {
	for name, test := range map[string]struct {
		snapshot, target string
		want             bool
	}{
		"the same minor":                     {"3.6.0", "3.6.16", true},
		"a newer etcd":                       {"3.6.0", "3.7.3", true},
		"an older etcd":                      {"3.7.0", "3.6.16", false},
		"a newer patch is the same format":   {"3.5.35", "3.5.0", true},
		"a snapshot that does not say":       {"", "3.5.9", true},
		"a snapshot that does not say, 3.2":  {"", "3.2.13", true},
		"a leading v":                        {"v3.6.0", "v3.6.1", true},
		"a minor of two digits":              {"3.9.0", "3.10.0", true},
		"a minor of two digits, turned":      {"3.10.0", "3.9.0", false},
		"another major":                      {"4.0.0", "3.99.0", false},
		"a pre-release":                      {"3.8.0-alpha.0", "3.8.0", true},
		"a minor alone":                      {"3.6", "3.6", true},
		"a target that is nonsense":          {"3.6.0", "latest", false},
		"a snapshot's version that is so":    {"three", "3.6.0", false},
		"a target that is empty":             {"3.6.0", "", false},
		"a negative number is no version":    {"3.-6.0", "3.6.0", false},
		"a number that no version ever has":  {"3.99999999999999999999", "3.6.0", false},
		"a snapshot of 3.5 for 3.4 is newer": {"3.5.0", "3.4.23", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Compatible(test.snapshot, test.target); (err == nil) != test.want {
				t.Errorf("error %v, want compatible %v", err, test.want)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for name, test := range map[string]struct{ storage, etcd, want string }{
		"is the storage version where there is one":           {"3.6.0", "3.7.3", "3.6.0"},
		"is the member's before 3.6":                          {"", "3.4.23", "3.4.23"},
		"is 3.5 in the midst of an upgrade to 3.6":            {"", "3.6.16", "3.5.0"},
		"is at most 3.5 where nobody says":                    {"", "", "3.5.0"},
		"is at most 3.5 where the version is not one we know": {"", "git", "3.5.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Manifest{StorageVersion: test.storage, EtcdVersion: test.etcd}).Format(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

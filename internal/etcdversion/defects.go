package etcdversion

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Defect is a defect of etcd in a range of releases of one minor version.
type Defect struct {
	// From is the first release with the defect, and Fixed the first one without it. Without Fixed, no release of the minor version is fixed.
	From  string `json:"from"`
	Fixed string `json:"fixed,omitempty"`
	// Effect on the data or the users of a cluster: a clause that follows "because".
	Effect string `json:"effect"`
	// Source is the address of the report.
	Source string `json:"source"`
	// Handled says what the operator does against it: a sentence.
	Handled string `json:"-"`
	// Silent: the status does not report it, because no release of the minor version avoids it, or because the operator does.
	Silent bool `json:"-"`
}

// Ended has the last release of each minor version that etcd's project no longer corrects, and the date of that release.
var Ended = map[string][2]string{"3.4": {"3.4.45", "2026-06-01"}}

const (
	issue    = "https://github.com/etcd-io/etcd/issues/"
	change   = "https://github.com/etcd-io/etcd/pull/"
	advisory = "https://github.com/etcd-io/etcd/security/advisories/"
	nothing  = "Nothing. Upgrade."
	compares = "Members compare their data since 3.5.5. The operator replaces a member whose data differs."
)

// family makes a defect for each minor version: pairs of the first release with the defect and the first one without it.
func family(common Defect, releases ...[2]string) []Defect {
	var all []Defect
	for _, pair := range releases {
		d := common
		d.From, d.Fixed = pair[0], pair[1]
		all = append(all, d)
	}
	return all
}

// defects are those that damage data, hide data, or let in who may not, as etcd's changelogs, issues and advisories report them. The worst
// come first.
var defects = slices.Concat(
	family(Defect{Effect: "members can have other data after a crash under load", Source: issue + "13766", Handled: nothing},
		[2]string{"3.5.0", "3.5.3"}),
	family(Defect{Effect: "members can have other revisions after a crash during a defragmentation", Source: change + "14685", Handled: nothing},
		[2]string{"3.5.3", "3.5.6"}),
	family(Defect{Effect: "members that are added while authentication is on can get other data", Source: issue + "14571", Handled: compares},
		[2]string{"3.4.20", "3.4.22"}),
	family(Defect{Effect: "a cluster of one member can lose a confirmed write in a crash", Source: issue + "14370", Handled: nothing},
		[2]string{"3.4.0", "3.4.21"}, [2]string{"3.5.0", "3.5.5"}),
	family(Defect{Effect: "a member that is defragmented while it receives a snapshot loses its data", Source: issue + "20271", Handled: "On these releases, the operator defragments no member while one of them is far behind the others. Defragment none by hand then."},
		[2]string{"3.4.0", "3.4.38"}, [2]string{"3.5.0", "3.5.23"}, [2]string{"3.6.0", "3.6.5"}),
	family(Defect{Effect: "a member can keep a part of a transaction that failed, so that its data differs", Source: issue + "18679", Handled: compares},
		[2]string{"3.5.0", "3.5.17"}),
	family(Defect{Effect: "the revision of a member can decrease after a crash during a compaction", Source: change + "17865", Handled: compares},
		[2]string{"3.4.0", "3.4.32"}, [2]string{"3.5.0", "3.5.14"}),
	family(Defect{Effect: "members can fail to start after an upgrade from 3.5", Source: change + "20387", Handled: "The operator upgrades only from 3.5.26 or newer, which writes the membership correctly."},
		[2]string{"3.6.0", "3.6.4"}),
	family(Defect{Effect: "a member that was paused can answer linearizable reads with old data", Source: issue + "20418", Handled: nothing},
		[2]string{"3.4.20", "3.4.42"}, [2]string{"3.5.0", "3.5.28"}, [2]string{"3.6.0", "3.6.9"}),
	family(Defect{Effect: "users without the right can call parts of the API if etcd's authentication is on (CVE-2026-33413)", Source: advisory + "GHSA-q8m4-xhhv-38mg", Handled: nothing},
		[2]string{"3.4.0", "3.4.42"}, [2]string{"3.5.0", "3.5.28"}, [2]string{"3.6.0", "3.6.9"}),
	family(Defect{Effect: "nested transactions avoid the permissions of etcd's users (CVE-2026-33343)", Source: advisory + "GHSA-rfx7-8w68-q57q", Handled: nothing},
		[2]string{"3.4.0", "3.4.42"}, [2]string{"3.5.0", "3.5.28"}, [2]string{"3.6.0", "3.6.9"}),
	family(Defect{Effect: "a transaction can read a previous value, or use a lease, without the permission (CVE-2026-44283)", Source: change + "21681", Handled: nothing},
		[2]string{"3.4.0", "3.4.44"}, [2]string{"3.5.0", "3.5.30"}, [2]string{"3.6.0", "3.6.11"}),
	family(Defect{Effect: "a user who may read one key can watch all keys after it", Source: advisory + "GHSA-xg4h-6gfc-h4m8", Handled: nothing},
		[2]string{"3.4.0", ""}, [2]string{"3.5.0", "3.5.33"}, [2]string{"3.6.0", "3.6.14"}, [2]string{"3.7.0", "3.7.1"}),
	family(Defect{Effect: "connections that never finish their TLS handshake are kept open", Source: advisory + "GHSA-6vch-q96h-7gc3", Handled: nothing},
		[2]string{"3.4.0", ""}, [2]string{"3.5.0", "3.5.33"}, [2]string{"3.6.0", "3.6.14"}, [2]string{"3.7.0", "3.7.1"}),
	family(Defect{Effect: "revoked certificates are accepted if ETCD_LISTEN_CLIENT_HTTP_URLS and ETCD_CLIENT_CRL_FILE are set", Source: advisory + "GHSA-3wh4-j44w-pg92", Handled: "The operator sets neither.", Silent: true},
		[2]string{"3.5.0", "3.5.32"}, [2]string{"3.6.0", "3.6.13"}),
	family(Defect{Effect: "promoted learners are written as learners, and 3.6 does not start with them", Source: issue + "20793", Handled: "The operator upgrades to 3.6 only from 3.5.26 or newer.", Silent: true},
		[2]string{"3.5.1", "3.5.24"}),
	family(Defect{Effect: "a watch can lose a deletion during a compaction", Source: issue + "18089", Handled: "The status of an EtcdBackup with a continuous archive reports it.", Silent: true},
		[2]string{"3.5.0", "3.5.16"}),
	family(Defect{Effect: "data of members differs after a transaction that reads an old revision which is compacted", Source: issue + "18667", Handled: compares + " No release before 3.7 is fixed.", Silent: true},
		[2]string{"3.4.0", ""}, [2]string{"3.5.0", ""}, [2]string{"3.6.0", ""}),
)

// Defects returns the defects that this release of the suite knows.
func Defects() []Defect { return slices.Clone(defects) }

// Affects reports whether a version has the defect.
func (d Defect) Affects(version string) bool {
	v, ok := Parse(version)
	if !ok || v.Before(MustParse(d.From)) || v.CompareMinor(MustParse(d.From)) != 0 {
		return false
	}
	return d.Fixed == "" || v.Before(MustParse(d.Fixed))
}

// ParseDefects reads a list of defects in JSON, which an administrator adds to those that are known. It returns the valid ones, and an
// error that names each of the others.
func ParseDefects(text string) ([]Defect, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var entries []json.RawMessage
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("read the list of defects: %w", err)
	}
	var valid []Defect
	var problems []error
	for i, entry := range entries {
		var d Defect
		err := json.Unmarshal(entry, &d)
		if err == nil {
			err = d.check()
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("entry %d of the list of defects is left out: %w", i+1, err))
			continue
		}
		valid = append(valid, d)
	}
	return valid, errors.Join(problems...)
}

func (d Defect) check() error {
	from, ok := Parse(d.From)
	fixed, known := Parse(d.Fixed)
	switch {
	case !ok:
		return fmt.Errorf("from is %q: write a version such as 3.6.0", d.From)
	case d.Fixed != "" && !known:
		return fmt.Errorf("fixed is %q: write a version such as 3.6.5, or leave it out", d.Fixed)
	case d.Fixed != "" && (fixed.CompareMinor(from) != 0 || !from.Before(fixed)):
		return fmt.Errorf("fixed is %s and from is %s: fixed must be a later release of the same minor version", d.Fixed, d.From)
	case d.Effect == "":
		return errors.New("effect is missing: write what happens to the data")
	case d.Source == "":
		return errors.New("source is missing: write the address of the report")
	}
	return nil
}

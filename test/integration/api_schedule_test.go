package integration

import (
	"fmt"
	"strings"
	"testing"
)

const (
	wantFields = `schedule is not valid: write five fields (minute, hour, day of the month, month, day of the week 0-6), such as "0 3 * * *", or one of @hourly, @daily, @weekly, @monthly, @yearly`
	wantZone   = "in body should match '^[A-Za-z0-9_+\\-/]*$'"
	wantLocal  = "timeZone Local is not allowed, because it depends on the node: write an IANA name, such as Europe/Berlin"
)

func TestInvalidBackupScheduleIsRefused(t *testing.T) {
	const from = "etcdCluster: {name: example}"
	refuse := func(fields string) string { return policy(from, fields) }
	more := func(fields string) string {
		return fmt.Sprintf("{%s, storageType: S3, s3: {path: b/k}, %s}", from, fields)
	}
	const at = "spec.backupPolicy: "
	tests := map[string]refused{
		"both schedule and interval":                  {spec: refuse(`schedule: "0 3 * * *", backupIntervalInSecond: 60`), want: at + "schedule and backupIntervalInSecond exclude each other: remove one of them"},
		"a time zone without a schedule":              {spec: refuse("timeZone: Europe/Berlin"), want: at + "timeZone requires schedule: write schedule too, or remove timeZone"},
		"a time zone in the schedule":                 {spec: refuse(`schedule: "CRON_TZ=UTC 0 3 * * *"`), want: at + "schedule cannot contain a time zone: write it in timeZone instead"},
		"an interval as a schedule":                   {spec: refuse(`schedule: "@every 5s"`), want: at + "schedule does not support @every: write backupIntervalInSecond instead"},
		"a schedule of four fields":                   {spec: refuse(`schedule: "0 3 * *"`), want: at + wantFields},
		"a schedule of six fields":                    {spec: refuse(`schedule: "0 0 3 * * *"`), want: at + wantFields},
		"a schedule in words":                         {spec: refuse(`schedule: "every night"`), want: at + wantFields},
		"a schedule that is too long":                 {spec: refuse(`schedule: "` + strings.Repeat("1,", 129) + ` * * * *"`), want: "spec.backupPolicy.schedule: may not be more than 256 bytes"},
		"the machine's time zone":                     {spec: refuse(`schedule: "0 3 * * *", timeZone: Local`), want: at + wantLocal},
		"a time zone with a dot":                      {spec: refuse(`schedule: "0 3 * * *", timeZone: ../etc`), want: "spec.backupPolicy.timeZone: Invalid value: \"../etc\": spec.backupPolicy.timeZone " + wantZone},
		"a time zone that is too long":                {spec: refuse(`schedule: "0 3 * * *", timeZone: ` + strings.Repeat("a", 65)), want: "spec.backupPolicy.timeZone: may not be more than 64 bytes"},
		"a starting deadline of 0 s":                  {spec: refuse("startingDeadlineSeconds: 0"), want: "spec.backupPolicy.startingDeadlineSeconds: Invalid value: 0: spec.backupPolicy.startingDeadlineSeconds in body should be greater than or equal to 1"},
		"a duration in years":                         {spec: refuse("retention: {keepWithin: 1y}"), want: "spec.backupPolicy.retention.keepWithin: Invalid value: \"1y\": spec.backupPolicy.retention.keepWithin in body should match '^([0-9]{1,5}[wdhms])*$'"},
		"a duration that is too long":                 {spec: refuse("retention: {keepWithin: " + strings.Repeat("1d", 17) + "}"), want: "spec.backupPolicy.retention.keepWithin: may not be more than 32 bytes"},
		"a negative number of hours":                  {spec: refuse("retention: {keepHourly: -1}"), want: "spec.backupPolicy.retention.keepHourly" + wantMin0},
		"a negative number of days":                   {spec: refuse("retention: {keepDaily: -1}"), want: "spec.backupPolicy.retention.keepDaily" + wantMin0},
		"a negative number of weeks":                  {spec: refuse("retention: {keepWeekly: -1}"), want: "spec.backupPolicy.retention.keepWeekly" + wantMin0},
		"a negative number of months":                 {spec: refuse("retention: {keepMonthly: -1}"), want: "spec.backupPolicy.retention.keepMonthly" + wantMin0},
		"an unknown noQuorum":                         {spec: more("noQuorum: Take"), want: `spec.noQuorum: Unsupported value: "Take": supported values: "Refuse", "Mark"`},
		"an unknown verify":                           {spec: more("verify: Twice"), want: `spec.verify: Unsupported value: "Twice": supported values: "Checksum", "Restore"`},
		"an unknown deletionPolicy":                   {spec: more("deletionPolicy: Keep"), want: `spec.deletionPolicy: Unsupported value: "Keep": supported values: "Retain", "Delete"`},
		"a restore test without a schedule":           {spec: more("drill: {}"), want: "spec.drill.schedule: Required value"},
		"a restore test with a schedule in words":     {spec: more("drill: {schedule: weekly}"), want: "spec.drill: " + wantFields},
		"a restore test in the machine's time zone":   {spec: more(`drill: {schedule: "@weekly", timeZone: Local}`), want: "spec.drill: " + wantLocal},
		"a restore test in a time zone with a dot":    {spec: more(`drill: {schedule: "@weekly", timeZone: a.b}`), want: "spec.drill.timeZone: Invalid value: \"a.b\": spec.drill.timeZone " + wantZone},
		"a negative time to live":                     {spec: more("ttlSecondsAfterFinished: -1"), want: "spec.ttlSecondsAfterFinished" + wantMin0},
		"a time to live of a series with a schedule":  {spec: more(`ttlSecondsAfterFinished: 1, backupPolicy: {schedule: "@daily"}`), want: "spec: ttlSecondsAfterFinished cannot be used for a series, which never finishes: remove it, or remove schedule and backupIntervalInSecond"},
		"a time to live of a series with an interval": {spec: more("ttlSecondsAfterFinished: 1, backupPolicy: {backupIntervalInSecond: 5}"), want: "spec: ttlSecondsAfterFinished cannot be used for a series, which never finishes: remove it, or remove schedule and backupIntervalInSecond"},
	}
	runRefused(t, "EtcdBackup", tests)
}

func TestValidBackupScheduleIsAccepted(t *testing.T) {
	const from = "etcdCluster: {name: example}"
	runAccepted(t, "EtcdBackup", map[string]accepted{
		"five fields":                   {spec: policy(from, `schedule: "*/5 1-3,7 1 jan-mar mon", timeZone: America/Argentina/Buenos_Aires`)},
		"a time zone with an offset":    {spec: policy(from, `schedule: "@daily", timeZone: Etc/GMT+1`)},
		"@hourly as schedule":           {spec: policy(from, `schedule: "@hourly"`)},
		"an interval and no schedule":   {spec: policy(from, `schedule: "", timeZone: "", backupIntervalInSecond: 5`)},
		"all fields of a series":        {spec: policy(from, `schedule: "0 3 * * *", suspend: true, startingDeadlineSeconds: 1, maxBackups: 3, retention: {keepWithin: 1w2d3h4m5s, keepHourly: 1, keepDaily: 2, keepWeekly: 3, keepMonthly: 4}`)},
		"an empty duration":             {spec: policy(from, `retention: {keepWithin: ""}`)},
		"all fields of a one-shot":      {spec: "{" + from + ", storageType: S3, s3: {path: b/k}, noQuorum: Mark, verify: Restore, deletionPolicy: Delete, ttlSecondsAfterFinished: 0, backupPolicy: {timeoutInSecond: 5}}"},
		"a restore test in a time zone": {spec: "{" + from + `, storageType: S3, s3: {path: b/k}, drill: {schedule: "0 0 * * 0", timeZone: Asia/Tokyo}}`},
		"an impossible schedule, which the operator refuses in the status": {spec: policy(from, `schedule: "99 3 30 2 *", timeZone: Europe/Bonn`)},
	})
}

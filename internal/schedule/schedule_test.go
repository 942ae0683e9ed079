package schedule

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the test must not depend on the system's zone files
)

func parse(t testing.TB, expression, zone string) Schedule {
	t.Helper()
	s, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func utc(text string) time.Time {
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return at
}

// local parses a wall clock time with its offset.
func local(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04 -0700", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestParseTellsWhatToWriteInstead(t *testing.T) {
	for name, test := range map[string]struct{ expression, zone, says string }{
		"too few fields":                          {"0 3 * *", "", "write five fields"},
		"too many fields":                         {"0 0 3 * * *", "", "write five fields"},
		"a minute of 60":                          {"60 * * * *", "", "write five fields"},
		"weekday 7":                               {"0 0 * * 7", "", "weekday 0-6"},
		"a reversed range":                        {"0 5-3 * * *", "", "write five fields"},
		"a step of 0":                             {"*/0 * * * *", "", "write five fields"},
		"an empty expression":                     {"", "", "write five fields"},
		"words instead of fields":                 {"every day", "", "write five fields"},
		"a time zone in the expression":           {"CRON_TZ=Europe/Berlin 0 3 * * *", "", "into timeZone"},
		"a truncated time zone in the expression": {"TZ=0", "", "into timeZone"},
		"an interval":                             {"@every 5s", "", "backupIntervalInSecond"},
		"an unknown descriptor":                   {"@noon", "", "write five fields"},
		"a date that does not exist":              {"0 0 30 2 *", "", "never due"},
		"an unknown time zone":                    {"0 3 * * *", "Europe/Bonn", "IANA"},
		"an offset as time zone":                  {"0 3 * * *", "+02:00", "IANA"},
		"a path as time zone":                     {"0 3 * * *", "../../etc/passwd", "IANA"},
		"the machine's time zone":                 {"0 3 * * *", "Local", "Europe/Berlin"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(test.expression, test.zone); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

func TestNextIsTheFirstRunAfterTheGivenTime(t *testing.T) {
	for name, test := range map[string]struct {
		expression, zone string
		after, want      string
	}{
		"a run every minute":                                {"* * * * *", "", "2026-11-21 10:00:30", "2026-11-21 10:01:00"},
		"a run strictly after the given time":               {"0 3 * * *", "", "2026-11-21 03:00:00", "2026-11-22 03:00:00"},
		"a schedule without a time zone is in UTC":          {"0 3 * * *", "", "2026-11-21 02:59:59", "2026-11-21 03:00:00"},
		"a schedule in a time zone":                         {"0 3 * * *", "Europe/Berlin", "2026-11-21 10:00:00", "2026-11-22 02:00:00"},
		"a schedule in a time zone with a half-hour offset": {"0 3 * * *", "Asia/Kolkata", "2026-11-21 10:00:00", "2026-11-21 21:30:00"},
		"@hourly":                       {"@hourly", "", "2026-11-21 10:00:00", "2026-11-21 11:00:00"},
		"@daily in a time zone":         {"@daily", "America/New_York", "2026-11-21 10:00:00", "2026-11-22 05:00:00"},
		"a run on the 29th of February": {"0 0 29 2 *", "", "2026-11-21 10:00:00", "2028-02-29 00:00:00"},
		"weekdays by name":              {"0 0 * * mon-fri", "", "2026-11-21 10:00:00", "2026-11-23 00:00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parse(t, test.expression, test.zone).Next(utc(test.after)); !got.Equal(utc(test.want)) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestNextHandlesDaylightSavingTimeAsCronDoes(t *testing.T) {
	// In Berlin, the clock went from 02:00 +01:00 to 03:00 +02:00 on 29 March 2026. It went from 03:00 +02:00 to 02:00
	// +01:00 on 25 October 2026.
	for name, test := range map[string]struct {
		expression, zone string
		after            string
		want             []string
	}{
		"a run in the skipped hour is due right after it": {"30 2 * * *", "Europe/Berlin", "2026-03-28 12:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"}},
		"a run in a repeated hour is due once": {"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00 +0200",
			[]string{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"}},
		"an hourly run stays hourly in spring": {"0 * * * *", "Europe/Berlin", "2026-03-29 01:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-29 04:00 +0200"}},
		"an hourly run stays hourly in autumn": {"15 * * * *", "Europe/Berlin", "2026-10-25 01:30 +0200",
			[]string{"2026-10-25 02:15 +0200", "2026-10-25 02:15 +0100", "2026-10-25 03:15 +0100"}},
		"a run at half past is not doubled in spring": {"30 * * * *", "Europe/Berlin", "2026-03-29 01:30 +0100",
			[]string{"2026-03-29 03:30 +0200", "2026-03-29 04:30 +0200"}},
		"two runs that fall on the end of the skipped hour become one": {"0 2,3 * * *", "Europe/Berlin", "2026-03-29 01:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200"}},
		"a midnight that is skipped": {"0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00 -0300",
			[]string{"2018-11-04 01:00 -0200", "2018-11-05 00:00 -0200"}},
		"a change by half an hour": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00 +1030",
			[]string{"2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"}},
		"a run on another day is not affected by the skipped hour": {"30 2 1 * *", "Europe/Berlin", "2026-03-28 12:00 +0100",
			[]string{"2026-04-01 02:30 +0200"}},
	} {
		t.Run(name, func(t *testing.T) {
			at := local(t, test.after)
			for _, want := range test.want {
				next := parse(t, test.expression, test.zone).Next(at)
				if !next.Equal(local(t, want)) {
					t.Errorf("after %s: %s, want %s", at, next.In(at.Location()), want)
				}
				at = next
			}
		})
	}
}

func TestLastIsTheNewestMissedRun(t *testing.T) {
	day := parse(t, "0 3 * * *", "")
	for name, test := range map[string]struct {
		schedule    Schedule
		after, now  string
		want        string
		quick, none bool
	}{
		"no run is due before the first":                 {schedule: day, after: "2026-11-21 03:00:00", now: "2026-11-22 02:59:59", none: true},
		"a run is due at its exact second":               {schedule: day, after: "2026-11-21 03:00:00", now: "2026-11-22 03:00:00", want: "2026-11-22 03:00:00"},
		"the last of ten missed runs":                    {schedule: day, after: "2026-11-01 03:00:00", now: "2026-11-11 12:00:00", want: "2026-11-11 03:00:00"},
		"the last of twenty years of runs by the minute": {schedule: parse(t, "* * * * *", ""), after: "2006-11-01 03:00:00", now: "2026-11-11 12:00:30", want: "2026-11-11 12:00:00"},
		"a schedule with one day a year":                 {schedule: parse(t, "* 3 1 1 *", ""), after: "1999-01-01 04:00:00", now: "2026-11-11 12:00:30", want: "2026-01-01 03:59:00"},
		"an interval counts from the previous run":       {schedule: Every(time.Hour), after: "2026-11-21 03:07:00", now: "2026-11-21 10:00:00", want: "2026-11-21 09:07:00"},
		"an interval that has not passed":                {schedule: Every(time.Hour), after: "2026-11-21 03:07:00", now: "2026-11-21 04:06:59", none: true},
		"a previous run in the future":                   {schedule: day, after: "2027-11-21 03:00:00", now: "2026-11-22 03:00:00", none: true},
		"the zero schedule":                              {schedule: Schedule{}, after: "2026-11-21 03:00:00", now: "2026-11-22 03:00:00", none: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := test.schedule.Last(utc(test.after), utc(test.now))
			if found == test.none || found && !got.Equal(utc(test.want)) {
				t.Errorf("%s %v, want %s", got, found, test.want)
			}
		})
	}
}

// FuzzParse checks that every expression is either rejected or has runs in ascending order.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0 3 * * *", "*/5 1-3 * jan mon", "@daily", "TZ=0", "30 2 29 2 ?", "0 0 31 4,6 *"} {
		f.Add(seed, "Europe/Berlin", int64(1774746000))
		f.Add(seed, "", int64(0))
	}
	f.Fuzz(func(t *testing.T, expression, zone string, seconds int64) {
		s, err := Parse(expression, zone)
		if err != nil {
			return
		}
		at := time.Unix(seconds%(1<<33), 0)
		for range 5 {
			next := s.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("%q in %q: %s is followed by %s", expression, zone, at, next)
			}
			if last, found := s.Last(at, next); !found || !last.Equal(next) {
				t.Fatalf("%q in %q: the last between %s and %s is %s", expression, zone, at, next, last)
			}
			at = next
		}
	})
}

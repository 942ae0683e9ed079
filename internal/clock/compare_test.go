package clock

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// compared are the folders whose code decides by the time.
var compared = []string{"cluster", "backup", "restore", "snapshot", "archive", "schedule", "spool", "kube", "operator", "planning", "source", "pki", "pace", "turns", "worker", "dbcheck", "objstore", "storage", "etcd"}

// comparisons returns the functions in which a time is compared with now without this package, as file and function.
func comparisons(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, folder := range compared {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				f, is := decl.(*ast.FuncDecl)
				if is && comparesNow(f) {
					found[strings.TrimPrefix(filepath.ToSlash(path), "../")+" "+f.Name.Name] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// comparesNow reports whether a function compares or subtracts a time and now.
func comparesNow(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f, func(node ast.Node) bool {
		call, is := node.(*ast.CallExpr)
		if !is {
			return true
		}
		method, is := call.Fun.(*ast.SelectorExpr)
		if !is {
			return true
		}
		name := method.Sel.Name
		if from, is := method.X.(*ast.Ident); is && from.Name == "time" && (name == "Since" || name == "Until") {
			found = true
		}
		if slices.Contains([]string{"Before", "After", "Sub", "Compare"}, name) && len(call.Args) == 1 && (isNow(method.X) || isNow(call.Args[0])) {
			found = true
		}
		return true
	})
	return found
}

// isNow reports whether an expression is the present time, or is computed from it.
func isNow(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(node ast.Node) bool {
		if name, is := node.(*ast.Ident); is && (name.Name == "now" || strings.HasSuffix(name.Name, "Now")) {
			found = true
		}
		return true
	})
	return found
}

// listed says for each function that compares a time with now why a time ahead of now does no harm. Most times should be compared by this
// package.
var listed = map[string][]string{
	"an end ahead of both clocks is that of a valid certificate, which is kept": {"cluster/plan/material/material_expired.go expired"},
	"a Pod whose age is not known counts as one that starts":                    {"cluster/plan/lifecycle/pod_state.go PodStateOf"},
	"the time is one of this process's memory, and the monotonic clock measures what has passed": {
		"archive/archiver/archiver.go Lag", "archive/archiver/seal.go wantsCut", "archive/archiver/seal.go oldest", "etcd/login.go limitLogin", "objstore/progress.go name", "objstore/counted.go Read", "objstore/slowness.go look", "objstore/memory.go othersLack", "objstore/signed/signed.go reopen",
		"backup/archiving/keeper_bases.go askForBase", "backup/archiving/copying/turns.go floor", "backup/archiving/copying/turns.go ended", "objstore/progress.go waiting", "backup/archiving/copying/copier.go lag", "backup/archiving/copying/report.go advanced", "backup/archiving/copying/run.go step", "backup/archiving/copying/look.go discard", "backup/archiving/keeper.go changed", "backup/archiving/keeper_prune.go prune", "backup/archiving/publish.go publish", "backup/archiving/keeper.go run",
		"backup/archiving/metrics.go stopped", "backup/archiving/keeper_prune.go replaceSpoilt", "backup/archiving/run.go run", "backup/clients/lasting_store.go present",
		"backup/queue/progress.go Begin", "backup/queue/progress.go Passing", "backup/sightings.go since", "backup/queue/time_limit.go pause",
		"backup/status/archive.go archiveCondition", "backup/status/archive.go archiveStarting", "backup/status/archive_copy.go copyCondition",
		"cluster/members/await.go askApart", "cluster/members/question.go awaited", "cluster/members/await.go questionFor", "cluster/remembered.go found", "cluster/behind.go foundBehind",
		"cluster/remembered.go untilSeen", "cluster/queue/replacements.go locked", "kube/turns.go before", "kube/turns.go left",
		"cluster/members/health_checks.go Due", "cluster/members/health_checks.go Resume", "cluster/secrets/judge.go Doubt", "cluster/secrets/judge.go Judge",
		"cluster/observe/class.go known", "cluster/observe/accounts.go observe", "cluster/observe/nodes.go observeZones", "cluster/queue/pace.go Waited", "cluster/says_later.go saysLater",
		"cluster/failure/sizes.go Of", "cluster/dryrun/pod.go Rehearse", "cluster/dryrun/answer.go due", "cluster/dryrun/volume.go ObserveVolumeTemplate", "cluster/unanswered.go foundUnanswered",
		"cluster/plan/state/serving.go Briefly", "cluster/plan/recovery/members_unreachable.go waitUntilReachable", "cluster/plan/membership/learner.go GiveUpLearner", "cluster/plan/state/serving.go SeenFailingFor", "cluster/plan/repair/silence.go Saw",
		"cluster/plan/held.go Refused", "cluster/plan/held.go heldStops",
		"restore/plan/verify.go retry", "restore/plan/prefixes.go writeAgain", "restore/plan/safety.go oldDataIsNotSaved",
		"pace/meter.go done", "pace/meter.go look", "turns/gate.go record", "turns/limit.go left", "turns/urgent.go leftForUrgent", "turns/wait_time.go end", "turns/wait_time.go WaitedFor", "spool/give_way.go spares", "spool/give_way.go give", "restore/safety.go saveOldData", "turns/urgent.go hasMoreFrom", "spool/give_way.go returned", "spool/give_way.go hadUrgent", "spool/overtake.go delaysOwn", "cluster/plan/state/serving.go SilentFor", "cluster/plan/versions/unseen.go readyUnseen", "cluster/plan/state/certificates.go WhyExpired", "worker/patience.go longest", "worker/ticket.go leave", "worker/ticket.go ran", "spool/give_way.go keeps", "spool/queue.go answer", "spool/overtake.go starves", "spool/overtake.go overtake", "restore/point.go readBase", "restore/read_limit.go pause", "restore/read_limit.go pausing",
		"cluster/failing.go saw", "cluster/failing.go tooLong", "cluster/plan/state/waiting.go Lasted", "cluster/plan/state/waiting.go Saw",
	},
	"package clock has compared the time before": {"backup/attempt/stored.go complete", "restore/steps/proof.go Describe"},
	"a time ahead of now counts as now, and decides only when the status reports a wait as too long": {
		"restore/plan/wait.go clusterHasNotStarted", "restore/plan/wait.go verifiedAt",
	},
	"the time is corrected when it is observed (State.CorrectTimes)": {
		"cluster/plan/state/joining.go WaitedToBePublished", "cluster/plan/state/joining.go Resolves", "cluster/plan/state/waiting.go BacksOff",
		"cluster/plan/waits/pods.go WaitForAttempt", "cluster/plan/space/defragment.go Defragment", "cluster/plan/space/defragment.go defragmentScheduled",
		"cluster/plan/restore/failed_seed.go seedStuck", "cluster/plan/state/serving.go stillStarts", "cluster/plan/repair/health.go waitForGate", "cluster/plan/waits/members.go learnersFail",
		"cluster/plan/state/voters.go UnreadyFor", "cluster/plan/state/roll.go BesideFor", "cluster/plan/restore/safety.go safetyIsOld",
		"cluster/plan/restore/safety_exact.go SafetySnapshot", "cluster/plan/restore/safety_exact.go saveExactly", "cluster/plan/restore/seed_refused.go seedRefusal", "cluster/plan/state/waiting.go StalledRequeue",
		"cluster/plan/certificates/client_hostname.go clientsStillLoad", "cluster/plan/state/waiting.go Overdue", "cluster/plan/certificates/rotate_ca.go dropOld", "cluster/plan/certificates/rotate_ca.go RotateCA", "cluster/plan/volumes/volumes.go RestartForFileSystem",
	},
	"it is a hold of this process that ends after ten minutes": {
		"cluster/plan/held.go Did", "cluster/plan/held.go Held", "cluster/plan/waits/held.go Held",
	},
	"a certificate or CA that is not valid yet is due at once": {
		"cluster/plan/state/certificates.go DueBy", "cluster/plan/material/material_expired.go Valid", "cluster/plan/material/material_judge.go judgeCA",
		"cluster/plan/material/material_expired.go notYetValid", "cluster/plan/material/material_judge.go renewsLate", "cluster/secrets/judge.go Keep",
	},
	"a compaction in the future counts as long ago": {
		"cluster/plan/state/space.go compactedAt", "cluster/plan/state/space.go CompactedFor", "cluster/plan/state/space.go NeedsRoom", "cluster/plan/waits/space.go ReclaimSpace",
	},
	"it delays what a person reads, or a request that changes nothing": {
		"cluster/observe/mounts.go observeMounts", "backup/plan/recoverable.go CopyRecoverable", "backup/archiving/publish.go outdated",
	},
	"a Pod that was created ahead of now is reported at once if it has no node": {"cluster/plan/lifecycle/pod_state.go unscheduledForLong"},
	"a time ahead of now counts as now":                                         {"backup/archiving/copying/copier.go reached"},
	"it compares the clocks themselves": {
		"backup/attempt/clocks.go aheadOf", "snapshot/retention/window.go storeAhead", "cluster/dryrun/clock.go ConfirmClock", "cluster/dryrun/clock.go holds", "cluster/dryrun/clock.go ServerTime",
	},
	"the times in the status that it is computed from are judged by this package": {
		"backup/plan/step.go sleep", "backup/plan/copy.go copyIsDue", "backup/plan/finish.go restoreTestIsDue", "backup/plan/prune.go suspendedSeriesIsPruned",
		"backup/plan/take.go snapshotIsNotDue", "backup/plan/due.go drillTurn", "backup/plan/due.go SnapshotTurn", "backup/attempt/stored.go satisfied",
		"schedule/schedule.go Last",
	},
	"the deletion counts from when this process first saw it": {"backup/plan/limit.go timeLeft"},
	"an object that has ended is kept longer, and never shorter, than its time to live": {
		"backup/plan/finish.go timeToLiveIsOver", "restore/plan/finish.go restoreHasFinished",
	},
	"the store has another clock, which decides if this one is ahead": {"snapshot/catalog/item.go Future", "snapshot/retention/policy.go within"},
	"a signed URL is renewed at once if its time is too far ahead":    {"restore/state/signed_url.go RenewalIn", "restore/plan/signed_url.go SignedUntil"},
	"cluster-operator corrects the time in the status":                {"restore/plan/safety.go givesUpSafety"},
	"a file of an upload stays until the clock has reached its time":  {"objstore/file/file.go removeStale"},
	"it is a simulation": {"cluster/plan/sim/effects/time.go WaitsForExact", "cluster/plan/sim/observe/from.go putMember"},
}

// A time that was stored by a wrong clock delayed certificates, schedules and restores for as long as the clock had been ahead, because each
// function that compared it with now decided for itself. Most of them had no test with such a time.
func TestEachFunctionThatComparesATimeWithNowSaysWhatATimeAheadOfNowMeans(t *testing.T) {
	known := map[string]string{}
	for why, functions := range listed {
		for _, name := range functions {
			if known[name] != "" {
				t.Errorf("%s is listed twice", name)
			}
			known[name] = why
		}
	}
	found := comparisons(t)
	for name := range found {
		if known[name] == "" {
			t.Errorf("%s compares a time with now. What does it do if the time is ahead of now? Use package clock, or list it here.", name)
		}
	}
	for name := range known {
		if !found[name] {
			t.Errorf("%s compares no time with now any more", name)
		}
	}
}

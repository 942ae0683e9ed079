package plan

// rule looks at a State and says one Step, or nil when it has nothing to say.
type rule func(State) Step

// namedRule carries its name for TestPlanOrder and for logs.
type namedRule struct {
	name string
	say  rule
}

// rules are asked in order; the first that says something wins. The order is part of the contract: what must
// not go on while something else is wrong stands after it.
var rules = []namedRule{
	{"deleting", deleting},
	{"paused", paused},
	{"hibernate", hibernate},
	{"tlsChange", tlsChange},
	{"certificates", certificates},
	{"secrets", secrets},
	{"strangers", strangers},
	{"services", services},
	{"forceNewCluster", forceNewCluster},
	{"loadCertificates", loadCertificates},
	{"retention", retention},
	{"budget", budget},
	{"unblock", unblock},
	{"removeStrays", removeStrays},
	{"startMember", startMember},
	{"restore", restore},
	{"awaitRestore", awaitRestore},
	{"bootstrap", bootstrap},
	{"retrust", retrust},
	{"quorum", quorum},
	{"expose", expose},
	{"relabel", relabel},
	{"endDowngrade", endDowngrade},
	{"promote", promote},
	{"corruptAlarm", corruptAlarm},
	{"removeOrphanPods", removeOrphanPods},
	{"replaceLost", replaceLost},
	{"scaleDown", scaleDown},
	{"replaceDead", replaceDead},
	{"remake", remake},
	{"settle", settle},
	{"scaleUp", scaleUp},
	{"reclaim", reclaim},
	{"prepare", prepare},
	{"roll", roll},
	{"rotate", rotate},
	{"leave", leave},
	{"deleteOldVolumes", deleteOldVolumes},
	{"completeRestore", completeRestore},
	{"completeRecovery", completeRecovery},
	{"defragment", defragment},
	{"unissued", unissued},
	{"growVolumes", growVolumes},
	{"noSpace", noSpace},
	{"badSchedule", badSchedule},
}

// Plan is the next step. It is pure: the same State gives the same Step.
func Plan(s State) Step { return planBy(rules, s) }

func planBy(rules []namedRule, s State) Step {
	for _, r := range rules {
		if step := r.say(s); step != nil {
			return step
		}
	}
	return Done{}
}

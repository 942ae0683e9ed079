package plan

import (
	"reflect"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// The first rule that returns a step wins, so a rule that waits would keep all rules after it from running. A wait may last for days: for a
// node, for a person, or for an answer. So the rules after it are asked, too, as far as its table entry allows, and if one of them has
// something to do, that is done. The wait is what the status reports once nothing else is to be done.

// reach is how far the rules after a wait are asked.
type reach int

const (
	// noRule: no later rule is asked.
	noRule reach = iota
	// spaceOnly: only reclaimSpace, which needs no Pod.
	spaceOnly
	// repairs: all rules that repair, replace and add members.
	repairs
	// rolls: also those that restart members one at a time.
	rolls
	// beyond: no wait lets these rules pass. Their steps are right only if nothing else is to be done.
	beyond
)

// hold says how far the rules after a wait of a rule are asked, and why no further.
type hold struct {
	reach func(state.State, steps.Wait) reach
	why   string
}

func upTo(r reach) func(state.State, steps.Wait) reach {
	return func(state.State, steps.Wait) reach { return r }
}

// waitHolds are the rules whose waits hold up more than others do. A wait of any other rule lets all repairs pass, and if it is stalled, also
// restarts.
var waitHolds = map[string]hold{
	"hibernate": {why: "the members stop, and a repair would start them again", reach: func(s state.State, wait steps.Wait) reach {
		if wait.Reason == v1beta2.ReasonInvalidSpec { // it stops none
			return asOthers(s, wait)
		}
		return noRule
	}},
	"refuseTLSChange":       {why: "a Pod that is created now has the TLS of the spec, and could not connect to the members", reach: upTo(spaceOnly)},
	"issueCertificates":     {why: "a Pod that is created now would have no certificates", reach: upTo(spaceOnly)},
	"missingSecrets":        {why: "a Pod that is created now would not start without its Secret", reach: upTo(spaceOnly)},
	"foreignMembers":        {why: "the cluster has not formed, and its members belong to something else", reach: upTo(noRule)},
	"refuseForeignServices": {why: "the name of a Pod that is created now would not resolve without the Service", reach: upTo(spaceOnly)},
	"contradictedService":   {why: "it is not known which members are the cluster", reach: upTo(noRule)},
	"forceNewCluster":       {why: "a survivor that may run with --force-new-cluster again would drop each other member", reach: upTo(noRule)},
	"restore": {why: "the old members stop", reach: func(s state.State, wait steps.Wait) reach {
		if s.Switching() {
			return noRule
		}
		return asOthers(s, wait) // before the switch, the old cluster is like any other
	}},
	"cancelDowngrade": {why: "a member that starts now refuses to run, because a downgrade is allowed", reach: upTo(spaceOnly)},
	"replaceLost": {why: "the volume has unknown data, and would be deleted after its member is removed by another rule", reach: func(s state.State, wait steps.Wait) reach {
		if wait.Reason == v1beta2.ReasonAnotherVolume {
			return spaceOnly
		}
		return asOthers(s, wait)
	}},
	"peersRefuseCertificate": {why: "the other members refuse a member that starts or connects again now", reach: upTo(spaceOnly)},
	"corruptAlarm":           {why: "it is not known which data is right, and a new member would copy it", reach: upTo(noRule)},
	"waitUntilHealthy": {why: "one change at a time: a member that is starting, joining or down comes first", reach: func(s state.State, _ steps.Wait) reach {
		if allServe(s) { // a container beside etcd is not ready, for example
			return spaceOnly
		}
		return noRule
	}},
	"prepareVersionChange": {why: "no member may restart before its data is prepared", reach: upTo(noRule)},
	"resizePods":           {why: "one change at a time: a restart would end the resize that is under way", reach: upTo(noRule)},
	"rollMembers":          {why: "rotateCA relies on it: all members have been restarted and trust the new CA", reach: upTo(noRule)},
}

// reachPast returns how far the rules after a wait are asked.
func reachPast(s state.State, rule string, wait steps.Wait) reach {
	if !s.Formed() || !s.MembershipKnown {
		return noRule // without a quorum etcd changes nothing
	}
	if h, listed := waitHolds[rule]; listed {
		return h.reach(s, wait)
	}
	return asOthers(s, wait)
}

// asOthers is how far the rules after most waits are asked. A cluster that is below its size restarts a member only if a quorum serves
// meanwhile.
func asOthers(s state.State, wait steps.Wait) reach {
	if wait.Stalled && (s.Surplus() >= 0 || s.Voters().KeepsQuorumWhileStopped(true)) {
		return rolls
	}
	return repairs
}

// allServe reports whether each member of the cluster votes and serves.
func allServe(s state.State) bool {
	return !slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return m.Learner || !m.Serving })
}

// needed is how far the rules after a wait must be asked for each rule to be among them.
var needed = neededBy(Rules)

func neededBy(groups []group) map[string]reach {
	by, now := map[string]reach{}, repairs
	for _, g := range groups {
		switch g.Name {
		case "roll":
			now = rolls
		case "tidy":
			now = beyond
		}
		for _, r := range g.Rules {
			by[r.Name] = now
		}
	}
	by["reclaimSpace"], by["takeFenceBack"] = spaceOnly, spaceOnly
	by["prepareVersionChange"] = beyond // cancelDowngrade would undo it as long as a member is yet to be added
	return by
}

// Obstruct records that a step was refused in this pass. The plan takes the wait for it, and asks the rules after it.
func Obstruct(s *state.State, step steps.Step, wait steps.Wait) {
	s.Obstructed = append(slices.Clone(s.Obstructed), state.Obstruction{Step: step, Wait: wait})
}

// waitFor returns the wait that a step is, or that was put in its place in this pass.
func waitFor(s state.State, step steps.Step) (steps.Wait, bool) {
	recorded := membership.RecordedFirst(s, step)
	for _, o := range s.Obstructed {
		if reflect.DeepEqual(o.Step, step) || reflect.DeepEqual(o.Step, recorded) {
			wait, _ := o.Wait.(steps.Wait)
			return Bounded(s, wait), true
		}
	}
	wait, is := step.(steps.Wait)
	return Bounded(s, wait), is
}

// choice is what the rules decide.
type choice struct {
	// step wins. It is nil if no rule has one.
	step steps.Step
	// rule is the name of the rule that returned it.
	rule string
	// waits are those that were met on the way to the step.
	waits []state.WaitKey
	// waiting is the first of them, with what a person must know of the others, and allowed is how far the rules after it are asked.
	waiting *steps.Wait
	by      string
	allowed reach
	// note is the first step that only reports something, and noted the rule that returned it. It counts if there is nothing else.
	note  steps.Step
	noted string
}

// wait adds a wait of a rule.
func (c *choice) wait(s state.State, rule string, wait steps.Wait) {
	c.waits = append(c.waits, wait.Key())
	c.allowed = min(c.allowed, reachPast(s, rule, wait))
	if c.waiting == nil {
		c.waiting, c.by = &wait, rule
		return
	}
	c.waiting.Join(wait)
}

// end is the choice if no rule has a step that may pass the wait.
func (c *choice) end(s state.State) choice {
	switch {
	case c.waiting != nil:
		if c.note != nil {
			c.waiting.Message += " Meanwhile: " + steps.Describe(s, c.note).Message
		}
		c.step, c.rule = *c.waiting, c.by
	case c.note != nil:
		c.step, c.rule = c.note, c.noted
	}
	return *c
}

// first returns the step that wins: that of the first rule that returns one, but if it waits, that of a later rule that the wait lets pass. One
// that only reports something wins if no later rule has another one.
// skip returns true for steps that do not count.
func first(groups []group, s state.State, skip func(string, steps.Step) bool) choice {
	c := choice{allowed: beyond}
	for _, g := range groups {
		for _, r := range g.Rules {
			if c.waiting != nil && c.allowed == noRule {
				return c.end(s)
			}
			step := r.Decide(s)
			if step == nil || skip(r.Name, step) {
				continue
			}
			wait, is := waitFor(s, step)
			switch {
			case c.waiting != nil && needed[r.Name] > c.allowed:
				return c.end(s)
			case is:
				c.wait(s, r.Name, wait)
			case c.waiting == nil && steps.Reports(step):
				if c.note == nil {
					c.note, c.noted = step, r.Name
				}
			case c.waiting == nil || steps.Acts(step):
				c.step, c.rule = step, r.Name
				return c
			}
		}
	}
	return c.end(s)
}

// stillWaits are the waits that began before a step was carried out, and that its rule hides.
func stillWaits(s state.State, step steps.Step) []state.WaitKey {
	hidden := first(Rules, s, func(_ string, other steps.Step) bool { return steps.Acts(other) }).waits
	return slices.DeleteFunc(hidden, func(key state.WaitKey) bool {
		_, began := s.Waiting.Since()[key]
		return !began || bringsNearer(s, step, key)
	})
}

// fencedInVain reports whether the old members refuse writes while the operator waits: for the seed, a Secret or a person, but not for an exact safety snapshot. Nothing was stopped yet, so
// they take writes again, and the restore checks everything once more.
func fencedInVain(s state.State, c choice) bool {
	_, waits := c.step.(steps.Wait)
	return waits && s.MembershipKnown && restore.FenceIsOn(s) && restore.OldQuorumRuns(s) && !restore.WaitsForExact(s, c.waits)
}

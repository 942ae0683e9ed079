package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// planTests by sentences.
type planTests map[string]struct {
	state State
	want  Step
}

func (tests planTests) run(t *testing.T) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Plan(test.state)); diff != "" {
				t.Errorf("Plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanGeneral(t *testing.T) {
	planTests{
		"is done when the cluster is as asked for": {
			state(formed, members(3)), Done{},
		},
		"does nothing while the cluster is being deleted": {
			state(formed, members(3), with(0, gone), func(s *State) { s.Deleting = true }),
			Idle{Why: v1beta2.ReasonDeleting, Message: "being deleted, and with it all that it owns"},
		},
		"does nothing while paused": {
			state(formed, members(3), with(0, gone), func(s *State) { s.Spec.Paused = true }),
			Idle{Why: v1beta2.ReasonPaused, Message: "spec.paused is true: set it to false to let the operator go on"},
		},
		"names the Secret that is missing": {
			state(func(s *State) { s.SecretProblem = "Secret tls is not there" }),
			Wait{Why: v1beta2.ReasonSecretMissing, Message: "Secret tls is not there", Stalled: true},
		},
		"makes the Services first, and leads clients to nobody": {
			state(func(s *State) { s.Services = Services{} }), ApplyServices{},
		},
		"leads clients to a cluster once it has formed": {
			state(formed, servicesFor(0, ""), members(3)), ApplyServices{Incarnation: 1, ClusterID: oldID},
		},
		"makes the Services anew when somebody changed them": {
			state(formed, members(3), func(s *State) { s.Services.HeadlessCurrent = false }), ApplyServices{Incarnation: 1, ClusterID: oldID},
		},
		"recognises a cluster whose status was lost by its Service": {
			state(members(3), servicesFor(1, oldID), (*State).RecogniseFormed), Done{},
		},
		"touches nothing of members that it did not make": {
			state(members(3), servicesFor(0, "")),
			Wait{
				Why:     v1beta2.ReasonNotOurs,
				Message: "member " + nameOf(0) + " was not made by this operator, or the cluster's ID was lost with its status: nothing is touched; save it with an EtcdBackup by etcdEndpoints, and apply an EtcdRestore of that snapshot",
				Stalled: true,
			},
		},
	}.run(t)
}

// TestPlanOrder pins the order of the rules: each pair with the reason why the first is asked before the second.
func TestPlanOrder(t *testing.T) {
	pairs := []struct{ first, second, because string }{
		{"deleting", "paused", "deletion works while paused"},
		{"paused", "hibernate", "paused means hands off"},
		{"hibernate", "secrets", "nobody has to be asked to be stopped"},
		{"hibernate", "startMember", "what hibernates is not started"},
		{"hibernate", "quorum", "that all members are gone on purpose is no loss of quorum"},
		{"hibernate", "restore", "a cluster that hibernates takes up no restore"},
		{"retention", "quorum", "a cluster may be deleted while it is not well"},
		{"strangers", "retention", "nothing of somebody else's is touched"},
		{"roll", "noSpace", "a larger quota comes with a roll"},
		{"settle", "reclaim", "a member that is defragmented answers nobody, so all others have to"},
		{"scaleUp", "reclaim", "a member that is to take the place of another comes first"},
		{"reclaim", "roll", "that etcd refuses writes is worse than that a Pod is not as asked for"},
		{"completeRestore", "defragment", "space is tidied up when nothing else is going on"},
		{"completeRecovery", "defragment", "space is tidied up when nothing else is going on"},
		{"defragment", "growVolumes", "a volume that cannot grow holds nothing else up"},
		{"noSpace", "badSchedule", "that etcd refuses writes is worse than that it is not tidied up"},
		{"completeRestore", "growVolumes", "a volume that cannot grow holds nothing else up"},
		{"paused", "secrets", "paused means hands off, whatever is wrong"},
		{"paused", "tlsChange", "paused means hands off, whatever is wrong"},
		{"tlsChange", "certificates", "no certificates are made for members that may not use them"},
		{"certificates", "secrets", "a Secret of the operator's that is spoilt is written again"},
		{"certificates", "startMember", "a Pod waits for the Secrets that it mounts"},
		{"certificates", "quorum", "certificates that ran out may be why quorum is lost"},
		{"services", "loadCertificates", "what is wrong with the Services concerns all"},
		{"loadCertificates", "quorum", "renewed certificates may bring a quorum back"},
		{"startMember", "retrust", "whoever has data is started before anybody is stopped"},
		{"restore", "retrust", "a restore is the way out of a lost quorum"},
		{"retrust", "quorum", "members that do not trust each other are no quorum, and waiting does not help"},
		{"roll", "rotate", "certificates of a new authority are used once every member trusts it"},
		{"settle", "rotate", "an authority is replaced while all members are well"},
		{"rotate", "completeRestore", "what a restored cluster needs goes before what it says"},
		{"completeRestore", "unissued", "that a certificate was not renewed keeps nothing else from being done"},
		{"secrets", "services", "without certificates no member can be asked, so nothing that follows is known"},
		{"strangers", "services", "the Service that somebody else's clients use stays as it is"},
		{"services", "bootstrap", "members find each other by the headless Service"},
		{"services", "restore", "clients are led to the new incarnation before it grows"},
		{"services", "forceNewCluster", "members find each other by the headless Service"},
		{"forceNewCluster", "unblock", "while a survivor is restarted alone, nobody else is touched but to be stopped"},
		{"forceNewCluster", "startMember", "a member that was stopped for the survivor's sake stays stopped"},
		{"forceNewCluster", "quorum", "the survivor that was chosen is not chosen again"},
		{"forceNewCluster", "scaleUp", "a Pod with --force-new-cluster is made again without it before it has company"},
		{"deleteOldVolumes", "completeRecovery", "a recovery is complete when nothing of the lost members is left"},
		{"unblock", "startMember", "a Pod that can never start must go before it can be made again"},
		{"unblock", "restore", "a seed with an image that cannot be had is made again with the corrected one"},
		{"removeStrays", "restore", "a new seed does not find the volume of one that failed"},
		{"startMember", "restore", "the old members go on serving while a seed is restored"},
		{"startMember", "quorum", "with quorum lost, whoever has data is started: that may bring it back"},
		{"restore", "awaitRestore", "the restore that is waited for must be taken up"},
		{"restore", "bootstrap", "a cluster made together with its restore boots from it"},
		{"restore", "quorum", "a restore is the way out of a lost quorum"},
		{"awaitRestore", "bootstrap", "a cluster with a restore pending never boots empty"},
		{"bootstrap", "quorum", "a cluster that never formed has no quorum to lose"},
		{"quorum", "promote", "without quorum etcd changes nothing, and neither does the operator"},
		{"quorum", "replaceLost", "with quorum lost nothing is removed"},
		{"quorum", "scaleUp", "with quorum lost nothing is added"},
		{"hibernate", "budget", "what stops on purpose does not change how many members there are"},
		{"budget", "restore", "the members that serve while a seed is restored are drained with care"},
		{"budget", "promote", "a learner gets its vote when drains leave it a quorum"},
		{"budget", "scaleDown", "drains are held off before a member goes"},
		{"promote", "replaceLost", "one change at a time: the one in flight is finished first"},
		{"promote", "corruptAlarm", "one change at a time: the one in flight is finished first"},
		{"quorum", "corruptAlarm", "with quorum lost nothing is removed"},
		{"corruptAlarm", "replaceLost", "a member is not replaced by one that copies corrupt data"},
		{"corruptAlarm", "settle", "with that alarm on no member is ready"},
		{"promote", "settle", "a learner waits for its vote, not for its health"},
		{"removeOrphanPods", "scaleDown", "one member is gone before the next one goes"},
		{"replaceLost", "settle", "a member without data never gets well"},
		{"scaleDown", "settle", "the member that is not well is the one that can be spared"},
		{"scaleDown", "replaceDead", "a cluster that shrinks loses its dead member that way"},
		{"endDowngrade", "scaleUp", "etcd takes no new member while its data is brought down"},
		{"endDowngrade", "settle", "a member that cannot join for it never gets well"},
		{"remake", "settle", "a member that was given what does not work is given what the spec says now"},
		{"replaceDead", "remake", "a member that is lost is replaced, and not made again without end"},
		{"settle", "prepare", "all members have to say that their data is ready"},
		{"prepare", "roll", "no member is stopped before its data can be read by what it is to run"},
		{"relabel", "roll", "labels and annotations need no restart"},
		{"replaceDead", "settle", "a dead member never gets well"},
		{"settle", "scaleUp", "nothing is added to a cluster that is not well"},
		{"settle", "roll", "no member is stopped while another is down"},
		{"scaleUp", "roll", "a member more makes a roll safer"},
		{"settle", "deleteOldVolumes", "no volume is deleted before the cluster is well"},
		{"scaleUp", "deleteOldVolumes", "no volume is deleted before the cluster is at size"},
		{"roll", "deleteOldVolumes", "old volumes are the last resort if an upgrade goes wrong"},
		{"leave", "deleteOldVolumes", "a volume goes after its Pod"},
		{"deleteOldVolumes", "completeRestore", "a restore is complete when nothing of the old cluster is left"},
	}
	at := func(name string) int {
		return slices.IndexFunc(rules, func(r namedRule) bool { return r.name == name })
	}
	for _, pair := range pairs {
		if at(pair.first) < 0 || at(pair.second) < 0 || at(pair.first) > at(pair.second) {
			t.Errorf("%s must be asked before %s: %s", pair.first, pair.second, pair.because)
		}
	}
	for _, r := range rules {
		if !slices.ContainsFunc(pairs, func(p struct{ first, second, because string }) bool { return p.first == r.name || p.second == r.name }) && r.name != "expose" {
			t.Errorf("rule %s stands where it stands for no reason", r.name)
		}
	}
}

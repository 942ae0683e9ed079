package plan

import (
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// planTests are those of the whole plan.
type planTests plantest.Plans

func (tests planTests) run(t *testing.T) {
	t.Helper()
	plantest.Plans(tests).Run(t, Plan)
}

func TestPlanGeneral(t *testing.T) {
	planTests{
		"does nothing if the cluster matches its spec": {
			stateWith(formed, members(3)), steps.Done{},
		},
		"does nothing while the cluster is being deleted": {
			stateWith(formed, members(3), with(0, gone), func(s *state.State) { s.Deleting = true }),
			steps.Idle{Reason: v1beta2.ReasonDeleting, Message: "The EtcdCluster is being deleted. Kubernetes deletes the Pods, volumes and Services that it owns."},
		},
		"does nothing while paused": {
			stateWith(formed, members(3), with(0, gone), func(s *state.State) { s.Spec.Paused = true }),
			steps.Idle{Reason: v1beta2.ReasonPaused, Message: pausedMessage},
		},
		"retains the volumes of a paused cluster": {
			stateWith(formed, members(3), retained, func(s *state.State) { s.Spec.Paused = true }), steps.KeepVolume{Name: nameOf(0), Keep: true},
		},
		"does not release a retained volume while paused": {
			stateWith(formed, members(3), with(0, kept), func(s *state.State) { s.Spec.Paused = true }),
			steps.Idle{Reason: v1beta2.ReasonPaused, Message: pausedMessage},
		},
		"retains the volumes of a cluster whose Secret is missing": {
			stateWith(formed, members(3), retained, func(s *state.State) { s.SecretProblem = "Secret tls is not there" }), steps.KeepVolume{Name: nameOf(0), Keep: true},
		},
		"renews the certificates of a paused cluster before they expire": {
			stateWith(formed, members(3), managed, certs(due), func(s *state.State) { s.Spec.Paused = true }), steps.WriteCertificates{Cause: "it runs out"},
		},
		"reports the Secret that is missing": {
			stateWith(func(s *state.State) { s.SecretProblem = "Secret tls does not exist." }),
			steps.Wait{Reason: v1beta2.ReasonSecretMissing, Message: "Secret tls does not exist. Until it is corrected, the operator changes nothing. Members that run continue to serve.", Stalled: true},
		},
		"creates the Services first, and they select no member": {
			stateWith(func(s *state.State) { s.Services = state.Services{} }), steps.ApplyServices{},
		},
		"lets the client Service select members once the cluster has formed": {
			stateWith(formed, servicesFor(0, ""), members(3)), steps.ApplyServices{Incarnation: 1, ClusterID: oldID},
		},
		"corrects the Services if another client changed them": {
			stateWith(formed, members(3), func(s *state.State) { s.Services.HeadlessCurrent = false }), steps.ApplyServices{Incarnation: 1, ClusterID: oldID},
		},
		"recognises a cluster by its Service if the status was lost": {
			stateWith(members(3), servicesFor(1, oldID), state.RecogniseFormed), steps.Done{},
		},
		"changes nothing of members that it did not create": {
			stateWith(members(3), servicesFor(0, "")),
			steps.Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Member " + nameOf(0) + " was not created by this operator, or the ID of the cluster was lost with its status. " +
					"The operator changes nothing. Save the data with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot.",
				Stalled: true,
			},
		},
	}.run(t)
}

// TestPlanOrder fixes the order of the rules. Each pair has the reason why the first rule comes before the second.
func TestPlanOrder(t *testing.T) {
	pairs := []struct{ first, second, because string }{
		{"deleting", "paused", "deletion works while paused"},
		{"deleting", "setRetention", "a volume that is being deleted with its cluster is not taken back"},
		{"setRetention", "paused", "a cluster that is paused may be deleted"},
		{"setRetention", "hibernate", "a cluster that hibernates may be deleted"},
		{"setRetention", "missingSecrets", "a cluster whose Secrets are missing may be deleted"},
		{"renewCertificates", "paused", "certificates run out while the operator is paused"},
		{"paused", "hibernate", "paused means hands off"},
		{"hibernate", "missingSecrets", "nobody has to be asked to be stopped"},
		{"hibernate", "startMember", "what hibernates is not started"},
		{"hibernate", "waitForQuorum", "that all members are gone on purpose is no loss of quorum"},
		{"hibernate", "restore", "a cluster that hibernates takes up no restore"},
		{"setRetention", "waitForQuorum", "a cluster may be deleted while it is not well"},
		{"waitUntilHealthy", "resizePods", "no member is changed while another is down"},
		{"resizePods", "prepareVersionChange", "memory is given while a change of version is refused or prepared"},
		{"resizePods", "rollMembers", "a Pod is recreated only if it cannot be resized"},
		{"warnOfFullVolumes", "adviseVersion", "a volume that fills stops the cluster sooner than a flaw of a release"},
		{"warnOfFullVolumes", "ignoredSettings", "a volume that fills stops the cluster sooner than a setting"},
		{"ignoredSettings", "adviseVersion", "the report of a setting has the advice about the version, too"},
		{"rollMembers", "outOfSpace", "a larger quota comes with a roll"},
		{"waitUntilHealthy", "reclaimSpace", "a member that is defragmented answers nobody, so all others have to"},
		{"scaleUp", "reclaimSpace", "a member that is to take the place of another comes first"},
		{"reclaimSpace", "rollMembers", "that etcd refuses writes is worse than that a Pod is not as asked for"},
		{"completeRestore", "defragment", "space is tidied up when nothing else is going on"},
		{"completeRecovery", "defragment", "space is tidied up when nothing else is going on"},
		{"defragment", "growVolumes", "a volume that cannot grow holds nothing else up"},
		{"outOfSpace", "quotaTooSmall", "writes that etcd refuses are worse than those that it is about to refuse"},
		{"outOfSpace", "invalidSchedule", "that etcd refuses writes is worse than that it is not tidied up"},
		{"outOfSpace", "volumeTemplateRefused", "writes that etcd refuses are worse than volumes that a later member could not get"},
		{"volumeTemplateRefused", "adviseOfPod", "what keeps the cluster from being ready comes before advice"},
		{"adviseOfPod", "adviseVersion", "a member that cannot be replaced matters more than a flaw of a release"},
		{"completeRestore", "growVolumes", "a volume that cannot grow holds nothing else up"},
		{"requestGrowth", "paused", "volumes fill while the operator is paused"},
		{"requestGrowth", "hibernate", "a cluster that hibernates may wake up with larger volumes"},
		{"requestGrowth", "waitForQuorum", "members whose volumes are full have no quorum until these grow"},
		{"restartForFileSystem", "waitForQuorum", "a file system that waits for a Pod may be why there is no quorum"},
		{"invalidSchedule", "warnOfFullVolumes", "what keeps the cluster from being ready comes before advice"},
		{"paused", "missingSecrets", "paused means hands off, whatever is wrong"},
		{"paused", "refuseTLSChange", "paused means hands off, whatever is wrong"},
		{"refuseTLSChange", "issueCertificates", "no certificates are made for members that may not use them"},
		{"issueCertificates", "missingSecrets", "a Secret of the operator's that is spoilt is written again"},
		{"issueCertificates", "startMember", "a Pod waits for the Secrets that it mounts"},
		{"issueCertificates", "waitForQuorum", "certificates that ran out may be why quorum is lost"},
		{"applyServices", "loadCertificates", "what is wrong with the Services concerns all"},
		{"loadCertificates", "waitForQuorum", "renewed certificates may bring a quorum back"},
		{"startMember", "restartForNewCA", "whoever has data is started before anybody is stopped"},
		{"restore", "restartForNewCA", "a restore is the way out of a lost quorum"},
		{"restartForNewCA", "waitForQuorum", "members that do not trust each other are no quorum, and waiting does not help"},
		{"waitForQuorum", "peersRefuseCertificate", "members that refuse each other are restarted when no quorum is left"},
		{"startMember", "peersRefuseCertificate", "a member that has no Pod loses nothing if it starts"},
		{"peersRefuseCertificate", "scaleDown", "a member that starts again is refused by the others"},
		{"peersRefuseCertificate", "replaceDead", "a new member is refused by the others, too"},
		{"adviseOfPeerName", "outOfSpace", "an open peer port gives away all data"},
		{"outOfSpace", "reportHeldPods", "clients cannot write, and nothing waits for a Pod of a removed member"},
		{"reportHeldPods", "adviseOfPod", "a person must act, and nothing is wrong with the spec"},
		{"adviseOfPeerName", "adviseOfClientName", "an open peer port gives more than a client has"},
		{"adviseOfClientName", "adviseOfIssuer", "who gets in now matters more than who may sign certificates"},
		{"adviseOfPeerName", "adviseOfIssuer", "an open peer port matters more than who may sign certificates"},
		{"unissuedCertificates", "adviseOfIssuer", "a certificate that is not renewed matters more than who may sign it"},
		{"rollMembers", "rotateCA", "certificates of a new authority are used once every member trusts it"},
		{"waitUntilHealthy", "rotateCA", "an authority is replaced while all members are well"},
		{"rotateCA", "completeRestore", "what a restored cluster needs goes before what it says"},
		{"completeRestore", "reportClock", "clocks that differ keep nothing else from being done"},
		{"reportClock", "unissuedCertificates", "the clock may be why a certificate is not issued"},
		{"completeRestore", "unissuedCertificates", "that a certificate was not renewed keeps nothing else from being done"},
		{"missingSecrets", "applyServices", "without certificates no member can be asked, so nothing that follows is known"},
		{"foreignMembers", "applyServices", "the Service that somebody else's clients use stays as it is"},
		{"refuseForeignServices", "applyServices", "the Service that somebody else's clients use stays as it is"},
		{"refuseForeignServices", "restore", "a cluster without Services of its own is not started"},
		{"growVolumes", "reportForeignObjects", "the object of somebody else keeps nothing from being done"},
		{"reportForeignObjects", "outOfSpace", "clients that reach another service have lost more"},
		{"contradictedService", "applyServices", "clients are not led back to an earlier incarnation"},
		{"applyServices", "restoreLabels", "labels lead to a Pod only if the Services are right"},
		{"foreignMembers", "applyNetworkPolicy", "who connects to foreign members is not for the operator to limit"},
		{"restoreLabels", "applyNetworkPolicy", "the policy lets only Pods with the label of the cluster reach its members"},
		{"applyNetworkPolicy", "restore", "a seed is limited from its first second"},
		{"applyNetworkPolicy", "bootstrap", "no member serves before its NetworkPolicy exists"},
		{"applyNetworkPolicy", "waitForQuorum", "a wrong policy may be why no quorum answers"},
		{"adviseOfIssuer", "reportNetworkPolicy", "certificates that expire stop the cluster, and an open port does not"},
		{"restoreLabels", "forceNewCluster", "members that have no DNS names may have a quorum"},
		{"applyServices", "bootstrap", "members find each other by the headless Service"},
		{"applyServices", "restore", "clients are led to the new incarnation before it grows"},
		{"applyServices", "forceNewCluster", "members find each other by the headless Service"},
		{"forceNewCluster", "recreateBlocked", "while a survivor is restarted alone, nobody else is touched but to be stopped"},
		{"forceNewCluster", "startMember", "a member that was stopped for the survivor's sake stays stopped"},
		{"forceNewCluster", "waitForQuorum", "the survivor that was chosen is not chosen again"},
		{"forceNewCluster", "scaleUp", "a Pod with --force-new-cluster is made again without it before it has company"},
		{"deleteOldVolumes", "completeRecovery", "a recovery is complete when nothing of the lost members is left"},
		{"recreateBlocked", "startMember", "a Pod that can never start must go before it can be made again"},
		{"recreateBlocked", "restore", "a seed with an image that cannot be had is made again with the corrected one"},
		{"removeFailedSeed", "restore", "a new seed does not find the volume of one that failed"},
		{"startMember", "restore", "the old members go on serving while a seed is restored"},
		{"startMember", "waitForQuorum", "with quorum lost, whoever has data is started: that may bring it back"},
		{"restore", "reportUnreadableRestore", "a restore that is taken up needs no report"},
		{"restore", "waitForRestore", "the restore that is waited for must be taken up"},
		{"restore", "bootstrap", "a cluster made together with its restore boots from it"},
		{"restore", "waitForQuorum", "a restore is the way out of a lost quorum"},
		{"waitForRestore", "bootstrap", "a cluster with a restore pending never boots empty"},
		{"bootstrap", "waitForQuorum", "a cluster that never formed has no quorum to lose"},
		{"waitForQuorum", "promoteLearner", "without quorum etcd changes nothing, and neither does the operator"},
		{"waitForQuorum", "replaceLost", "with quorum lost nothing is removed"},
		{"waitForQuorum", "scaleUp", "with quorum lost nothing is added"},
		{"hibernate", "applyBudget", "what stops on purpose does not change how many members there are"},
		{"applyBudget", "restore", "the members that serve while a seed is restored are drained with care"},
		{"applyBudget", "promoteLearner", "a learner gets its vote when drains leave it a quorum"},
		{"applyBudget", "scaleDown", "drains are held off before a member goes"},
		{"giveUpLearner", "promoteLearner", "a learner that etcd refuses to promote without end is given up"},
		{"waitForQuorum", "giveUpLearner", "with quorum lost nothing is removed"},
		{"fenceMembers", "scaleDown", "clients are led away from a fenced member before anything else is changed"},
		{"rollMembers", "moveLeaderAsked", "a roll moves leadership itself, and would move it back"},
		{"defragment", "moveLeaderAsked", "a defragmentation moves leadership itself, and would move it back"},
		{"moveLeaderAsked", "reportRefused", "what can be done is done before the rest is refused"},
		{"applyServices", "reportDroppedSetting", "the Service is applied before the operator says that a setting was dropped"},
		{"promoteLearner", "removeForeignMember", "one change at a time: the one in flight is finished first"},
		{"removeForeignMember", "scaleUp", "etcd accepts one learner at a time, and a foreign one may be in the way"},
		{"scaleUp", "reportForeignMembers", "the operator keeps its own members well beside a foreign one"},
		{"promoteLearner", "replaceLost", "one change at a time: the one in flight is finished first"},
		{"promoteLearner", "corruptAlarm", "one change at a time: the one in flight is finished first"},
		{"waitForQuorum", "corruptAlarm", "with quorum lost nothing is removed"},
		{"corruptAlarm", "replaceLost", "a member is not replaced by one that copies corrupt data"},
		{"corruptAlarm", "waitUntilHealthy", "with that alarm on no member is ready"},
		{"promoteLearner", "waitUntilHealthy", "a learner waits for its vote, not for its health"},
		{"removeOrphanPods", "scaleDown", "one member is gone before the next one goes"},
		{"replaceLost", "waitUntilHealthy", "a member without data never gets well"},
		{"scaleDown", "waitUntilHealthy", "the member that is not well is the one that can be spared"},
		{"scaleDown", "replaceDead", "a cluster that shrinks loses its dead member that way"},
		{"cancelDowngrade", "scaleUp", "etcd takes no new member while its data is brought down"},
		{"cancelDowngrade", "waitUntilHealthy", "a member that cannot join for it never gets well"},
		{"recreateUnhealthy", "waitUntilHealthy", "a member that was given what does not work is given what the spec says now"},
		{"replaceDead", "recreateUnhealthy", "a member that is lost is replaced, and not made again without end"},
		{"waitUntilHealthy", "prepareVersionChange", "all members have to say that their data is ready"},
		{"prepareVersionChange", "rollMembers", "no member is stopped before its data can be read by what it is to run"},
		{"relabelPods", "rollMembers", "labels and annotations need no restart"},
		{"applyMetadata", "rollMembers", "labels and annotations need no restart"},
		{"applyServices", "applyMetadata", "a policy that refuses a label must not refuse what members and clients need"},
		{"waitForQuorum", "forbidEmptyStart", "etcd says who has started"},
		{"forbidEmptyStart", "waitUntilHealthy", "a member may lose its volume while another one is down"},
		{"unmarkVolumes", "waitUntilHealthy", "a recovery may begin while a member is down, and a mark would hide its data"},
		{"setAsideOther", "replaceLost", "when its member is removed, nobody knows any more that the volume is another one"},
		{"replaceDead", "waitUntilHealthy", "a dead member never gets well"},
		{"waitUntilHealthy", "scaleUp", "nothing is added to a cluster that is not well"},
		{"waitUntilHealthy", "rollMembers", "no member is stopped while another is down"},
		{"hibernate", "deleteStopped", "what hibernates is not started"},
		{"refuseWrites", "startMember", "a cluster that is to take no write takes some while members start"},
		{"applyBudget", "refuseWrites", "a drain takes all Pods that are not ready under the fence"},
		{"takeFenceBack", "refuseWrites", "what no object asks for is taken back first, so that one fence is on"},
		{"adviseVersion", "reportReadOnly", "what a person should correct is not hidden by what he has asked for"},
		{"readOnlyNotSupported", "ignoredSettings", "clients can write although the spec forbids it"},
		{"takeFenceBack", "restore", "a fence that a crash left behind refuses the writes of the old members, which continue"},
		{"forceNewCluster", "deleteStopped", "a member that was stopped for the survivor's sake stays stopped"},
		{"deleteStopped", "startMember", "the next Pod has the name of the one before"},
		{"startMember", "releaseMember", "members that have data start first"},
		{"releaseMember", "waitUntilHealthy", "a member that has been added waits for its Pod to start etcd"},
		{"promoteLearner", "addPrepared", "etcd accepts one learner at a time"},
		{"replaceLost", "addPrepared", "a member that is lost is replaced before another is added"},
		{"scaleDown", "addPrepared", "nothing is added to a cluster that shrinks"},
		{"addPrepared", "waitUntilHealthy", "a voter that serves and is not ready yet holds up no learner"},
		{"waitUntilHealthy", "prepareMembers", "no Pod is created ahead for a cluster that is not well"},
		{"prepareMembers", "scaleUp", "a member has its address before etcd adds it"},
		{"scaleUp", "rollMembers", "a member more makes a roll safer"},
		{"waitUntilHealthy", "deleteOldVolumes", "no volume is deleted before the cluster is well"},
		{"scaleUp", "deleteOldVolumes", "no volume is deleted before the cluster is at size"},
		{"rollMembers", "deleteOldVolumes", "old volumes are the last resort if an upgrade goes wrong"},
		{"waitForRemovedPods", "deleteOldVolumes", "a volume goes after its Pod"},
		{"waitUntilHealthy", "deleteSetAside", "the data from before is kept until the cluster is well"},
		{"waitForQuorum", "refusedOperator", "a refusal that leaves the operator blind is reported first"},
		{"renewCertificates", "certifyUsers", "certificates of users follow that of clients"},
		{"certifyUsers", "paused", "clients are refused when their certificates run out, also while the operator is paused"},
		{"waitForQuorum", "requestUsers", "what a cluster needs to serve comes before its users"},
		{"rollMembers", "switchUsers", "members trust a new CA before a user has a certificate of it"},
		{"switchUsers", "rotateCA", "no user has a certificate of a CA that is dropped"},
		{"handOutCA", "rotateCA", "others sign with the new CA before members trust it alone"},
		{"reportAccounts", "uncertifiedUsers", "a user matters more than its certificate"},
		{"waitForQuorum", "changeAccounts", "etcd changes no user without a quorum"},
		{"changeAccounts", "waitUntilHealthy", "a new user does not wait for the node of one member"},
		{"refusedOperator", "reportAccounts", "an operator that is refused changes no user either"},
		{"scaleUp", "refusedOperator", "what needs no permission of etcd is done before a person is asked"},
		{"refusedOperator", "invalidAuthSecret", "a refusal matters more than a Secret that etcd does not ask for yet"},
		{"deleteOldVolumes", "completeRestore", "a restore is complete when nothing of the old cluster is left"},
	}
	at := func(name string) int {
		return slices.Index(RuleNames(), name)
	}
	for _, pair := range pairs {
		if at(pair.first) < 0 || at(pair.second) < 0 || at(pair.first) > at(pair.second) {
			t.Errorf("%s must be asked before %s: %s", pair.first, pair.second, pair.because)
		}
	}
	for _, name := range RuleNames() {
		if !slices.ContainsFunc(pairs, func(p struct{ first, second, because string }) bool { return p.first == name || p.second == name }) && name != "addToService" {
			t.Errorf("rule %s stands where it stands for no reason", name)
		}
	}
}

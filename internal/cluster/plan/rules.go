package plan

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	rule  = planning.Rule[state.State, Step]
	group = planning.Group[state.State, Step]
)

// Rules are asked in order, and the first that returns a step wins. The order is part of the contract: a rule that
// must wait for another one stands after it. A heading occurs again if the order demands it.
var Rules = []group{
	{Name: "gates", Purpose: "What is being deleted is not touched.", Rules: []rule{
		{Name: "deleting", Decide: deleting},
	}},
	{Name: "protection", Purpose: "What protects data and needs no healthy cluster is done in every state.", Rules: []rule{
		{Name: "setRetention", Decide: setRetention},
		{Name: "requestGrowth", Decide: requestGrowth},
		{Name: "renewCertificates", Decide: renewCertificates},
	}},
	{Name: "gates", Purpose: "While one of these holds, no member is touched.", Rules: []rule{
		{Name: "paused", Decide: paused},
		{Name: "hibernate", Decide: hibernate},
		{Name: "refuseTLSChange", Decide: refuseTLSChange},
		{Name: "issueCertificates", Decide: issueCertificates},
		{Name: "missingSecrets", Decide: missingSecrets},
		{Name: "foreignMembers", Decide: foreignMembers},
		{Name: "refuseForeignServices", Decide: refuseForeignServices},
		{Name: "contradictedService", Decide: contradictedService},
	}},
	{Name: "surroundings", Purpose: "Members find each other, and clients find them, by Services.", Rules: []rule{
		{Name: "applyServices", Decide: applyServices},
		{Name: "restoreLabels", Decide: restoreLabels},
		{Name: "applyNetworkPolicy", Decide: applyNetworkPolicy},
	}},
	{Name: "quorum", Purpose: "A recovery from a lost quorum ends before anything else is done to members.", Rules: []rule{
		{Name: "forceNewCluster", Decide: forceNewCluster},
		{Name: "takeFenceBack", Decide: takeFenceBack},
	}},
	{Name: "surroundings", Purpose: "Objects around the members are kept current while the members run.", Rules: []rule{
		{Name: "loadCertificates", Decide: loadCertificates},
		{Name: "applyBudget", Decide: applyBudget},
		{Name: "refuseWrites", Decide: refuseWrites},
	}},
	{Name: "start", Purpose: "Members that should run do run, with their data.", Rules: []rule{
		{Name: "recreateBlocked", Decide: recreateBlocked},
		{Name: "restartForFileSystem", Decide: restartForFileSystem},
		{Name: "removeFailedSeed", Decide: removeFailedSeed},
		{Name: "deleteStopped", Decide: deleteStopped},
		{Name: "startMember", Decide: startMember},
		{Name: "releaseMember", Decide: releaseMember},
	}},
	{Name: "birth", Purpose: "A cluster starts from a snapshot, or empty, and only once.", Rules: []rule{
		{Name: "restore", Decide: restore},
		{Name: "waitForRestore", Decide: waitForRestore},
		{Name: "bootstrap", Decide: bootstrap},
	}},
	{Name: "quorum", Purpose: "Without a quorum etcd changes nothing, and no rule below is asked.", Rules: []rule{
		{Name: "restartForNewCA", Decide: restartForNewCA},
		{Name: "waitForQuorum", Decide: waitForQuorum},
	}},
	{Name: "members", Purpose: "Healthy members vote and serve clients.", Rules: []rule{
		{Name: "addToService", Decide: addToService},
		{Name: "fenceMembers", Decide: fenceMembers},
		{Name: "forbidEmptyStart", Decide: forbidEmptyStart},
		{Name: "unmarkVolumes", Decide: unmarkVolumes},
		{Name: "relabelPods", Decide: relabelPods},
		{Name: "applyMetadata", Decide: applyMetadata},
		{Name: "cancelDowngrade", Decide: cancelDowngrade},
		{Name: "giveUpLearner", Decide: giveUpLearner},
		{Name: "promoteLearner", Decide: promoteLearner},
		{Name: "removeForeignMember", Decide: removeForeignMember},
	}},
	{Name: "repair", Purpose: "Members with wrong or lost data are replaced.", Rules: []rule{
		{Name: "corruptAlarm", Decide: corruptAlarm},
		{Name: "removeOrphanPods", Decide: removeOrphanPods},
		{Name: "setAsideOther", Decide: setAsideOther},
		{Name: "replaceLost", Decide: replaceLost},
		{Name: "peersRefuseCertificate", Decide: peersRefuseCertificate},
	}},
	{Name: "shape", Purpose: "A surplus member is removed before others are repaired: it may be the unhealthy one. A prepared member is added when all serve.", Rules: []rule{
		{Name: "scaleDown", Decide: scaleDown},
		{Name: "addPrepared", Decide: addPrepared},
	}},
	{Name: "repair", Purpose: "Members that do not serve are repaired or replaced. No rule below is asked until all serve.", Rules: []rule{
		{Name: "replaceDead", Decide: replaceDead},
		{Name: "recreateUnhealthy", Decide: recreateUnhealthy},
		{Name: "waitUntilHealthy", Decide: waitUntilHealthy},
	}},
	{Name: "shape", Purpose: "The cluster has as many members as its spec asks for.", Rules: []rule{
		{Name: "prepareMembers", Decide: prepareMembers},
		{Name: "scaleUp", Decide: scaleUp},
	}},
	{Name: "repair", Purpose: "The cluster takes writes again after its space quota was used up.", Rules: []rule{
		{Name: "reclaimSpace", Decide: reclaimSpace},
	}},
	{Name: "roll", Purpose: "Members are brought to what the spec asks for, one at a time.", Rules: []rule{
		{Name: "resizePods", Decide: resizePods},
		{Name: "prepareVersionChange", Decide: prepareVersionChange},
		{Name: "rollMembers", Decide: rollMembers},
		{Name: "rotateCA", Decide: rotateCA},
	}},
	{Name: "tidy", Purpose: "Objects that are proven not to be needed are removed, and finished operations are recorded.", Rules: []rule{
		{Name: "waitForRemovedPods", Decide: waitForRemovedPods},
		{Name: "deleteOldVolumes", Decide: deleteOldVolumes},
		{Name: "deleteSetAside", Decide: deleteSetAside},
		{Name: "completeRestore", Decide: completeRestore},
		{Name: "completeRecovery", Decide: completeRecovery},
		{Name: "defragment", Decide: defragment},
		{Name: "moveLeaderAsked", Decide: moveLeaderAsked},
	}},
	{Name: "advice", Purpose: "The cluster is healthy, and a person should know why certificates are not renewed.", Rules: []rule{
		{Name: "reportClock", Decide: reportClock},
		{Name: "unissuedCertificates", Decide: unissuedCertificates},
	}},
	{Name: "shape", Purpose: "Volumes have become as large as the spec asks for.", Rules: []rule{
		{Name: "growVolumes", Decide: growVolumes},
	}},
	{Name: "advice", Purpose: "The cluster is healthy, and a person should correct something.", Rules: []rule{
		{Name: "refusedOperator", Decide: refusedOperator},
		{Name: "readOnlyNotSupported", Decide: readOnlyNotSupported},
		{Name: "invalidAuthSecret", Decide: invalidAuthSecret},
		{Name: "reportUnreadableRestore", Decide: reportUnreadableRestore},
		{Name: "adviseOfPeerName", Decide: adviseOfPeerName},
		{Name: "adviseOfClientName", Decide: adviseOfClientName},
		{Name: "adviseOfIssuer", Decide: adviseOfIssuer},
		{Name: "reportNetworkPolicy", Decide: reportNetworkPolicy},
		{Name: "reportForeignObjects", Decide: reportForeignObjects},
		{Name: "reportForeignMembers", Decide: reportForeignMembers},
		{Name: "reportRefused", Decide: reportRefused},
		{Name: "reportDroppedSetting", Decide: reportDroppedSetting},
		{Name: "outOfSpace", Decide: outOfSpace},
		{Name: "quotaTooSmall", Decide: quotaTooSmall},
		{Name: "volumeTemplateRefused", Decide: volumeTemplateRefused},
		{Name: "reportHeldPods", Decide: reportHeldPods},
		{Name: "adviseOfPod", Decide: adviseOfPod},
		{Name: "invalidSchedule", Decide: invalidSchedule},
		{Name: "warnOfFullVolumes", Decide: warnOfFullVolumes},
		{Name: "ignoredSettings", Decide: ignoredSettings},
		{Name: "adviseVersion", Decide: adviseVersion},
		{Name: "reportReadOnly", Decide: reportReadOnly},
	}},
}

// Plan returns the next step. It is pure: the same State gives the same Step.
func Plan(s state.State) Step {
	step, _ := Choose(s)
	return step
}

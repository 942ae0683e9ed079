package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/accounts"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/space"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/versions"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	rule  = planning.Rule[state.State, steps.Step]
	group = planning.Group[state.State, steps.Step]
)

// Rules are asked in order, and the first that returns a step wins. The order is part of the contract: a rule that
// must wait for another one stands after it. A heading occurs again if the order demands it.
var Rules = []group{
	{Name: "gates", Purpose: "What is being deleted is not touched.", Rules: []rule{
		{Name: "deleting", Decide: modes.Deleting},
	}},
	{Name: "protection", Purpose: "What protects data and needs no healthy cluster is done in every state.", Rules: []rule{
		{Name: "setRetention", Decide: volumes.SetRetention},
		{Name: "requestGrowth", Decide: volumes.RequestGrowth},
		{Name: "renewCertificates", Decide: certificates.RenewCertificates},
		{Name: "certifyUsers", Decide: certificates.CertifyUsers},
	}},
	{Name: "gates", Purpose: "While one of these holds, no member is touched.", Rules: []rule{
		{Name: "paused", Decide: modes.Paused},
		{Name: "hibernate", Decide: modes.Hibernate},
		{Name: "refuseTLSChange", Decide: certificates.RefuseTLSChange},
		{Name: "issueCertificates", Decide: certificates.IssueCertificates},
		{Name: "missingSecrets", Decide: modes.MissingSecrets},
		{Name: "foreignMembers", Decide: waits.ForeignMembers},
		{Name: "refuseForeignServices", Decide: services.RefuseForeignServices},
		{Name: "contradictedService", Decide: services.ContradictedService},
	}},
	{Name: "surroundings", Purpose: "Members find each other, and clients find them, by Services.", Rules: []rule{
		{Name: "applyServices", Decide: services.ApplyServices},
		{Name: "restoreLabels", Decide: services.RestoreLabels},
		{Name: "applyNetworkPolicy", Decide: services.ApplyNetworkPolicy},
	}},
	{Name: "quorum", Purpose: "A recovery from a lost quorum ends before anything else is done to members.", Rules: []rule{
		{Name: "forceNewCluster", Decide: recovery.ForceNewCluster},
		{Name: "takeFenceBack", Decide: restore.TakeFenceBack},
	}},
	{Name: "surroundings", Purpose: "Objects around the members are kept current while the members run.", Rules: []rule{
		{Name: "loadCertificates", Decide: certificates.LoadCertificates},
		{Name: "applyBudget", Decide: services.ApplyBudget},
		{Name: "refuseWrites", Decide: modes.RefuseWrites},
	}},
	{Name: "start", Purpose: "Members that should run do run, with their data.", Rules: []rule{
		{Name: "recreateBlocked", Decide: lifecycle.RecreateBlocked},
		{Name: "restartForFileSystem", Decide: volumes.RestartForFileSystem},
		{Name: "removeFailedSeed", Decide: restore.RemoveFailedSeed},
		{Name: "deleteStopped", Decide: lifecycle.DeleteStopped},
		{Name: "startMember", Decide: membership.StartMember},
		{Name: "releaseMember", Decide: membership.ReleaseMember},
	}},
	{Name: "birth", Purpose: "A cluster starts from a snapshot, or empty, and only once.", Rules: []rule{
		{Name: "restore", Decide: restore.Restore},
		{Name: "waitForRestore", Decide: membership.WaitForRestore},
		{Name: "bootstrap", Decide: membership.Bootstrap},
	}},
	{Name: "quorum", Purpose: "Without a quorum etcd changes nothing, and no rule below is asked.", Rules: []rule{
		{Name: "restartForNewCA", Decide: certificates.RestartForNewCA},
		{Name: "waitForQuorum", Decide: recovery.WaitForQuorum},
	}},
	{Name: "members", Purpose: "Healthy members vote and serve clients.", Rules: []rule{
		{Name: "addToService", Decide: services.AddToService},
		{Name: "fenceMembers", Decide: services.FenceMembers},
		{Name: "forbidEmptyStart", Decide: recovery.ForbidEmptyStart},
		{Name: "unmarkVolumes", Decide: recovery.UnmarkVolumes},
		{Name: "relabelPods", Decide: services.RelabelPods},
		{Name: "applyMetadata", Decide: services.ApplyMetadata},
		{Name: "cancelDowngrade", Decide: versions.CancelDowngrade},
		{Name: "giveUpLearner", Decide: membership.GiveUpLearner},
		{Name: "promoteLearner", Decide: membership.PromoteLearner},
		{Name: "removeForeignMember", Decide: membership.RemoveForeignMember},
		{Name: "changeAccounts", Decide: accounts.Change},
		{Name: "requestUsers", Decide: certificates.RequestUsers},
	}},
	{Name: "repair", Purpose: "Members with wrong or lost data are replaced.", Rules: []rule{
		{Name: "corruptAlarm", Decide: repair.CorruptAlarm},
		{Name: "removeOrphanPods", Decide: membership.RemoveOrphanPods},
		{Name: "setAsideOther", Decide: volumes.SetAsideOther},
		{Name: "replaceLost", Decide: repair.ReplaceLost},
		{Name: "peersRefuseCertificate", Decide: certificates.PeersRefuseCertificate},
	}},
	{Name: "shape", Purpose: "A surplus member is removed before others are repaired: it may be the unhealthy one. A prepared member is added when all serve.", Rules: []rule{
		{Name: "scaleDown", Decide: membership.ScaleDown},
		{Name: "addPrepared", Decide: membership.AddPrepared},
	}},
	{Name: "repair", Purpose: "Members that do not serve are repaired or replaced. No rule below is asked until all serve.", Rules: []rule{
		{Name: "replaceDead", Decide: repair.ReplaceDead},
		{Name: "recreateUnhealthy", Decide: versions.RecreateUnhealthy},
		{Name: "waitUntilHealthy", Decide: repair.WaitUntilHealthy},
	}},
	{Name: "shape", Purpose: "The cluster has as many members as its spec asks for.", Rules: []rule{
		{Name: "prepareMembers", Decide: membership.PrepareMembers},
		{Name: "scaleUp", Decide: membership.ScaleUp},
	}},
	{Name: "repair", Purpose: "The cluster takes writes again after its space quota was used up.", Rules: []rule{
		{Name: "reclaimSpace", Decide: waits.ReclaimSpace},
	}},
	{Name: "roll", Purpose: "Members are brought to what the spec asks for, one at a time.", Rules: []rule{
		{Name: "resizePods", Decide: lifecycle.ResizePods},
		{Name: "prepareVersionChange", Decide: versions.PrepareVersionChange},
		{Name: "rollMembers", Decide: versions.RollMembers},
		{Name: "handOutCA", Decide: certificates.HandOutCA},
		{Name: "switchUsers", Decide: certificates.SwitchUsers},
		{Name: "rotateCA", Decide: certificates.RotateCA},
	}},
	{Name: "tidy", Purpose: "Objects that are proven not to be needed are removed, and finished operations are recorded.", Rules: []rule{
		{Name: "waitForRemovedPods", Decide: membership.WaitForRemovedPods},
		{Name: "deleteOldVolumes", Decide: membership.DeleteOldVolumes},
		{Name: "deleteSetAside", Decide: volumes.DeleteSetAside},
		{Name: "completeRestore", Decide: restore.CompleteRestore},
		{Name: "completeRecovery", Decide: recovery.CompleteRecovery},
		{Name: "defragment", Decide: space.Defragment},
		{Name: "moveLeaderAsked", Decide: services.MoveLeaderAsked},
	}},
	{Name: "advice", Purpose: "The cluster is healthy, and a person should know why certificates are not renewed.", Rules: []rule{
		{Name: "reportClock", Decide: certificates.ReportClock},
		{Name: "unissuedCertificates", Decide: certificates.UnissuedCertificates},
	}},
	{Name: "shape", Purpose: "Volumes have become as large as the spec asks for.", Rules: []rule{
		{Name: "growVolumes", Decide: volumes.GrowVolumes},
	}},
	{Name: "advice", Purpose: "The cluster is healthy, and a person should correct something.", Rules: []rule{
		{Name: "refusedOperator", Decide: certificates.RefusedOperator},
		{Name: "readOnlyNotSupported", Decide: modes.ReadOnlyNotSupported},
		{Name: "invalidAuthSecret", Decide: certificates.InvalidAuthSecret},
		{Name: "reportAccounts", Decide: accounts.Report},
		{Name: "uncertifiedUsers", Decide: certificates.UncertifiedUsers},
		{Name: "reportUnreadableRestore", Decide: waits.ReportUnreadableRestore},
		{Name: "adviseOfPeerName", Decide: certificates.AdviseOfPeerName},
		{Name: "adviseOfClientName", Decide: certificates.AdviseOfClientName},
		{Name: "adviseOfIssuer", Decide: certificates.AdviseOfIssuer},
		{Name: "reportNetworkPolicy", Decide: services.ReportNetworkPolicy},
		{Name: "reportForeignObjects", Decide: services.ReportForeignObjects},
		{Name: "reportForeignMembers", Decide: membership.ReportForeignMembers},
		{Name: "reportRefused", Decide: services.ReportRefused},
		{Name: "reportDroppedSetting", Decide: services.ReportDroppedSetting},
		{Name: "outOfSpace", Decide: space.OutOfSpace},
		{Name: "quotaTooSmall", Decide: space.QuotaTooSmall},
		{Name: "volumeTemplateRefused", Decide: volumes.VolumeTemplateRefused},
		{Name: "reportHeldPods", Decide: lifecycle.ReportHeldPods},
		{Name: "adviseOfPod", Decide: lifecycle.AdviseOfPod},
		{Name: "invalidSchedule", Decide: space.InvalidSchedule},
		{Name: "warnOfFullVolumes", Decide: volumes.WarnOfFullVolumes},
		{Name: "ignoredSettings", Decide: versions.IgnoredSettings},
		{Name: "adviseVersion", Decide: versions.AdviseVersion},
		{Name: "reportReadOnly", Decide: modes.ReportReadOnly},
	}},
}

// Events are those that a pass publishes. A step that was carried out is announced each time. What is only waited for,
// and an error, is announced when the status changed with it.
func Events(s state.State, step steps.Step, actErr error, statusChanged bool) []planning.Event {
	events := steps.Describe(s, step).Events
	if statusChanged {
		events = append(services.Corrections(s), events...)
	}
	if actErr != nil {
		if !statusChanged {
			return nil
		}
		failed := planning.Event{Type: corev1.EventTypeWarning, Reason: v1beta2.ReasonReconcileError, Action: "Reconcile", Note: actErr.Error()}
		if len(events) > 0 {
			failed.About = events[0].About
		}
		return []planning.Event{failed}
	}
	switch step.(type) {
	case steps.Wait, steps.VolumeMayFill, steps.Advice:
		if !statusChanged {
			return nil
		}
	}
	return events
}

// RequeueConflict gives the cache time to catch up. It doubles with each pass that finds the cache behind.
const RequeueConflict = 20 * time.Millisecond

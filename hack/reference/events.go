package main

import (
	"fmt"
	"slices"
)

// meanings of the reasons of events that are no reasons of conditions.
var meanings = map[string]string{
	"AddingMember":           "The operator adds a member to the membership.",
	"ChangesLost":            "etcd was compacted before its changes were archived, so they cannot be restored.",
	"ClusterFormed":          "The first members of a new cluster have formed a quorum.",
	"CompactingHistory":      "The operator compacts old revisions, because a member has used up its space quota.",
	"CopyFailed":             "A snapshot could not be copied to the second location.",
	"CreatingMembers":        "The operator creates the first members of a new cluster.",
	"CreatingVolumes":        "The operator creates volumes of members.",
	"DefragmentationLeftOut": "A scheduled defragmentation is not carried out this time.",
	"DefragmentingMember":    "The operator defragments a member.",
	"DeletingVolume":         "The operator deletes a volume that is not needed any more.",
	"DisarmingAlarm":         "The operator disarms an alarm whose cause is removed.",
	"DowngradeCancelled":     "The operator cancels a downgrade in etcd.",
	"ArchiveDisproven":       "An earlier snapshot, rolled forward with the continuous archive, differs from a later one, or the archive is damaged.",
	"ArchiveProven":          "An earlier snapshot, rolled forward with the continuous archive, is equal to a later one.",
	"DrillFailed":            "A restore test of a snapshot failed.",
	"DrillPassed":            "A restore test of a snapshot passed.",
	"Expired":                "A finished EtcdBackup is deleted after ttlSecondsAfterFinished.",
	"FencingWrites":          "Before a restore switches, etcd refuses writes to the old members.",
	"SwitchoverCalledOff":    "A switchover was called off, and the cluster takes writes again.",
	"SwitchoverPromoted":     "A standby has become the cluster. The source takes no writes any more.",
	"SwitchoverReady":        "The cluster refuses writes, and its archive has all of them, so that a standby can be promoted.",
	"SwitchoverStarted":      "The cluster hands its clients over to a standby, and the operator stops its writes.",
	"UnfencingWrites":        "The members take writes again, because no restore needs their fence any more.",
	"FencingMember":          "The operator takes a member out of the client Service, because an annotation asks for it.",
	"FinalSnapshotMissed":    "The last snapshot before the deletion of an EtcdBackup could not be taken.",
	"ForgettingAuthority":    "The operator removes a replaced CA from the Secrets of members.",
	"ForgettingPod":          "The operator deletes by force the Pod of a member that was removed, because its node does not confirm that the Pod stopped.",
	"GrowingVolume":          "The operator requests a larger volume.",
	"HandingOutAuthority":    "The operator writes tls.crt and tls.key of the Secret with the CA, from which others sign certificates of clients.",
	"KeepingVolume":          "The operator marks a volume so that it outlives the EtcdCluster.",
	"LogEntriesLeftOut":      "A restore from a volume leaves out entries at the end of the write-ahead log, because no record says that a quorum has them.",
	"MakingAuthority":        "The operator creates the CA of a cluster.",
	"MovingLeader":           "The operator moves the leadership to another member.",
	"NoQuorum":               "A snapshot was taken from a member without a quorum.",
	"PreparingVersionChange": "The operator prepares the data of the members for another version of etcd.",
	"RecoveryCancelled":      "A recovery from a lost quorum is cancelled, because quorum is back.",
	"RecoveryComplete":       "A recovery from a lost quorum is complete.",
	"RecoveryForced":         "The survivor of a lost quorum serves alone.",
	"RecoveryStarted":        "A recovery from a lost quorum starts.",
	"RemoveFailed":           "Old snapshots could not be deleted.",
	"RemovingForeignMember":  "The operator removes a member that it did not add, because the user consents.",
	"RemovingMember":         "The operator removes a member from the membership.",
	"ReplacingAuthority":     "The operator replaces the CA of a cluster.",
	"RestoreComplete":        "The restored cluster serves at its full size.",
	"RestoreFailed":          "A restore failed, and the old members serve as before.",
	"RestoreSeedingAgain":    "A restore was held up before its switch, so the operator checks the restored member and the safety snapshot again.",
	"RestoreStarted":         "The cluster has begun a restore.",
	"RestoreSwitched":        "Clients are served by the restored cluster.",
	"RestoreSwitching":       "The old members refuse writes or stop, and the client Service changes to the restored member.",
	"RestoringLabels":        "The operator sets labels again that were removed from a Pod or volume.",
	"SafetySnapshotNotTaken": "A restore continues without a safety snapshot.",
	"SafetySnapshotTaken":    "The data that a restore replaces is saved.",
	"StandbyPromoting":       "A standby becomes the cluster, because its EtcdRestore asks for that.",
	"SignedURLNotRenewed":    "The signed URL of a snapshot could not be renewed.",
	"SignedURLRevoked":       "The operator deleted the signed URL of a snapshot, because its namespace may not use the operator's own identity there any more.",
	"SnapshotTaken":          "A snapshot is stored and verified.",
	"SnapshotsLeft":          "Snapshots of a deleted EtcdBackup are left in the store.",
	"SnapshotsRemoved":       "Old snapshots are deleted.",
	"StartingMember":         "The operator creates the Pod of a member.",
	"StoppingMember":         "The operator deletes the Pod of a member.",
	"TimelineBegun":          "The archive begins a new history, because the cluster was restored, recovered or replaced.",
	"VersionChangePrepared":  "The data of the members is ready for another version of etcd.",
	"VolumeRead":             "The seed of a restore has read the data directory on a volume.",
	"WithdrawingLearner":     "The operator takes a new member out of the client Service, because it does not vote yet.",
	"WritingCertificates":    "The operator writes certificates into Secrets.",
}

// eventRows fails if an event has no meaning, or a meaning has no event.
func eventRows(root string) ([][]string, error) {
	found, err := events(root)
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"event", "meaning"}}
	for _, reason := range found {
		if meanings[reason] == "" {
			return nil, fmt.Errorf("the event %s has no meaning in hack/reference/events.go", reason)
		}
		rows = append(rows, []string{code(reason), meanings[reason]})
	}
	for reason := range meanings {
		if !slices.Contains(found, reason) {
			return nil, fmt.Errorf("no operator publishes the event %s of hack/reference/events.go", reason)
		}
	}
	return rows, nil
}

// Package faults lists the faults that tests of real clusters cause, and checks what kubectl etcd status shows of each: the cause in
// the first line, and the remedy in the third. The page docs/kubectl-etcd.md shows what was recorded in such tests.
// A fault without a record is checked in each run, and is not on the page yet.
package faults

import "slices"

// A Fault is one that a test causes in a real cluster.
type Fault struct {
	// Name is that of its record in testdata.
	Name string
	// What has happened, as a sentence.
	What string
	// Test is the name of the test that causes it.
	Test string
	// Package is the folder of that test, relative to test.
	Package string
}

// All are the faults of both packages, in the order of the page.
var All = slices.Concat(in("e2e", e2e), in("integration/killer", killer))

func in(folder string, all []Fault) []Fault {
	for i := range all {
		all[i].Package = folder
	}
	return all
}

// The tests of test/e2e have all of Kubernetes, with nodes, and the installed chart.
var e2e = []Fault{
	{Name: "image-missing", What: "The registry has no image of the version in the spec.", Test: "TestMissingImageIsReportedAndAnotherVersionFixesIt"},
	{Name: "registry-unreachable", What: "Admission names a registry that no node can reach.", Test: longFaults},
	{Name: "no-node-fits", What: "No node has the labels that the spec asks for.", Test: longFaults},
	{Name: "quota-of-pods", What: "A ResourceQuota allows no further Pod.", Test: longFaults},
	{Name: "user-missing", What: "The Secret with the operator's user is missing.", Test: longFaults},
	{Name: "network-blocked", What: "The network drops what the operator sends to the members.", Test: longFaults},
	{Name: "node-lost", What: "A node is switched off.", Test: longFaults},
	{Name: "all-volumes-lost", What: "The volumes of all members are deleted.", Test: "TestRestoreBringsBackAClusterThatLostAllVolumes"},
	{Name: "operators-uninstalled", What: "The suite is uninstalled, and then the spec is changed.", Test: "TestClustersServeWhileTheSuiteIsUninstalledAndReinstalled"},
	{Name: "issuer-missing", What: "The Issuer of cert-manager is missing.", Test: "TestClientsKeepWorkingWhileCertManagerRenewsCertificates"},
	{Name: "tls-changed", What: "TLS is turned on while the first members start.", Test: "TestDeletedClusterLeavesNoObjectsBehind"},
	{Name: "class-without-expansion", What: "The StorageClass does not allow larger volumes.", Test: "TestNoKeyIsLostWhenAClusterFreesSpaceRevertsAScaleAndHibernates"},
	{Name: "version-set-back", What: "The version is set back by two minor versions.", Test: "TestClusterServesDuringEveryUpgradeAndPodChange"},
	{Name: "version-set-back-without-volumes", What: "The minor version is set back, and the members have no volumes.", Test: "TestMembersWithoutVolumesAreReplacedOnEveryChangeWithoutDataLoss"},
	{Name: "object-exists", What: "The path of a backup has an object already.", Test: "TestOneShotBackupsNeverOverwriteAnObject"},
	{Name: "key-of-snapshot-missing", What: "The Secret of a restore lacks the key that decrypts the snapshot.", Test: "TestSnapshotsFromEveryStoreAndEncodingCanBeRestored"},
}

// The tests of test/integration/killer have real operators, a real kube-apiserver and real members. They have no nodes.
var killer = []Fault{
	{Name: "quorum-lost", What: "The volumes of two of three members are lost.", Test: "TestPodChangesAndQuorumRecoverySucceedIfTheOperatorIsKilledAtEveryCall"},
	{Name: "member-hangs", What: "A member hangs.", Test: membersFaults},
	{Name: "quorum-hangs", What: "Two of three members hang.", Test: membersFaults},
	{Name: "etcd-option-wrong", What: "The spec has an option that etcd does not accept.", Test: membersFaults},
	{Name: "minor-version-skipped", What: "The spec skips a minor version.", Test: membersFaults},
	{Name: "quorum-fenced", What: "An annotation asks to fence two of three members.", Test: membersFaults},
	{Name: "paused", What: "The cluster is paused, and a member is lost.", Test: membersFaults},
	{Name: "hibernated", What: "The cluster hibernates, and it has a continuous archive.", Test: "TestAnArchiveGoesOnWhenItsClusterIsHibernatedOrUpgraded"},
	{Name: "disks-full", What: "The disks of all members are full.", Test: "TestFullDisksGrowThroughTheSpecWithoutLosingAWrite"},
	{Name: "driver-without-space", What: "The driver of the volumes has not enough space for larger ones.", Test: "TestDefragmentationExpansionAndRepairSucceedIfTheOperatorIsKilledAtEveryCall"},
	{Name: "quota-used-up-by-keys", What: "The keys need more space than the quota of etcd.", Test: "TestFullClusterAcceptsWritesAgainWithoutDataLoss"},
	{Name: "certificates-missing", What: "The Secrets with all certificates are missing.", Test: "TestAFaultThatLastsCausesFewWritesAndRestartsNobody"},
	{Name: "pod-refused", What: "The priority class of the Pods does not exist.", Test: "TestAFaultThatLastsCausesFewWritesAndRestartsNobody"},
	{Name: "quota-without-budgets", What: "A ResourceQuota allows no PodDisruptionBudget.", Test: "TestAFaultThatLastsCausesFewWritesAndRestartsNobody"},
	{Name: "service-not-ours", What: "A Service of the same name exists.", Test: "TestNoClusterIsBornBesideTheMembersOfAnEarlierOne"},
	{Name: "members-not-ours", What: "Members of an earlier cluster of the same name exist.", Test: "TestNoClusterIsBornBesideTheMembersOfAnEarlierOne"},
	{Name: "foreign-member", What: "Somebody added a learner by etcdctl.", Test: "TestForeignMembersAreReportedAndRemovedOnlyByConsent"},
	{Name: "foreign-voter", What: "Somebody added a voter by etcdctl.", Test: "TestForeignMembersAreReportedAndRemovedOnlyByConsent"},
	{Name: "operator-without-user", What: "Authentication was turned on in etcd 3.5, and the operator has no user.", Test: "TestEveryOperationWorksWithAuthenticationOn"},
	{Name: "password-wrong", What: "The Secret has the wrong password of the operator's user.", Test: "TestEveryOperationWorksWithAuthenticationOn"},
	{Name: "bucket-missing", What: "The bucket of a backup does not exist.", Test: workFaults},
	{Name: "credentials-missing", What: "The Secret with the credentials of the store is missing.", Test: workFaults},
	{Name: "credentials-wrong", What: "The store refuses the credentials of a backup.", Test: workFaults},
	{Name: "store-down", What: "The store does not answer.", Test: workFaults},
	{Name: "path-without-key", What: "The path of a backup has a bucket only.", Test: workFaults},
	{Name: "archive-without-bucket", What: "The bucket of a continuous archive is deleted.", Test: workFaults},
	{Name: "snapshot-missing", What: "The snapshot of a restore does not exist.", Test: workFaults},
	{Name: "snapshot-damaged", What: "One bit of the snapshot is flipped.", Test: workFaults},
	{Name: "snapshot-too-new", What: "The snapshot is of a newer minor version of etcd.", Test: workFaults},
	{Name: "snapshots-of-two-clusters", What: "The folder of a restore has snapshots of two clusters.", Test: workFaults},
	{Name: "cluster-replaced", What: "A restore names another cluster ID than the present one.", Test: workFaults},
	{Name: "snapshot-gone", What: "The snapshot is deleted after it was verified.", Test: "TestRestoreCompletesOrChangesNothingIfTheOperatorsAreKilledAtEveryCall"},
	{Name: "snapshot-with-users", What: "A snapshot is restored that has another password.", Test: "TestEveryOperationWorksWithAuthenticationOn"},
	{Name: "restore-repeated", What: "An EtcdRestore that was carried out is applied again.", Test: "TestRestoresAreRepeatedOnlyWithConsent"},
}

const (
	longFaults    = "TestLongFaultsCauseAtMostOneWriteAMinute"
	membersFaults = "TestStatusNamesWhyMembersDoNotServe"
	workFaults    = "TestStatusNamesWhyBackupsAndRestoresFail"
)

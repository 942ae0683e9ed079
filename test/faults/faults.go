// Package faults lists the faults that tests of real clusters cause, and checks what kubectl etcd status shows of each: the cause in
// the first line, and the remedy in the third. The page docs/kubectl-etcd.md shows what was recorded in such tests.
// A fault without a record is checked in each run, and is not on the page yet.
package faults

// A Fault is one that a test causes in a real cluster.
type Fault struct {
	// Name is that of its record in testdata.
	Name string
	// What has happened, as a sentence.
	What string
	// Test is the name of the test that causes it, in the package that belongs to the list.
	Test string
}

// All are the faults of test/integration/killer: real operators, a real kube-apiserver and real members, without nodes.
var All = []Fault{
	{"certificates-missing", "The Secrets with all certificates are missing.", "TestAFaultThatLastsCausesFewWritesAndRestartsNobody"},
	{"pod-refused", "The priority class of the Pods does not exist.", "TestAFaultThatLastsCausesFewWritesAndRestartsNobody"},
	{"quota-without-budgets", "A ResourceQuota allows no PodDisruptionBudget.", "TestAFaultThatLastsCausesFewWritesAndRestartsNobody"},
	{"service-not-ours", "A Service of the same name exists.", "TestNoClusterIsBornBesideTheMembersOfAnEarlierOne"},
	{"members-not-ours", "Members of an earlier cluster of the same name exist.", "TestNoClusterIsBornBesideTheMembersOfAnEarlierOne"},
	{"foreign-member", "Somebody added a learner by etcdctl.", "TestForeignMembersAreReportedAndRemovedOnlyByConsent"},
	{"foreign-voter", "Somebody added a voter by etcdctl.", "TestForeignMembersAreReportedAndRemovedOnlyByConsent"},
	{"quota-used-up-by-keys", "The keys need more space than the quota of etcd.", "TestFullClusterAcceptsWritesAgainWithoutDataLoss"},
	{"operator-without-user", "Authentication was turned on in etcd 3.5, and the operator has no user.", "TestEveryOperationWorksWithAuthenticationOn"},
	{"password-wrong", "The Secret has the wrong password of the operator's user.", "TestEveryOperationWorksWithAuthenticationOn"},
	{"snapshot-with-users", "A snapshot is restored that has another password.", "TestEveryOperationWorksWithAuthenticationOn"},
	{"restore-repeated", "An EtcdRestore that was carried out is applied again.", "TestRestoresAreRepeatedOnlyWithConsent"},
}

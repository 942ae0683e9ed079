// Package upgrade upgrades the installed suite from an earlier commit to the working tree, rolls it back with Helm, and upgrades it again.
// Meanwhile objects of all three kinds are in each state that lasts, such as a restore that has switched and cannot grow. No member may
// restart, and each object must go on: with the new operators, with the old ones after the rollback, and with the new ones again.
//
// A state is held by a real cause: nodes without the label that new members ask for, an image that no node has, a peer that does not
// exist. At the end the test removes the causes. Then each object must become Ready or Complete, with all acknowledged writes.
//
// The test starts a fresh local Kubernetes. It needs TEST_BIN, which make e2e-upgrade sets. UPGRADE_FROM names the earlier commit. To add a
// state, add it to the list in states_test.go.
package upgrade

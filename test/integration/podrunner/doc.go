// Package podrunner stands in for scheduler, volume provisioner, kubelet and cluster DNS on a kube-apiserver that has
// none of them (kubetest). It takes the Pods of one namespace and keeps the rules that operators rely on:
//
//   - a Pod is placed when its claims are there; a claim's directory stays as long as the claim, and goes with it;
//     a claim that is deleted stays while a Pod uses it; one that asks for more than it has waits for a driver, as
//     which no more than a test can act
//   - every Pod has an address of its own on the loopback interface, and its name in the headless Service resolves to
//     that address, and to nothing when the Pod is gone
//   - a Secret that a container mounts is read when it starts, and again when the Pod changes; who connects from the
//     loopback interface is taken for a Pod of the same Service, as certificates of members ask
//   - init containers run to their end one after another, containers start anew when they end, later each time
//   - a container is Ready when its probe says so; probes are asked ten times as often, and liveness is not
//   - a Pod that is deleted is asked to stop, killed after its grace period, and gone when its processes are
//
// Containers are real processes of the image's version, in a mount namespace and a root directory of their own;
// that takes root. A package that runs Pods says so before anything else:
//
//	func TestMain(m *testing.M) { podrunner.Init(); kubetest.Main(m) }
package podrunner

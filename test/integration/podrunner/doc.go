// Package podrunner replaces the scheduler, volume provisioner, kubelet and cluster DNS on a kube-apiserver without them
// (kubetest). It runs the Pods of one namespace and keeps the rules on which operators rely:
//
//   - A Pod is scheduled when its claims exist. A claim's directory is deleted with the claim. A deleted claim is kept
//     while a Pod uses it. If a claim requests more than its capacity, only a test can expand it, as the driver.
//   - Every Pod has its own loopback address. Its name in the headless Service resolves to that address until the Pod
//     is deleted.
//   - A mounted Secret is read when the container starts and when the Pod changes. Connections from the loopback
//     interface count as connections from a Pod of the same Service, because members verify that by certificate.
//   - Init containers run one after another. A container that ends is restarted with a growing delay.
//   - A container is Ready when its readiness probe succeeds. Probes run ten times as often as specified; liveness
//     probes do not run.
//   - A deleted Pod receives SIGTERM, and SIGKILL after its grace period. It is removed when its processes have ended.
//
// Containers are real processes of the image's version. Each has its own mount namespace and root directory, which needs
// root. A package that runs Pods calls Init first:
//
//	func TestMain(m *testing.M) { podrunner.Init(); kubetest.Main(m) }
package podrunner

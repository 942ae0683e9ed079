package archive_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// The flags of the campaign. make campaign sets them.
var (
	campaign = flag.Duration("archive.campaign", 15*time.Second, "how long the workload of each round of the campaign runs at least")
	rounds   = flag.Int("archive.rounds", 1, "the number of rounds of the campaign for each version of etcd")
	minors   = flag.String("archive.minors", "3.6", "the versions of etcd in the campaign, separated by commas")
	patient  = flag.Bool("archive.patient", false, "wait for the end of the Lease of some killed leaders")
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == followCommand {
		if err := follow(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == seedCommand {
		err := runSeed(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(seeder.Code(err))
	}
	kubetest.Main(m)
}

// TestKilledReplicasOfBackupOperatorLoseNothing kills the real program at random moments while it archives to an S3 server that
// fails at random. Restores find and replay what is left with the product's code.
func TestKilledReplicasOfBackupOperatorLoseNothing(t *testing.T) {
	program := fleet.Build(t, "backup-operator")
	for round := range *rounds {
		for minor := range strings.SplitSeq(*minors, ",") {
			t.Run(fmt.Sprintf("etcd %s, round %d", minor, round+1), func(t *testing.T) {
				random := newRandom(t)
				w := newWorld(t, servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 3}), *campaign)
				w.service = newReplicas(w, program, unreliable(rand.New(rand.NewPCG(random.Uint64(), 5)))) // a test
				w.run(random)
				if !w.service.tested() {
					t.Errorf("too little has happened: %s", w.service.report())
				}
				b := &bench{T: t, world: w}
				b.restoreRevisions(random)
				b.restoreTimes(random)
				b.refuseLost(random)
				if t.Failed() {
					t.Logf("end of the log of backup-operator:\n%s", program.Log())
				}
			})
		}
	}
}

// newReplicas creates an EtcdBackup with an archive, and everything that it needs. No process runs yet. faults are those of the store.
func newReplicas(w *world, program fleet.Installed, faults func(int, *http.Request) servers.Fault) *replicas {
	t := w.t
	t.Helper()
	const name = "pit"
	namespace, server := kubetest.Namespace(t), servers.S3(t)
	w.store, w.root = openS3(t, server), archive.Root(name, namespace, name)
	proxy := servers.NewFaulty(t, server.Endpoint, faults)
	keys := map[string][]byte{"access-key-id": []byte(server.AccessKey), "secret-access-key": []byte(server.SecretKey)}
	kubetest.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "aws"}, Data: maps.Clone(keys)})
	kubetest.Create(t, &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta2.EtcdBackupSpec{
			EtcdEndpoints: w.cluster.Endpoints(), StorageType: v1beta2.StorageS3,
			Storage:      v1beta2.Storage{S3: &v1beta2.S3Source{Path: bucket + "/" + name, AWSSecret: "aws", Endpoint: proxy.URL, ForcePathStyle: true}},
			BackupPolicy: &v1beta2.BackupPolicy{Schedule: "0 0 29 2 *"}, Continuous: &v1beta2.ContinuousArchive{MaxLag: "1s"},
			Compression: v1beta2.CompressionZstd,
			Encryption:  &v1beta2.Encryption{Age: v1beta2.AgeEncryption{Recipients: []string{w.identity.Recipient().String()}}},
		},
	})
	return &replicas{
		world: w, installed: program, namespace: namespace, secret: keys, spools: [2]string{t.TempDir(), t.TempDir()},
		source: v1beta2.RestoreSource{StorageType: v1beta2.StorageS3, Bucket: bucket, Key: name, Endpoint: server.Endpoint, Region: server.Region, ForcePathStyle: true},
		files:  map[string]string{}, done: map[string]int{},
	}
}

// unreliable chooses faults for some requests to an archive, and delays some uploads, so that a process may be killed in them.
func unreliable(random *rand.Rand) func(int, *http.Request) servers.Fault {
	faults := []servers.Fault{servers.ServerError, servers.Unavailable, servers.LostAnswer, servers.ResetAtOnce, servers.ResetInBody, servers.CutAnswer}
	var mu sync.Mutex
	return func(_ int, r *http.Request) servers.Fault {
		if !strings.Contains(r.URL.Path, "/continuous-archive/") {
			return servers.Served
		}
		mu.Lock()
		fault, delay := servers.Served, time.Duration(0)
		if random.IntN(8) == 0 {
			fault = faults[random.IntN(len(faults))]
		}
		if r.Method == http.MethodPut && random.IntN(3) == 0 {
			delay = time.Duration(random.IntN(500)) * time.Millisecond
		}
		mu.Unlock()
		time.Sleep(delay)
		return fault
	}
}

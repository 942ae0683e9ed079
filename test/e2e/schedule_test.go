package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// count returns the number of objects with a prefix in the S3 server's bucket.
func (n *namespaced) count(ctx context.Context, prefix string) (int, error) {
	listed, err := suite.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(stack.Bucket), Prefix: &prefix})
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", prefix, err)
	}
	return len(listed.Contents), nil
}

func (n *namespaced) backup(ctx context.Context, name string) (*v1beta2.EtcdBackup, error) {
	var backup v1beta2.EtcdBackup
	return &backup, suite.Client.Get(ctx, client.ObjectKey{Namespace: n.name, Name: name}, &backup)
}

func TestBackupSeriesIsVerifiedPrunedAndDeletedWithItsSnapshots(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(strings.Replace(three, "size: 3", "size: 1", 1))
	n.ready("three")
	n.put(n.etcd("three", nil), "key", 10)
	n.apply(
		s3Backup("often", ofCluster("three"), stack.Bucket+"/"+n.name+"/often")+`
  backupPolicy: {backupIntervalInSecond: 2, maxBackups: 2}
  verify: Restore
  deletionPolicy: Delete
`,
		s3Backup("nightly", ofCluster("three"), stack.Bucket+"/"+n.name+"/nightly")+`
  backupPolicy: {schedule: "0 3 * * *", timeZone: Europe/Berlin, retention: {keepDaily: 7}}
`)
	says(n, &v1beta2.EtcdBackup{}, "nightly", v1beta2.ConditionReady, v1beta2.ReasonScheduled)
	n.kubectl("annotate", "etcdbackup", "nightly", v1beta2.AnnotationBackupNow+"=please")
	n.eventually("the nightly series takes the requested snapshot", func(ctx context.Context) error {
		backup, err := n.backup(ctx, "nightly")
		if err == nil && (backup.Status.HandledRequest != "please" || len(backup.Status.Snapshots) != 1) {
			err = fmt.Errorf("the status is %+v", backup.Status)
		}
		return err
	})
	first := ""
	n.eventually("the series has deleted its first snapshot, and the restore test of the newest has passed", func(ctx context.Context) error {
		backup, err := n.backup(ctx, "often")
		if err != nil {
			return err
		}
		kept, drill := backup.Status.Snapshots, backup.Status.LastDrill
		if first == "" && len(kept) > 0 {
			first = kept[len(kept)-1].Path
		}
		if len(kept) != 2 || kept[1].Path == first || drill == nil || drill.Result != v1beta2.DrillPassed || !drill.Compared {
			return fmt.Errorf("the snapshots are %+v, the restore test is %+v", kept, drill)
		}
		return nil
	})
	n.kubectl("delete", "etcdbackup", "often", "nightly", "--timeout=60s")
	n.eventuallyQuiet(func(ctx context.Context) error {
		often, err := n.count(ctx, n.name+"/often/")
		if err != nil {
			return err
		}
		nightly, err := n.count(ctx, n.name+"/nightly/")
		if often != 0 || nightly != 2 {
			n.Errorf("the series with deletionPolicy Delete has %d objects, expected 0; the series with Retain has %d, expected 2", often, nightly)
		}
		return err
	})
}

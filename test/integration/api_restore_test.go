package integration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

const (
	wantSource         = "spec: exactly one source is required: write backupStorageType with its block (an object in a store), etcdBackup.name (a snapshot of that EtcdBackup) or volume.claimName (the data directory of an etcd)"
	wantWholeVolume    = "spec: only the first member of the restored cluster reads a volume, and it restores all of it: remove select, prefixes, follow, signing and dryRun"
	wantExactVolume    = "spec: safetySnapshot Exact needs the users of the snapshot before the seed reads it, and only the seed reads a volume: write Required, IfPossible or Skip"
	wantOneSource      = "spec: only the block of the chosen backupStorageType is allowed: remove the other storage blocks"
	wantPublicKeys     = "spec.signing.publicKeys: write public keys in PEM, -----BEGIN PUBLIC KEY-----, as openssl pkey -pubout prints them; a private key belongs into the Secret of the EtcdBackup"
	wantNoPoint        = "spec: signing cannot be used with select.revision and select.time, because the continuous archive is not signed: remove signing, or write select.before for a snapshot"
	wantWholeStandby   = "spec: follow keeps a whole cluster up to date from an archive, which is not signed: remove prefixes, signing and dryRun"
	wantEndlessStandby = "spec: follow begins with the newest snapshot and never ends at a point: remove etcdBackup.snapshot, select.revision, select.time, select.before and select.includeNoQuorum"
	wantSameSource     = "spec: a restore runs once, so its spec cannot change, but for follow.promote, which can be set once, and changed from Planned to Now: delete this EtcdRestore, or create one with another name"
)

func TestInvalidEtcdRestoreIsRefused(t *testing.T) {
	const to = "etcdCluster: {name: example}"
	runRefused(t, "EtcdRestore", map[string]refused{
		"no spec": {spec: "", want: "spec: Required value"},
		"an S3 option that applies only to writes": {spec: "{" + to + ", backupStorageType: S3, s3: {path: b/k, storageClass: STANDARD}}", want: "spec: storageClass, objectLock, tags and kmsKeyName apply only to writing: move them to an EtcdBackup"},
		"a GCS option that applies only to writes": {spec: "{" + to + ", backupStorageType: GCS, gcs: {path: b/k, storageClass: NEARLINE}}", want: "spec: storageClass, objectLock, tags and kmsKeyName apply only to writing: move them to an EtcdBackup"},
		"no cluster":                                {spec: "{backupStorageType: S3, s3: {path: b/k}}", want: "spec.etcdCluster: Required value"},
		"a cluster without a name":                  {spec: "{etcdCluster: {}, backupStorageType: S3, s3: {path: b/k}}", want: "spec.etcdCluster.name: Required value"},
		"no source":                                 {spec: "{" + to + "}", want: wantSource},
		"two sources":                               {spec: "{" + to + ", etcdBackup: {name: b}, backupStorageType: S3, s3: {path: b/k}}", want: wantSource},
		"an unknown storage type":                   {spec: "{" + to + ", backupStorageType: Azure, s3: {path: b/k}}", want: "spec.backupStorageType: " + wantType},
		"an empty storage type":                     {spec: "{" + to + `, backupStorageType: "", s3: {path: b/k}}`, want: "spec.backupStorageType: " + wantType},
		"S3 without its block":                      {spec: "{" + to + ", backupStorageType: S3}", want: `spec: backupStorageType S3 requires an s3 block: write s3.path: "<bucket>/<key>"`},
		"GCS without its block":                     {spec: "{" + to + ", backupStorageType: GCS}", want: `spec: backupStorageType GCS requires a gcs block: write gcs.path: "<bucket>/<key>"`},
		"ABS without its block":                     {spec: "{" + to + ", backupStorageType: ABS}", want: `spec: backupStorageType ABS requires an abs block: write abs.path: "<container>/<key>"`},
		"S3 with an additional gcs block":           {spec: "{" + to + ", backupStorageType: S3, s3: {path: b/k}, gcs: {path: b/k}}", want: wantOneSource},
		"GCS with an additional s3 block":           {spec: "{" + to + ", backupStorageType: GCS, s3: {path: b/k}, gcs: {path: b/k}}", want: wantOneSource},
		"S3 with an additional abs block":           {spec: "{" + to + ", backupStorageType: S3, s3: {path: b/k}, abs: {path: b/k, absSecret: s}}", want: wantOneSource},
		"S3 with an additional oss block":           {spec: "{" + to + ", backupStorageType: S3, s3: {path: b/k}, oss: {path: b/k}}", want: wantOneSource},
		"an EtcdBackup with an additional s3 block": {spec: "{" + to + ", etcdBackup: {name: b}, s3: {path: b/k}}", want: wantOneSource},
		"an EtcdBackup without a name":              {spec: "{" + to + ", etcdBackup: {}}", want: "spec.etcdBackup.name: Required value"},
		"an EtcdBackup with an empty name":          {spec: "{" + to + `, etcdBackup: {name: ""}}`, want: "spec.etcdBackup.name: in body should be at least 1 chars long"},
		"an EtcdBackup name that is too long":       {spec: "{" + to + ", etcdBackup: {name: " + strings.Repeat("a", 254) + "}}", want: "spec.etcdBackup.name: may not be more than 253 bytes"},
		"a negative revisionBump":                   {spec: "{" + to + ", etcdBackup: {name: b}, revisionBump: -1}", want: "spec.revisionBump" + wantMin0},
		"a revisionBump above 10^12":                {spec: "{" + to + ", etcdBackup: {name: b}, revisionBump: 1000000000001}", want: "spec.revisionBump: in body should be less than or equal to 1000000000000"},
		"a named snapshot and select":               {spec: "{" + to + ", etcdBackup: {name: b, snapshot: s.db}, select: {}}", want: "spec: etcdBackup.snapshot names one snapshot and select chooses one: remove one of the two"},
		"an empty snapshot name":                    {spec: "{" + to + `, etcdBackup: {name: b, snapshot: ""}}`, want: "spec.etcdBackup.snapshot: in body should be at least 1 chars long"},
		"an invalid cluster ID":                     {spec: "{" + to + `, etcdBackup: {name: b}, select: {clusterID: "00000000000000AA"}}`, want: "spec.select.clusterID: clusterID must be 16 hex digits: copy it from status.clusterID of an EtcdCluster"},
		"an invalid time":                           {spec: "{" + to + `, etcdBackup: {name: b}, select: {before: yesterday}}`, want: "spec.select.before: in body must be of type date-time: \"yesterday\""},
		"a signature of a point in time":            {spec: "{" + to + `, etcdBackup: {name: b}, select: {revision: 7}, signing: {publicKeys: ["-----BEGIN PUBLIC KEY-----"]}}`, want: wantNoPoint},
		"a private key in place of a public one":    {spec: "{" + to + `, etcdBackup: {name: b}, signing: {publicKeys: ["-----BEGIN PRIVATE KEY-----"]}}`, want: wantPublicKeys},
		"no public key":                             {spec: "{" + to + `, etcdBackup: {name: b}, signing: {publicKeys: []}}`, want: "spec.signing.publicKeys"},
		"before and revision in one select":         {spec: "{" + to + `, etcdBackup: {name: b}, select: {before: "2026-11-22T09:14:03Z", revision: 7}}`, want: "spec.select: before chooses a snapshot, and revision and time choose a point of the continuous archive: write only one of the three"},
		"an invalid cluster ID in replaces":         {spec: "{" + to + `, etcdBackup: {name: b}, replaces: "0xaa"}`, want: "spec.replaces: replaces must be 16 hex digits: copy it from status.clusterID of the EtcdCluster"},
		"a standby of some keys":                    {spec: "{" + to + `, etcdBackup: {name: b}, follow: {}, prefixes: [a]}`, want: wantWholeStandby},
		"a standby in a dry run":                    {spec: "{" + to + `, etcdBackup: {name: b}, follow: {}, dryRun: true}`, want: wantWholeStandby},
		"a standby that ends at a revision":         {spec: "{" + to + `, etcdBackup: {name: b}, follow: {}, select: {revision: 7}}`, want: wantEndlessStandby},
		"a standby that begins with one snapshot":   {spec: "{" + to + `, etcdBackup: {name: b, snapshot: s.db}, follow: {}}`, want: wantEndlessStandby},
		"an unknown promotion":                      {spec: "{" + to + `, etcdBackup: {name: b}, follow: {promote: Later}}`, want: "spec.follow.promote: Unsupported value: \"Later\": supported values: \"Now\", \"Planned\""},
		"a volume and a store":                      {spec: "{" + to + `, volume: {claimName: c}, backupStorageType: S3, s3: {path: b/k}}`, want: wantSource},
		"a volume and an EtcdBackup":                {spec: "{" + to + `, volume: {claimName: c}, etcdBackup: {name: b}}`, want: wantSource},
		"a volume without a claim":                  {spec: "{" + to + `, volume: {}}`, want: "spec.volume.claimName: Required value"},
		"a claim that no API server accepts":        {spec: "{" + to + `, volume: {claimName: "<claim>"}}`, want: "spec.volume.claimName: claimName must be the name of a PersistentVolumeClaim in this namespace: kubectl get pvc lists them"},
		"a path that leads out of the volume":       {spec: "{" + to + `, volume: {claimName: c, path: a/../..}}`, want: "spec.volume.path: volume.path is a folder of the volume: write it without a leading / and without .."},
		"an absolute path on a volume":              {spec: "{" + to + `, volume: {claimName: c, path: /data}}`, want: "spec.volume.path: volume.path is a folder of the volume: write it without a leading / and without .."},
		"some keys of a volume":                     {spec: "{" + to + `, volume: {claimName: c}, prefixes: [a]}`, want: wantWholeVolume},
		"a standby of a volume":                     {spec: "{" + to + `, volume: {claimName: c}, follow: {}}`, want: wantWholeVolume},
		"a dry run of a volume":                     {spec: "{" + to + `, volume: {claimName: c}, dryRun: true}`, want: wantWholeVolume},
		"an exact safety snapshot before a volume":  {spec: "{" + to + `, volume: {claimName: c}, safetySnapshot: Exact}`, want: wantExactVolume},
		"a negative time to live":                   {spec: "{" + to + ", etcdBackup: {name: b}, ttlSecondsAfterFinished: -1}", want: "spec.ttlSecondsAfterFinished" + wantMin0},
	})
}

func TestValidEtcdRestoreIsAccepted(t *testing.T) {
	const to = "etcdCluster: {name: example}"
	runAccepted(t, "EtcdRestore", map[string]accepted{
		"S3":                                 {spec: "{" + to + ", backupStorageType: S3, s3: {path: b/k}}"},
		"GCS":                                {spec: "{" + to + ", backupStorageType: GCS, gcs: {path: b/k}}"},
		"an EtcdBackup":                      {spec: "{" + to + ", etcdBackup: {name: b}}"},
		"the newest snapshot below a folder": {spec: "{" + to + ", backupStorageType: S3, s3: {path: b/folder/}, select: {}}"},
		"the newest snapshot before a time":  {spec: "{" + to + `, etcdBackup: {name: b}, select: {before: "2026-01-02T03:04:05+02:00", clusterID: "00000000000000aa"}}`},
		"a named snapshot":                   {spec: "{" + to + ", etcdBackup: {name: b, snapshot: 20260102T030405Z-00000000000000000021.db}}"},
		"a time to live":                     {spec: "{" + to + ", etcdBackup: {name: b}, ttlSecondsAfterFinished: 0}"},
		"a revisionBump of 0":                {spec: "{" + to + ", etcdBackup: {name: b}, revisionBump: 0}"},
		"a revisionBump of 10^12":            {spec: "{" + to + ", etcdBackup: {name: b}, revisionBump: 1000000000000}"},
		"a name that differs from that of the cluster": {name: "second.try", spec: "{" + to + ", etcdBackup: {name: b}}"},
		"a volume": {spec: "{" + to + ", volume: {claimName: data-etcd-0}}"},
		"a required safety snapshot before a volume": {spec: "{" + to + ", volume: {claimName: c}, safetySnapshot: Required}"},
		"a folder of a volume":                       {spec: "{" + to + ", volume: {claimName: data-etcd-0, path: etcd/data}, safetySnapshot: Skip, dryRun: false}"},
		"ABS":                                        {spec: "{" + to + ", backupStorageType: ABS, abs: {path: b/k, absSecret: s}}"},
		"OSS, which the operator refuses in the status": {spec: "{" + to + ", backupStorageType: OSS, oss: {path: b/k, ossSecret: s}}"},
	})
}

func TestEtcdRestoreSpecIsImmutable(t *testing.T) {
	const spec = "{etcdCluster: {name: example}, backupStorageType: S3, s3: {path: b/k}}"
	for name, change := range map[string]func(restore *unstructured.Unstructured) error{
		"another cluster": func(restore *unstructured.Unstructured) error {
			return unstructured.SetNestedField(restore.Object, "other", "spec", "etcdCluster", "name")
		},
		"another path": func(restore *unstructured.Unstructured) error {
			return unstructured.SetNestedField(restore.Object, "b/other", "spec", "s3", "path")
		},
		"another revisionBump": func(restore *unstructured.Unstructured) error {
			return unstructured.SetNestedField(restore.Object, int64(1), "spec", "revisionBump")
		},
		"a volume in place of the store": func(restore *unstructured.Unstructured) error {
			unstructured.RemoveNestedField(restore.Object, "spec", "s3")
			unstructured.RemoveNestedField(restore.Object, "spec", "backupStorageType")
			return unstructured.SetNestedField(restore.Object, "c", "spec", "volume", "claimName")
		},
		"a Secret": func(restore *unstructured.Unstructured) error {
			return unstructured.SetNestedField(restore.Object, "s", "spec", "s3", "awsSecret")
		},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			restore := object(t, "EtcdRestore", kubetest.Namespace(t), "", spec)
			kubetest.Create(t, restore)
			if err := change(restore); err != nil {
				t.Fatal(err)
			}
			wantCause(t, kubetest.Client(t).Update(t.Context(), restore), wantSameSource)
		})
	}
	t.Run("accepts a label", func(t *testing.T) {
		restore := object(t, "EtcdRestore", kubetest.Namespace(t), "", spec)
		kubetest.Create(t, restore)
		restore.SetLabels(map[string]string{"a": "b"})
		if err := kubetest.Client(t).Update(t.Context(), restore); err != nil {
			t.Error(err)
		}
	})
	t.Run("accepts the same manifest a second time", func(t *testing.T) {
		namespace := kubetest.Namespace(t)
		for range 2 {
			again := object(t, "EtcdRestore", namespace, "", spec)
			err := kubetest.Client(t).Apply(t.Context(), client.ApplyConfigurationFromUnstructured(again), client.FieldOwner("test"))
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A standby that could be promoted twice, or whose promotion could be taken back, might serve while its source does.
func TestAStandbyIsPromotedOnceAndNothingElseOfItsSpecChanges(t *testing.T) {
	const spec = "{etcdCluster: {name: example}, backupStorageType: S3, s3: {path: b/k, awsSecret: aws}, follow: {}}"
	restore := object(t, "EtcdRestore", kubetest.Namespace(t), "", spec)
	kubetest.Create(t, restore)
	set := func(value any, path ...string) error {
		changed := restore.DeepCopy()
		if value == nil {
			unstructured.RemoveNestedField(changed.Object, path...)
		} else if err := unstructured.SetNestedField(changed.Object, value, path...); err != nil {
			t.Fatal(err)
		}
		err := kubetest.Client(t).Update(t.Context(), changed)
		if err == nil {
			restore = changed
		}
		return err
	}
	wantCause(t, set(nil, "spec", "follow"), wantSameSource)
	wantCause(t, set(int64(7), "spec", "revisionBump"), wantSameSource)
	if err := set("Now", "spec", "follow", "promote"); err != nil {
		t.Fatal(err)
	}
	wantCause(t, set(nil, "spec", "follow", "promote"), wantSameSource)
	wantCause(t, set("other", "spec", "s3", "awsSecret"), wantSameSource)
	wantCause(t, set(nil, "spec", "follow"), wantSameSource)
}

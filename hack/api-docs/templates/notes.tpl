{{- /* What no single field can describe. */ -}}
{{- define "notes" }}
## Compressed and encrypted objects

With `compression` or `encryption` the operator encodes the snapshot while it streams it: it compresses first, then encrypts. The store
never sees a key. To take snapshots the operator needs the public key only. So keep the identity out of the cluster until you restore:

    age-keygen -o identity.txt        # prints the public key, age1…, for encryption.age.recipients
    kubectl create secret generic s3-restore --from-file=age-identity=identity.txt --from-literal=…

Name that Secret in the EtcdRestore. To restore without this suite:

    age -d -i identity.txt example.db.zst.age | zstd -d > example.db && etcdutl snapshot restore example.db …

The manifest holds the size and the SHA-256 of the object (`size`, `sha256`) and of the snapshot in it (`plainSize`, `plainSHA256`).
Manifests are not encrypted. They hold names, sizes and revisions, and no keys or values of etcd.
{{ end -}}

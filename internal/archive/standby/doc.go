// Package standby keeps the database of an etcd member up to date with a continuous archive, without an etcd process. It only reads the archive.
//
// Everything that a crash must not lose is in one bbolt file, and each transaction changes it as a whole: the keys of etcd, the position in the archive,
// and an index of the keys. So the position is never ahead of the data or behind it. The index is on disk, because that of etcd takes about 500
// bytes of memory for each key. It holds what etcd's own code compares: each put must be the next version of its key, and each deletion must find one.
//
// A link of the archive is fetched to the disk, compared with its header to its end, and applied after that. No event of a damaged link is applied, and
// a link that was fetched is completed without the store.
//
// The database is compacted to the revision to which the source was compacted. So it has the same revisions as the source, and grows no faster.
package standby

package etcdflags

var (
	identity = Refusal{
		Why:     "The operator gives each member its name, its directory and its addresses.",
		Instead: "Remove the variable. For another way of clients to the cluster, set spec.service and spec.TLS.",
	}
	bootstrap = Refusal{
		Why:     "The operator decides with which others a member forms a cluster, so that no member starts without its data.",
		Instead: "Remove the variable. Set spec.size, or restore a snapshot with an EtcdRestore.",
	}
	discovery = Refusal{
		Why:     "The operator names the first members to etcd, and etcd does not start with a second way to find them.",
		Instead: "Remove the variable. Set spec.size.",
	}
	reconfig = Refusal{
		Why:     "Without this check, a change of the members can end the quorum of a cluster.",
		Instead: "Remove the variable. To add or remove members, set spec.size.",
	}
	certificates = Refusal{
		Why:     "The operator hands the certificates and the CA to etcd.",
		Instead: "Remove the variable. Set spec.TLS.",
	}
	configFile = Refusal{
		Why:     "With a configuration file, etcd ignores all flags of the operator, and a member can start without its data or without TLS.",
		Instead: "Remove the variable. Set spec.etcd, or one variable for each option.",
	}
	walDir = Refusal{
		Why:     "A member that starts without its log can lose confirmed writes.",
		Instead: "Remove the variable from a new cluster. Restore a snapshot of an old one into a new EtcdCluster.",
		Kept:    true,
	}
	forceNewCluster = Refusal{
		Why:     "It makes each member a cluster of its own, and confirmed writes are lost.",
		Instead: "Remove the variable. After a lost quorum, set spec.recovery.quorumLoss to ForceNewCluster.",
	}
	noFsync = Refusal{
		Why:     "etcd would confirm writes that are not on the disk, and a node that fails would lose them.",
		Instead: "Remove the variable. Use a StorageClass with a lower latency, or spec.pod.emptyDir for a test.",
	}
	proxy = Refusal{
		Why:     "A proxy of etcd is no member, and holds no data.",
		Instead: "Remove the variable. Clients use the Service <name>-client.",
	}
)

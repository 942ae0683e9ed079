package upgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// recovering continues from the survivor of a lost quorum, and has a learner that no node accepts.
func recovering(s *site) {
	s.admit("node-1", "node-3")
	cluster := s.create(2, "3.6.16", "")
	s.writeFirst()
	lost, node := "", ""
	for _, m := range cluster.Status.MemberStatuses {
		if m.Role != v1beta2.MemberLeader {
			lost = m.Name
		}
	}
	found, err := s.pods(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	for _, pod := range found {
		if pod.Name != lost {
			node = pod.Spec.NodeName
		}
	}
	// Otherwise the operator could replace the member between the two deletions.
	s.patch(`{"spec":{"paused":true}}`)
	becomes(s, &v1beta2.EtcdCluster{}, example, v1beta2.ConditionReady, v1beta2.ReasonPaused)
	s.kubectl("delete", "pvc/"+lost, "pod/"+lost)
	s.admit(node)
	s.patch(`{"spec":{"paused":false,"recovery":{"quorumLoss":"ForceNewCluster"}}}`)
}

func recoveryGrows(ctx context.Context, s *site) error {
	cluster, err := s.cluster(ctx)
	if err == nil && (cluster.Status.Recovery == nil || cluster.Status.Recovery.Step != v1beta2.RecoveryGrowing) {
		err = fmt.Errorf("the status has the recovery %+v, expected the step Growing", cluster.Status.Recovery)
	}
	return err
}

// rotatingCA has restarted a member that trusts the old CA and the new one, and that no node accepts.
func rotatingCA(s *site) {
	s.admitAll()
	s.create(3, "3.6.16", "  TLS: {managed: {caOverlap: 0s}}")
	s.writeFirst()
	s.admit()
	s.kubectl("annotate", "etcdcluster", example, v1beta2.AnnotationRotateCA+"=now")
}

// waitingForClients gives clients a day to load the new CA. All members trust both.
func waitingForClients(s *site) {
	s.admitAll()
	s.create(1, "3.6.16", "  TLS: {managed: {}}")
	s.writeFirst()
	first, err := s.pods(s.ctx)
	if err != nil || len(first) != 1 {
		s.Fatalf("found %d Pods, expected one; error %v", len(first), err)
	}
	s.kubectl("annotate", "etcdcluster", example, v1beta2.AnnotationRotateCA+"=now")
	s.eventually("the member restarts to trust both CAs", func(ctx context.Context) error {
		now, err := s.pods(ctx)
		if err == nil && (len(now) != 1 || now[0].UID == first[0].UID) {
			err = errors.New("it has not restarted yet")
		}
		return err
	})
}

func twoCAs(_ context.Context, s *site) error {
	if len(s.secret(example + v1beta2.AuthoritySecretSuffix)["previous-ca.crt"]) == 0 {
		return errors.New("the Secret of the CA has no previous one")
	}
	return nil
}

func finishRotation(s *site) {
	s.admitAll()
	s.patch(`{"spec":{"TLS":{"managed":{"caOverlap":"0s"}}}}`)
	s.eventually("the previous CA is removed", func(ctx context.Context) error {
		if err := twoCAs(ctx, s); err == nil {
			return errors.New("the Secret of the CA still has the previous one")
		}
		return nil
	})
	s.ready()
}

package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func (RelabelPod) Reason() string          { return v1beta2.ReasonRolling }
func (EnableDowngrade) Reason() string     { return v1beta2.ReasonUpgrading }
func (CancelDowngrade) Reason() string     { return v1beta2.ReasonUpgrading }
func (RecordVersionChange) Reason() string { return v1beta2.ReasonUpgrading }

func (RelabelPod) Requeue() time.Duration          { return soon }
func (EnableDowngrade) Requeue() time.Duration     { return pollSettling }
func (CancelDowngrade) Requeue() time.Duration     { return pollSettling }
func (RecordVersionChange) Requeue() time.Duration { return soon }

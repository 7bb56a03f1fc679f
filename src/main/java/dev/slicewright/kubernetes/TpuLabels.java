package dev.slicewright.kubernetes;

/**
 * The labels, annotations and keys of the platform that this package reads and writes, and its own.
 * Immutable, safe to share.
 *
 * <p>Sources: GKE documentation on TPUs, dynamic slicing and the Slice resource; the tpu-slice
 * controller; Kueue's and JobSet's API types. Own keys begin with {@code slicewright.dev/}.
 */
public final class TpuLabels {

  /** Node label and selector: the accelerator, such as {@code tpu7x} or {@code tpu-v6e-slice}. */
  public static final String ACCELERATOR = "cloud.google.com/gke-tpu-accelerator";

  /**
   * Node label: the topology of a static pool. Selector: the topology that a pod's slice must have.
   */
  public static final String TOPOLOGY = "cloud.google.com/gke-tpu-topology";

  /** Node label: the node pool. */
  public static final String NODE_POOL = "cloud.google.com/gke-nodepool";

  /** Node label: the reservation block, which no slice may leave. */
  public static final String BLOCK = "cloud.google.com/gce-topology-block";

  /** Node label: the physical sub-block. */
  public static final String SUBBLOCK = "cloud.google.com/gce-topology-subblock";

  /** Node label: the physical host. */
  public static final String PHYSICAL_HOST = "cloud.google.com/gce-topology-host";

  /** Node label and selector: the name of the Slice that a node belongs to. */
  public static final String SLICE = "cloud.google.com/gke-tpu-slice";

  /** Node label: the topology of the node's Slice. Pod annotation: the shape wanted. */
  public static final String SLICE_TOPOLOGY = "cloud.google.com/gke-tpu-slice-topology";

  /** What labels of partitions of TPU7x begin with; the shape and a suffix follow. */
  public static final String PARTITION_PREFIX = "cloud.google.com/gke-tpu-partition-";

  /** What labels of sub-slices of v5e and v6e begin with; the shape and a suffix follow. */
  public static final String SUBSLICE_PREFIX = "cloud.google.com/gke-tpu-slice-";

  /** How labels of the id of a partition end. */
  public static final String ID_SUFFIX = "-id";

  /** How labels of the state of a partition end. */
  public static final String STATE_SUFFIX = "-state";

  /** Resource and taint: chips. */
  public static final String TPU = "google.com/tpu";

  /** Kubernetes' own label of a node's name. */
  public static final String HOSTNAME = "kubernetes.io/hostname";

  /** Annotation of a Slice: namespace of its workload. */
  public static final String OWNER_NAMESPACE = "accelerator.gke.io/owner-workload-namespace";

  /** Annotation of a Slice: name of its workload. */
  public static final String OWNER_NAME = "accelerator.gke.io/owner-workload-name";

  /** Annotation of a Slice: pod set of its workload. */
  public static final String OWNER_POD_SET = "accelerator.gke.io/owner-podset-name";

  /** Annotation of a JobSet or of one of its jobs: one child job per domain of this label. */
  public static final String JOBSET_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology";

  /** Annotation of a LeaderWorkerSet: one group per domain of this label. */
  public static final String LWS_EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology";

  /** Label: the local queue of a workload. */
  public static final String QUEUE = "kueue.x-k8s.io/queue-name";

  /** Label: the priority class that Kueue orders a workload by. */
  public static final String QUEUE_PRIORITY = "kueue.x-k8s.io/priority-class";

  /** Annotation: all pods of a pod set in one domain of this label. */
  public static final String REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology";

  /** Annotation: all pods of a pod set in one domain of this label, if that is possible. */
  public static final String PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology";

  /** Annotation: pods of a pod set anywhere. */
  public static final String UNCONSTRAINED_TOPOLOGY =
      "kueue.x-k8s.io/podset-unconstrained-topology";

  /** Annotation: each group of a pod set in one domain of this label. */
  public static final String SLICE_REQUIRED_TOPOLOGY =
      "kueue.x-k8s.io/podset-slice-required-topology";

  /** Annotation: pods of a group. */
  public static final String SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size";

  /** Annotation: pod sets of one group name share a domain. */
  public static final String GROUP_NAME = "kueue.x-k8s.io/podset-group-name";

  /** Own annotation of a Slice or pod template: the id of the request. */
  public static final String OWN_REQUEST = "slicewright.dev/request";

  /** Own annotation of a Slice: the number of the slice in its request, from 0. */
  public static final String OWN_INDEX = "slicewright.dev/slice-index";

  /** Own annotation of a Slice: how many slices its request has. */
  public static final String OWN_SLICES = "slicewright.dev/slices";

  /** Own annotation of a Slice: the priority of its request. */
  public static final String OWN_PRIORITY = "slicewright.dev/priority";

  /** Own annotation of a Slice: the tenant of its request. */
  public static final String OWN_TENANT = "slicewright.dev/tenant";

  /**
   * Own annotation of a Slice and of the pods bound to it: a digest of type, topology and partition
   * ids in order. A pod whose epoch is not its Slice's was bound to an earlier placement.
   */
  public static final String OWN_EPOCH = "slicewright.dev/epoch";

  /**
   * Own annotation of a pod template or pod: the keys, separated by commas, that binding it to its
   * slices has put into its node selector, its affinity (as the last expression of each term) or
   * its annotations. They say where it was put, not what it asks for; unbinding takes them out.
   */
  public static final String OWN_BINDING = "slicewright.dev/binding";

  /**
   * Own scheduling gate of a pod that waits for its slice. Pods may be created with it; binding
   * them takes it out, and evicting them puts it in.
   */
  public static final String OWN_GATE = "slicewright.dev/slice";

  /** Own label of a ConfigMap that keeps a hold. */
  public static final String OWN_HOLD = "slicewright.dev/hold";

  /** Own label of the fleet's pods: the id of the pod. */
  public static final String OWN_POD = "slicewright.dev/pod";

  private TpuLabels() {}
}

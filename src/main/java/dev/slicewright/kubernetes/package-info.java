/**
 * Kubernetes in, Kubernetes out: nodes, pods, slices and workloads of a cluster become a fleet and
 * requests; a plan becomes manifests, patches, events and ordered steps. It talks to no cluster:
 * objects come from a client or from text, and what comes out is for a client to apply.
 *
 * <pre>{@code
 * Cluster cluster = ClusterReader.create().read(client.list()); // or ManifestReader's objects
 * Plan plan = SlicePlanner.create().plan(cluster.fleet(), cluster.requests(), budget);
 * ClusterPlan told = ClusterPlan.of(cluster, plan);
 * told.steps().forEach(this::carryOut);
 * Cluster later = cluster.update(changed, gone); // as watches report them
 * }</pre>
 *
 * <p>In: {@link dev.slicewright.kubernetes.ManifestReader} reads YAML and JSON into {@link
 * dev.slicewright.kubernetes.KubernetesObjects}; {@link dev.slicewright.kubernetes.ClusterReader}
 * makes a {@link dev.slicewright.kubernetes.Cluster} of them: the fleet, each {@link
 * dev.slicewright.kubernetes.Workload}, what was wrong and what was {@linkplain
 * dev.slicewright.kubernetes.LeftOut left out}. A pod of the fleet is a reservation block of TPU7x,
 * a node pool, or a node; do not take it for a Kubernetes Pod, of which a slice has one or more for
 * each host.
 *
 * <p>Out: {@link dev.slicewright.kubernetes.ClusterPlan} has a plan as a {@link
 * dev.slicewright.kubernetes.SliceManifest} for each Slice to create, a {@link
 * dev.slicewright.kubernetes.WorkloadPatch} for each object, a {@link
 * dev.slicewright.kubernetes.PodNode} for each pod, for Kueue a {@link
 * dev.slicewright.kubernetes.TopologyAssignment}, for dynamic resource allocation a {@link
 * dev.slicewright.kubernetes.DeviceAllocation}, and each {@link
 * dev.slicewright.kubernetes.ClusterStep} in order. {@link
 * dev.slicewright.kubernetes.ManifestWriter} writes objects as text, and {@link
 * dev.slicewright.kubernetes.SliceRules} checks Slices, whoever wrote them.
 *
 * <p>Equal objects and plans give equal results, in the same order. Bad objects are never met with
 * anything but {@link dev.slicewright.InvalidInputException}, which has every problem with its
 * path, or in lenient reading with a problem in the result.
 *
 * <p>Needs the model classes of fabric8 ({@code io.fabric8:kubernetes-model-core} and {@code
 * kubernetes-model-batch}), and for manifests as text {@code
 * tools.jackson.dataformat:jackson-dataformat-yaml}; both are optional dependencies.
 */
@NullMarked
package dev.slicewright.kubernetes;

import org.jspecify.annotations.NullMarked;

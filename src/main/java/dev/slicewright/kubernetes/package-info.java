/**
 * Kubernetes in, Kubernetes out: nodes, pods, slices and workloads of a cluster become a fleet and
 * requests; a plan becomes manifests, patches, events and ordered steps.
 *
 * <p>Needs the model classes of fabric8 ({@code io.fabric8:kubernetes-model-core} and {@code
 * kubernetes-model-batch}), and for manifests as text {@code
 * tools.jackson.dataformat:jackson-dataformat-yaml}; both are optional dependencies. It talks to no
 * cluster.
 *
 * <p>In: {@link dev.slicewright.kubernetes.ManifestReader} reads YAML and JSON into {@link
 * dev.slicewright.kubernetes.KubernetesObjects}; {@link dev.slicewright.kubernetes.ClusterReader}
 * makes a {@link dev.slicewright.kubernetes.Cluster} of them: the fleet, the workloads, what was
 * wrong and what was left out. Out: {@link dev.slicewright.kubernetes.ClusterPlan}.
 */
@NullMarked
package dev.slicewright.kubernetes;

import org.jspecify.annotations.NullMarked;

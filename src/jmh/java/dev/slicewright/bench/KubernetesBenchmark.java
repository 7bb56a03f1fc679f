package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.kubernetes.Cluster;
import dev.slicewright.kubernetes.ClusterFixtures;
import dev.slicewright.kubernetes.ClusterPlan;
import dev.slicewright.kubernetes.ClusterReader;
import dev.slicewright.kubernetes.KubernetesObjects;
import dev.slicewright.plan.Plan;
import dev.slicewright.solve.SlicePlanner;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How long do a cluster's own objects take to become a fleet, and a plan to become manifests?
 *
 * <p>The large cluster has 10,000 nodes (three TPU7x blocks of 144 cubes, v6e pools with
 * sub-slices, static v5p pools, single v5e hosts) and 30,000 pods, most of them daemons.
 *
 * <p>{@code mvn -q -Pbench verify -Dbench.args="KubernetesBenchmark -jvmArgs -Xmx300m"}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3, time = 3)
@Measurement(iterations = 5, time = 3)
@Fork(1)
public class KubernetesBenchmark {

  private static final int TOUCHED = 10;
  private static final int CUBES = 144;

  private final ClusterReader reader = ClusterReader.create();
  private final SlicePlanner planner = SlicePlanner.builder().maxWorkers(2).build();
  private final SolveBudget budget =
      SolveBudget.builder()
          .deadline(Duration.ofMillis(500))
          .workers(2)
          .mode(SolveBudget.Mode.FAST)
          .build();
  private KubernetesObjects large = KubernetesObjects.empty();
  private KubernetesObjects block = KubernetesObjects.empty();
  private Cluster cluster = reader.read(large);
  private List<Node> ready = List.of();
  private List<Node> unready = List.of();
  private boolean down;

  /** Makes the objects. */
  @Setup
  public void setUp() {
    large = KubernetesObjects.of(ClusterFixtures.large(30_000, 1));
    cluster = reader.read(large);
    ready = touched(ClusterFixtures.large(30_000, 1));
    unready = touched(ClusterFixtures.large(30_000, 1));
    unready.forEach(node -> ClusterFixtures.ready(node, "False"));
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("blk", CUBES));
    objects.addAll(ClusterFixtures.waiting(40, 1));
    block = KubernetesObjects.of(objects);
  }

  /** Nodes all over the cluster. */
  private static List<Node> touched(List<HasMetadata> objects) {
    List<Node> nodes =
        objects.stream().filter(Node.class::isInstance).map(Node.class::cast).toList();
    List<Node> some = new ArrayList<>();
    for (int i = 0; i < TOUCHED; i++) {
      some.add(nodes.get(i * nodes.size() / TOUCHED));
    }
    return some;
  }

  /**
   * 10,000 nodes and 30,000 pods.
   *
   * @return the cluster
   */
  @Benchmark
  public Cluster read10kNodes30kPods() {
    return reader.read(large);
  }

  /**
   * Ten nodes in as many places go down, or come back.
   *
   * @return the cluster
   */
  @Benchmark
  public Cluster update10Nodes() {
    down = !down;
    cluster = cluster.update(down ? unready : ready, List.of());
    return cluster;
  }

  /**
   * A block of 2,304 nodes and 40 Jobs, from objects to a plan and its manifests.
   *
   * @return the manifests
   */
  @Benchmark
  public List<HasMetadata> endToEnd2304() {
    Cluster read = reader.read(block);
    Plan plan = planner.plan(read.fleet(), read.requests(), budget);
    return ClusterPlan.of(read, plan).manifests();
  }
}

package dev.slicewright.examples;

import dev.slicewright.SolveBudget;
import dev.slicewright.kubernetes.Cluster;
import dev.slicewright.kubernetes.ClusterPlan;
import dev.slicewright.kubernetes.ClusterReader;
import dev.slicewright.kubernetes.ManifestReader;
import dev.slicewright.kubernetes.ManifestWriter;
import dev.slicewright.plan.Plan;
import dev.slicewright.solve.SlicePlanner;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;

/**
 * From a cluster's own objects to what is to be done there: reads manifests, plans what waits, and
 * prints steps, events, the Slices to create and the patches of their work. An argument names
 * another file, such as one that {@code kubectl get nodes,pods,jobs,slices -A -o yaml} has written.
 */
public final class ClusterInClusterOut {

  public static void main(String[] args) throws IOException {
    Path file = Path.of(args.length > 0 ? args[0] : "examples/data/tpu7x-cluster.yaml");
    Cluster cluster =
        ClusterReader.builder().lenient(true).build().read(ManifestReader.create().read(file));
    cluster.problems().forEach(problem -> System.out.println("problem   " + problem));
    cluster.leftOut().forEach(object -> System.out.println("left out  " + object));
    cluster.fleet().running().forEach(slice -> System.out.println("runs      " + slice));
    cluster.requests().forEach(request -> System.out.println("waits     " + request));

    Plan plan =
        SlicePlanner.create()
            .plan(cluster.fleet(), cluster.requests(), SolveBudget.within(Duration.ofMillis(800)));
    ClusterPlan todo = ClusterPlan.of(cluster, plan);
    todo.steps().forEach(step -> System.out.println("step      " + step));
    todo.events(Instant.EPOCH)
        .forEach(
            event ->
                System.out.println("event     " + event.getReason() + ": " + event.getMessage()));

    System.out.println();
    System.out.print(
        ManifestWriter.toYaml(todo.slices().stream().map(s -> s.toResource()).toList()));
    todo.patches()
        .forEach(patch -> System.out.println("# patch " + patch.object() + "\n" + patch.toJson()));
  }

  private ClusterInClusterOut() {}
}

package dev.slicewright.examples;

import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.slurm.SlurmCluster;
import dev.slicewright.slurm.SlurmPlan;
import dev.slicewright.slurm.SlurmTopologyReader;
import dev.slicewright.solve.SlicePlanner;
import java.time.Duration;

/**
 * Plans the queue of a Slurm cluster: topology.yaml, sinfo and squeue in, node lists and commands
 * out.
 *
 * <pre>mvn -q compile exec:java -Dexec.mainClass=dev.slicewright.examples.SlurmNodeLists</pre>
 */
public final class SlurmNodeLists {

  private static final String TOPOLOGY =
      """
      - topology: pods
        cluster_default: true
        torus3d:
          toruses:
            - {name: pod1, dims: {x: 8, y: 4, z: 4}, nodes: "tpu[001-128]",
               placements: [{dims: {x: 2, y: 2, z: 2}}, {dims: {x: 4, y: 4, z: 4}}]}
      """;

  private static final String SINFO = "tpu[001-127] idle\ntpu128 drained\n";
  private static final String SQUEUE =
      """
      11|RUNNING|None|8|50|ann|lab|tpu|1-00:00:00|tpu[001-002,009-010,033-034,041-042]
      12|RUNNING|None|8|50|bob|lab|tpu|1-00:00:00|tpu[005-006,013-014,037-038,045-046]
      20|PENDING|Resources|64|90|eve|prod|tpu|12:00:00|
      21|PENDING|Priority|64|10|eve|prod|tpu|12:00:00|
      """;

  private SlurmNodeLists() {}

  public static void main(String[] args) {
    SlurmCluster cluster =
        SlurmTopologyReader.create().read(TOPOLOGY).withNodes(SINFO).withJobs(SQUEUE);
    PlanningRules rules = PlanningRules.builder().permitByDefault(Permission.MOVABLE).build();
    Plan plan =
        SlicePlanner.create()
            .plan(
                cluster.fleet(),
                cluster.requests(),
                cluster.pinned(rules),
                SolveBudget.within(Duration.ofSeconds(5)));
    SlurmPlan slurm = SlurmPlan.of(cluster, plan);
    for (SlurmPlan.Action action : slurm.actions()) {
      System.out.println(action);
      action.commands().forEach(command -> System.out.println("    " + command));
    }
    slurm.waiting().forEach(System.out::println);
  }
}

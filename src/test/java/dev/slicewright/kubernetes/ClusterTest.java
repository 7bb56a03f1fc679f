package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.solve.SlicePlanner;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a cluster says of work that it does not know. */
class ClusterTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(10));

  @Test
  void slicesOfUnknownWorkArePinnedSoThatNoRepairDeletesThem() {
    List<Node> nodes = ClusterFixtures.block("blk", 3);
    String cube = ClusterFixtures.cube("blk", 0);
    List<HasMetadata> objects = new ArrayList<>(nodes);
    objects.add(ClusterFixtures.slice("foreign", "4x4x4", "ACTIVE", List.of(cube)));
    ClusterFixtures.ready(nodes.get(0), "False");
    Cluster cluster = ClusterReader.builder().lenient(true).build().read(objects);
    String request = cluster.fleet().running().iterator().next().id().request();
    PlanningRules movable = PlanningRules.builder().permitByDefault(Permission.MOVABLE).build();

    Plan told = SlicePlanner.create().repair(cluster.fleet(), movable, BUDGET);
    assertThat(told.moves()).as("where the rules leave it free").hasSize(1);

    PlanningRules pinned = cluster.pinned(movable);
    assertThat(pinned.permission(request)).isEqualTo(Permission.PINNED);
    assertThat(pinned.defaultPermission()).isEqualTo(Permission.MOVABLE);
    Plan kept = SlicePlanner.create().repair(cluster.fleet(), pinned, BUDGET);
    assertThat(kept.moves()).isEmpty();
    assertThat(kept.broken()).hasSize(1);
  }
}

package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.time.Duration;
import java.time.Instant;
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

  @Test
  void aPlanForAnotherShapeIsRefused() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("blk", 2));
    objects.add(ClusterFixtures.job("team-a", "train", "tpu7x", "4x4x8", 0));
    Cluster cluster = ClusterReader.create().read(objects);
    SliceRequest smaller =
        cluster.requests().get(0).toBuilder().shapes(List.of(Shape.of(4, 4, 4))).build();
    Plan plan = SlicePlanner.create().plan(cluster.fleet(), List.of(smaller), BUDGET);
    assertThat(plan.placements()).hasSize(1);

    assertThatThrownBy(() -> ClusterPlan.of(cluster, plan))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("Job/team-a/train")
        .hasMessageContaining("4x4x4");
  }

  @Test
  void workThatIsLeftOutIsToldSo() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("blk", 2));
    Job job = ClusterFixtures.job("team-a", "train", "tpu7x", "4x4x8", 0);
    job.getSpec().setCompletions(31);
    objects.add(job);
    Cluster cluster = ClusterReader.builder().lenient(true).build().read(objects);
    assertThat(cluster.leftOut()).hasSize(1);

    Plan plan = SlicePlanner.create().plan(cluster.fleet(), cluster.requests(), BUDGET);
    List<Event> events = ClusterPlan.of(cluster, plan).events(Instant.EPOCH);
    assertThat(events).hasSize(1);
    assertThat(events.get(0).getReason()).isEqualTo("LeftOut");
    assertThat(events.get(0).getInvolvedObject().getKind()).isEqualTo("Job");
    assertThat(events.get(0).getInvolvedObject().getName()).isEqualTo("train");
  }
}

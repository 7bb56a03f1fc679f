package dev.slicewright.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomPlans;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.io.IOException;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

class PlanTextTest {

  @Provide
  Arbitrary<RandomFleets.Instance> instances() {
    return RandomFleets.instances();
  }

  @Property(tries = 100)
  void tellsEveryRequestAndReason(@ForAll("instances") RandomFleets.Instance instance) {
    Plan plan = RandomPlans.plan(instance);

    String text = PlanText.of(instance.requests(), plan);

    instance.requests().forEach(r -> assertThat(text).contains(r.id()));
    for (Unplaced u : plan.unplaced()) {
      assertThat(text).contains(u.sentence());
    }
    plan.moves().stream()
        .map(m -> m.from())
        .map(RunningSlice::id)
        .forEach(id -> assertThat(text).contains(id.toString()));
    assertThat(text.lines()).noneMatch(line -> line.endsWith(" "));
  }

  @Test
  void looksAsItShould() throws IOException {
    RandomFleets.Instance instance =
        RandomFleets.instance(
            21,
            RandomFleets.Limits.DEFAULT
                .kinds(RandomFleets.Kind.OPTICAL, RandomFleets.Kind.HALVED)
                .requests(6));

    PodPictureTest.golden("plan.txt", PlanText.of(instance.requests(), RandomPlans.plan(instance)));
  }

  @Test
  void rolloutWaveByWave() {
    TpuTopology row = TpuTopology.torus(8, 4, 4);
    SliceRequest a = SliceRequest.builder("a").shape("4x4x4").build();
    SliceRequest b = SliceRequest.builder("b").shape("4x4x4").build();
    Footprint left = new Footprint.Box(new Chip(0, 0, 0), Shape.of(4, 4, 4));
    Footprint right = new Footprint.Box(new Chip(4, 0, 0), Shape.of(4, 4, 4));
    RunningSlice first = RunningSlice.builder(a, 0, "p", Shape.of(4, 4, 4), left).build();
    RunningSlice second = RunningSlice.builder(b, 0, "p", Shape.of(4, 4, 4), right).build();
    Fleet fleet = Fleet.builder().pod("p", row).running(first).running(second).build();
    Plan plan =
        Plan.builder(0, PlanningRules.NONE)
            .move(
                new Move(
                    first, new Placement(first.id(), "p", row, first.shape(), right, Twist.NONE)))
            .move(
                new Move(
                    second, new Placement(second.id(), "p", row, second.shape(), left, Twist.NONE)))
            .build();
    assertThat(PlanText.of(Rollout.of(fleet, plan)))
        .startsWith("6 steps in 4 waves, about 600 seconds\nwave 1\n  suspend a/0 from ")
        .contains("wave 3\n  create a/0 at ")
        .endsWith(
            "wave 4, about 600 seconds\n  restore a/0; b/0\n"
                + "  note: a is suspended from wave 1 to wave 3 so that others can move:"
                + " 0 chip-seconds\n");
  }
}

package dev.slicewright.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomPlans;
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
}

package dev.slicewright.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.testing.RandomPlans;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** What is written reads back equal, and damage to it is refused, never half read. */
class SnapshotPropertiesTest {

  @Provide
  Arbitrary<Instance> instances() {
    return RandomFleets.instances();
  }

  @Property(tries = 250)
  void fleetRequestsRulesAndCostReadBackEqual(@ForAll("instances") Instance instance) {
    Snapshot snapshot = snapshot(instance);
    String json = snapshot.toJson();

    Snapshot read = Snapshot.read(json);

    assertThat(read).isEqualTo(snapshot);
    assertThat(read.fleet().version()).isEqualTo(instance.fleet().version());
    assertThat(read.toJson()).isEqualTo(json);
  }

  @Property(tries = 150)
  void plansReadBackEqual(@ForAll("instances") Instance instance) {
    Plan plan = RandomPlans.plan(instance);
    String together = snapshot(instance).withPlan(plan).toJson();
    // Alone, every topology and request has to come with the plan.
    String alone = Snapshot.of(Fleet.builder().build(), List.of()).withPlan(plan).toJson();

    assertThat(Snapshot.read(together).toJson()).isEqualTo(together);
    Plan read = Snapshot.read(alone).plan().orElseThrow();
    assertThat(snapshot(instance).withPlan(read).toJson()).isEqualTo(together);
    assertThat(read.score()).isEqualTo(plan.score());
    assertThat(read.toString()).isEqualTo(plan.toString());
  }

  @Property(tries = 150)
  void whatIsCutOffIsRefused(@ForAll("instances") Instance instance) {
    String json = snapshot(instance).toJson().stripTrailing();
    int end = 1 + new SplittableRandom(instance.seed()).nextInt(json.length() - 1);

    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> Snapshot.read(json.substring(0, end)));
  }

  @Property(tries = 100)
  void aDamagedCharacterIsRefusedOrHarmless(@ForAll("instances") Instance instance) {
    String json = snapshot(instance).withPlan(RandomPlans.plan(instance)).toJson();
    SplittableRandom random = new SplittableRandom(instance.seed());
    for (int i = 0; i < 10; i++) {
      StringBuilder damaged = new StringBuilder(json);
      damaged.setCharAt(random.nextInt(json.length()), "{}[]\",:0-9eax".charAt(random.nextInt(13)));
      try {
        Snapshot read = Snapshot.read(damaged.toString());
        assertThat(Snapshot.read(read.toJson()).toJson()).isEqualTo(read.toJson());
      } catch (InvalidInputException e) {
        assertThat(e.problems()).isNotEmpty().allMatch(p -> !p.path().isEmpty());
      }
    }
  }

  private static Snapshot snapshot(Instance instance) {
    return Snapshot.of(instance.fleet(), instance.requests())
        .withRules(instance.rules())
        .withCost(instance.cost());
  }
}

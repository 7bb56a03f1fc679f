package dev.slicewright.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.testing.RandomFleets.Kind;
import dev.slicewright.testing.RandomFleets.Limits;
import java.util.TreeSet;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

/** The fixture is what it says: reproducible, small, and it does use every feature. */
class RandomFleetsPropertiesTest {

  @Provide
  Arbitrary<Instance> instances() {
    return RandomFleets.instances();
  }

  @Property(tries = 200)
  void reproducible(@ForAll("instances") Instance instance) {
    Instance again = RandomFleets.instance(instance.seed(), instance.limits());

    assertThat(again).isEqualTo(instance);
  }

  @Property(tries = 200)
  void footprintsAreLegal(@ForAll("instances") Instance instance) {
    for (Pod pod : instance.fleet().pods()) {
      assertThat(pod.topology().cellCount()).isLessThanOrEqualTo(80);
      pod.topology().legalShapes().stream()
          .filter(shape -> shape.chips() <= 128)
          .forEach(
              shape ->
                  assertThat(RandomFleets.footprints(pod.topology(), shape))
                      .allMatch(f -> pod.topology().whyNot(shape, f).isEmpty()));
    }
  }

  @Test
  void everyFeatureTurnsUp() {
    TreeSet<String> seen = new TreeSet<>();
    for (Kind kind : Kind.values()) {
      for (int seed = 0; seed < 100; seed++) {
        Instance i = RandomFleets.instance(seed, Limits.DEFAULT.kinds(kind));
        i.fleet()
            .running()
            .forEach(
                s -> {
                  seen.add("on " + s.footprint().kind());
                  seen.add("twist " + !s.twist().isNone());
                  Pod pod = i.fleet().pod(s.pod()).orElseThrow();
                  seen.add("broken " + (pod.healthOf(s.footprint()) == Health.FAILED));
                  seen.add("slices " + s.request().slices());
                });
        i.fleet().holds().forEach(h -> seen.add("hold " + h.isLive(RandomFleets.NOW)));
        i.requests()
            .forEach(
                r -> {
                  seen.add("spread " + r.spread().kind());
                  seen.add("interconnect " + r.interconnect());
                  seen.add("gang " + r.gang().isPresent());
                  seen.add("pod " + r.pod().isPresent());
                  seen.add("healthy " + r.healthyOnly());
                  seen.add("shapes " + r.shapes().size());
                });
      }
    }

    assertThat(seen)
        .contains(
            "on BOX",
            "on CUBES",
            "on PARTITION",
            "twist true",
            "broken true",
            "slices 2",
            "hold true",
            "hold false",
            "spread AT_MOST",
            "spread DIFFERENT_PODS",
            "spread SAME_POD",
            "interconnect TWISTED",
            "interconnect WRAPAROUND",
            "gang true",
            "pod true",
            "healthy true",
            "shapes 0",
            "shapes 2");
  }
}

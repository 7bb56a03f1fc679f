package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Hold;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import io.fabric8.kubernetes.api.model.ConfigMap;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HoldObjectsTest {

  private static final Instant EXPIRY = Instant.parse("2026-03-01T12:30:00.5Z");

  private final Scene scene = new Scene();
  private final Problems problems = new Problems();

  private Domain domain(String id) {
    return scene.domains.get(id);
  }

  private static Hold hold(String id, String pod, Footprint footprint, String request) {
    return new Hold(id, pod, footprint, request, EXPIRY);
  }

  private static Footprint cubes(int... numbers) {
    return new Footprint.Cubes(Arrays.stream(numbers).mapToObj(CubeId::new).toList());
  }

  private ConfigMap add(Hold hold) {
    ConfigMap map = HoldObjects.toConfigMap(hold, domain(hold.pod()), "sched");
    scene.objects.add(map);
    return map;
  }

  @Test
  void everyFootprintThatHasAnIdIsReadBackAsItWasWritten() {
    scene.domains.block("a", 3).subslicing("s").pool("p", "4x4x8").single("n");
    List<Hold> holds = new ArrayList<>();
    holds.add(hold("any number, in order", "block/a", cubes(2, 0), "r"));
    holds.add(hold("one", "block/a", cubes(1), "r"));
    for (String id : List.of("block/a", "nodepool/s")) {
      PartitionForest forest = domain(id).topology().partitions().orElseThrow();
      for (PartitionId partition : forest.ids()) {
        if (domain(id).topology().cubesOf(forest.shape(partition)) == 0) {
          holds.add(
              hold(forest.name(partition), id, new Footprint.Partition(partition), "JobSet/t/j/w"));
        }
      }
    }
    for (String id : List.of("nodepool/p", "node/n")) {
      Footprint whole =
          HostFootprints.find(domain(id), new TreeSet<>(List.of(new HostId(0))), List.of())
              .orElseThrow()
              .footprint();
      holds.add(hold("all of " + id, id, whole, "r"));
    }
    assertThat(holds).hasSizeGreaterThan(100);

    for (Hold hold : holds) {
      ConfigMap map = HoldObjects.toConfigMap(hold, domain(hold.pod()), "sched");
      assertThat(HoldObjects.isHold(map)).isTrue();
      assertThat(HoldObjects.read(map, scene.domains, problems)).contains(hold);
    }
    assertThat(problems.list()).isEmpty();
  }

  @Test
  void theObjectIsNamedByItsHoldAndSaysWhatItKeeps() {
    scene.domains.block("a", 2);
    Hold hold = hold("any text: ÄÖ", "block/a", cubes(1, 0), "Job/t/j");

    ConfigMap map = HoldObjects.toConfigMap(hold, domain("block/a"), "sched");

    assertThat(map.getMetadata().getName()).matches("slicewright-hold-[a-z0-9]{10}");
    assertThat(map.getMetadata().getNamespace()).isEqualTo("sched");
    assertThat(map.getData())
        .isEqualTo(
            Map.of(
                "id", "any text: ÄÖ",
                "pod", "block/a",
                "topology", "4x4x4",
                "partitionIds", scene.domains.cube("a", 1) + "," + scene.domains.cube("a", 0),
                "request", "Job/t/j",
                "expiry", "2026-03-01T12:30:00.500Z"));
    assertThat(HoldObjects.toConfigMap(hold, domain("block/a"), "sched")).isEqualTo(map);
  }

  @Test
  void aHoldOfAnotherPodOrWithoutIdsCannotBeWritten() {
    scene.domains.block("a", 1).block("b", 1);

    assertThatThrownBy(
            () ->
                HoldObjects.toConfigMap(
                    hold("h", "block/a", cubes(0), "r"), domain("block/b"), "x"))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("block/b");
    assertThatThrownBy(
            () ->
                HoldObjects.toConfigMap(
                    hold("h", "block/a", cubes(7), "r"), domain("block/a"), "x"))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("cube 7");
  }

  @ParameterizedTest
  @CsvSource({
    "id, ''",
    "pod, block/z",
    "pod, ''",
    "topology, 4x",
    "topology, ''",
    "topology, 4x4x16",
    "partitionIds, ''",
    "partitionIds, 'nowhere'",
    "partitionIds, ','",
    "request, ''",
    "expiry, tomorrow",
    "expiry, 2026-13-01T00:00:00Z",
    "expiry, ''"
  })
  void whateverIsWrongWithAHoldIsNamedByItsKey(String key, String value) {
    scene.domains.block("a", 2);
    ConfigMap map = add(hold("h", "block/a", cubes(0, 1), "r"));
    map.getData().put(key, value);

    Scene.Outcome found = scene.find();

    String path = "ConfigMap/sched/" + map.getMetadata().getName();
    assertThat(found.problems())
        .isNotEmpty()
        .allSatisfy(
            p ->
                assertThat(p.path())
                    .startsWith(path + ".data[")
                    .contains(key.equals("topology") && value.length() > 3 ? "partitionIds" : key));
    assertThat(found.left()).containsExactly(path);
    assertThat(found.found().holds()).isEmpty();
  }

  @Test
  void everyMissingKeyIsNamedAtOnce() {
    ConfigMap map = new ConfigMap();
    assertThat(HoldObjects.isHold(map)).isFalse();

    assertThat(HoldObjects.read(map, scene.domains, problems)).isEmpty();
    assertThat(problems.list()).hasSize(5);
  }

  @Test
  void holdsAreReadExpiredOrNot() {
    scene.domains.block("a", 3);
    Hold first = hold("b", "block/a", cubes(0), "r");
    Hold second = new Hold("a", "block/a", cubes(1, 2), "q", Instant.EPOCH);
    add(first);
    add(second);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.found().holds()).containsExactly(second, first);
  }

  @Test
  void aHoldOnChipsOfAnotherRequestIsAProblem() {
    scene.domains.block("a", 2);
    scene.owned("s", "Job/t/j", 0, "2x2x1", scene.domains.partition("a-n0", "2x2x1"));
    ConfigMap map = add(hold("h", "block/a", cubes(0), "Job/t/other"));

    Scene.Outcome found = scene.find();

    assertThat(found.problem("ConfigMap/sched/" + map.getMetadata().getName() + ".data"))
        .contains("Slice/s", "Job/t/other");
    assertThat(found.found().holds()).isEmpty();
    assertThat(found.left()).hasSize(1);
  }

  @Test
  void aHoldMayCoverWhatLeaves() {
    scene.domains.block("a", 2);
    Scene.state(
        scene.owned("s", "Job/t/j", 0, "4x4x4", scene.domains.cube("a", 0)),
        SliceState.DEACTIVATING);
    Hold hold = hold("h", "block/a", cubes(0), "Job/t/other");
    add(hold);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.found().holds()).containsExactly(hold);
  }

  @Test
  void aHoldEndsWhenItsRequestRuns() {
    scene.domains.block("a", 4);
    scene.owned("s", "Job/t/j", 0, "4x4x4", scene.domains.cube("a", 0));
    add(hold("elsewhere", "block/a", cubes(1), "Job/t/j"));
    Scene.annotate(
        scene.owned("m", "Job/t/m", 0, "4x4x4", scene.domains.cube("a", 2)),
        TpuLabels.OWN_SLICES,
        "2");
    add(hold("here", "block/a", cubes(2), "Job/t/m"));
    Hold rest = hold("rest", "block/a", cubes(3), "Job/t/m");
    add(rest);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.found().holds()).containsExactly(rest);
    assertThat(found.leftOut())
        .hasSize(2)
        .allSatisfy(left -> assertThat(left.reason()).contains("delete the ConfigMap"));
  }

  @Test
  void ofHoldsThatOverlapTheOldestStaysAndOfOneIdToo() {
    scene.domains.block("a", 3);
    ConfigMap late = add(hold("x", "block/a", cubes(0, 1), "r"));
    ConfigMap early = add(hold("y", "block/a", cubes(1), "q"));
    ConfigMap twin = add(hold("y", "block/a", cubes(2), "q"));
    twin.getMetadata().setName("twin");
    late.getMetadata().setCreationTimestamp("2026-01-02T00:00:00Z");
    early.getMetadata().setCreationTimestamp("2026-01-01T00:00:00Z");
    twin.getMetadata().setCreationTimestamp("2026-01-03T00:00:00Z");

    for (int seed = 0; seed < 6; seed++) {
      Scene.Outcome found = scene.shuffled(seed);

      assertThat(found.found().holds()).extracting(Hold::id).containsExactly("y");
      assertThat(found.problem("ConfigMap/sched/" + late.getMetadata().getName() + ".data"))
          .contains(early.getMetadata().getName());
      assertThat(found.problem("ConfigMap/sched/twin.data")).contains("hold y");
    }
  }
}

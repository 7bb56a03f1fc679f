package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodSpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Random Slices over small blocks, judged by the sets of nodes that they name. */
class RunningSlicesPropertiesTest {

  private static final List<String> SHAPES =
      List.of("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x4x12");

  /** One Slice as the judge sees it. */
  private record Wanted(String name, boolean sound, boolean takes, int rank, Set<String> nodes) {}

  private final Map<String, Wanted> wanted = new LinkedHashMap<>();

  @Property(tries = 400)
  void acceptedSlicesNeverOverlapAndEveryRefusedOneDoesOrIsWrong(@ForAll long seed) {
    Random random = new Random(seed);
    Scene scene = scene(random);

    Scene.Outcome found = scene.find();

    Set<String> accepted =
        found.found().running().stream()
            .map(slice -> slice.request().id().substring("Slice//".length()))
            .collect(Collectors.toSet());
    Set<String> left =
        found.leftOut().stream().map(out -> out.object().name()).collect(Collectors.toSet());
    Set<String> used = new HashSet<>();
    for (Wanted slice : wanted.values()) {
      if (accepted.contains(slice.name())) {
        assertThat(slice.sound() && slice.takes()).as(slice.toString()).isTrue();
        for (String node : slice.nodes()) {
          assertThat(used.add(node)).as("%s of %s is taken once", node, slice.name()).isTrue();
        }
      } else if (slice.takes()) {
        assertThat(left).contains(slice.name());
        assertThat(!slice.sound() || overlapsOneBefore(slice, accepted))
            .as("%s is refused for a reason", slice)
            .isTrue();
      } else {
        assertThat(left).doesNotContain(slice.name());
      }
    }
    // Every chip that any Slice names, and none has, is out of use.
    Set<String> cordoned = new HashSet<>();
    scene.domains.all().forEach(d -> cordoned.addAll(scene.cordoned(found, d.id())));
    for (Wanted slice : wanted.values()) {
      if (!accepted.contains(slice.name())) {
        for (String node : slice.nodes()) {
          assertThat(cordoned.contains(node) || used.contains(node)).as(node).isTrue();
        }
      }
    }
  }

  private boolean overlapsOneBefore(Wanted slice, Set<String> accepted) {
    return wanted.values().stream()
        .filter(other -> accepted.contains(other.name()) && other.rank() < slice.rank())
        .anyMatch(other -> !Collections.disjoint(other.nodes(), slice.nodes()));
  }

  @Property(tries = 200)
  void theOrderOfTheObjectsChangesNothing(@ForAll long seed) {
    Random random = new Random(seed);
    Scene scene = scene(random);
    addPods(scene, random);

    Scene.Outcome found = scene.find();
    Scene.Outcome shuffled = scene.shuffled(seed + 1);

    assertThat(shuffled.found()).isEqualTo(found.found());
    assertThat(shuffled.problems()).containsExactlyInAnyOrderElementsOf(found.problems());
    assertThat(shuffled.leftOut()).containsExactlyInAnyOrderElementsOf(found.leftOut());
  }

  @Property(tries = 200)
  void noNodeWithAPodThatWantsChipsIsFree(@ForAll long seed) {
    Random random = new Random(seed);
    Scene scene = scene(random);
    addPods(scene, random);

    Scene.Outcome found = scene.find();

    Set<String> notFree = new HashSet<>();
    for (RunningSlice slice : found.found().running()) {
      notFree.addAll(StubDomains.nodesOf(scene.domains.get(slice.pod()), slice.footprint()));
    }
    scene.domains.all().forEach(d -> notFree.addAll(scene.cordoned(found, d.id())));
    for (HasMetadata object : scene.objects) {
      if (object instanceof Pod pod) {
        assertThat(notFree).as(pod.getMetadata().getName()).contains(pod.getSpec().getNodeName());
      }
    }
  }

  @Property(tries = 400)
  void nothingThrowsWhateverTheObjectsAreMadeOf(@ForAll long seed) {
    Random random = new Random(seed);
    Scene scene = scene(random);
    addPods(scene, random);
    scene.objects.add(
        HoldObjects.toConfigMap(
            new Hold(
                "h",
                "block/a",
                new Footprint.Cubes(List.of(new CubeId(0))),
                "Job/team/1",
                Instant.EPOCH),
            scene.domains.get("block/a"),
            "ns"));
    for (HasMetadata object : List.copyOf(scene.objects)) {
      if (random.nextInt(3) == 0) {
        spoil(object, random);
      }
    }

    Scene.Outcome found = scene.find(); // builds a fleet of what was found

    assertThat(found.problems()).allSatisfy(p -> assertThat(p.message()).isNotEmpty());
  }

  private static void spoil(HasMetadata object, Random random) {
    Object junk = junk(random, 3);
    String text = random.nextBoolean() ? null : String.valueOf(junk);
    switch (random.nextInt(6)) {
      case 0 -> object.setMetadata(random.nextBoolean() ? null : new ObjectMeta());
      case 1 -> object.getMetadata().setCreationTimestamp(text);
      case 2 -> object.getMetadata().setAnnotations(texts(text, random));
      case 3 -> object.getMetadata().setLabels(texts(text, random));
      default -> {
        if (object instanceof GenericKubernetesResource resource) {
          if (junk instanceof String && resource.getAdditionalProperties().get("spec") != null) {
            @SuppressWarnings("unchecked")
            Map<String, Object> spec =
                (Map<String, Object>) resource.getAdditionalProperties().get("spec");
            spec.put(List.of("type", "topology", "partitionIds").get(random.nextInt(3)), junk);
          } else {
            resource.setAdditionalProperty(random.nextBoolean() ? "spec" : "status", junk);
          }
        } else if (object instanceof ConfigMap map) {
          map.setData(texts(text, random));
        } else if (object instanceof Pod pod) {
          pod.getStatus().setStartTime(text);
          pod.setSpec(random.nextBoolean() ? null : new PodSpec());
        }
      }
    }
  }

  private static Map<String, String> texts(String text, Random random) {
    List<String> keys =
        List.of(
            TpuLabels.OWN_REQUEST,
            TpuLabels.OWN_INDEX,
            TpuLabels.OWN_SLICES,
            TpuLabels.OWN_EPOCH,
            TpuLabels.OWNER_NAME,
            TpuLabels.OWN_HOLD,
            TpuLabels.SLICE,
            "partitionIds",
            "expiry");
    if (random.nextInt(5) == 0) {
      return null;
    }
    Map<String, String> map = new LinkedHashMap<>();
    for (int i = 0; i < 4; i++) {
      String value = random.nextBoolean() ? text : String.valueOf(random.nextInt(5) - 1);
      map.put(keys.get(random.nextInt(keys.size())), value);
    }
    return map;
  }

  private static Object junk(Random random, int depth) {
    return switch (random.nextInt(depth == 0 ? 5 : 8)) {
      case 0 -> null;
      case 1 -> "4X8x4";
      case 2 -> random.nextInt();
      case 3 -> true;
      case 4 -> "x".repeat(random.nextInt(400));
      case 5 -> new ArrayList<>(Collections.singletonList(junk(random, depth - 1)));
      default -> {
        Map<String, Object> map = new LinkedHashMap<>();
        for (String key : List.of("type", "topology", "partitionIds", "conditions", "reason")) {
          map.put(key, junk(random, depth - 1));
        }
        yield map;
      }
    };
  }

  private static void addPods(Scene scene, Random random) {
    scene.domains.pool("p", "4x4x4").subslicing("v");
    List<String> nodes = new ArrayList<>();
    scene.domains.all().forEach(domain -> nodes.addAll(domain.nodes()));
    int pods = random.nextInt(12);
    for (int i = 0; i < pods; i++) {
      String node = nodes.get(random.nextInt(nodes.size()));
      var pod = scene.pod("p" + i, "Job/team/" + random.nextInt(3), random.nextInt(2), node);
      if (random.nextInt(4) == 0) {
        pod.getMetadata().setDeletionTimestamp(Scene.CREATED);
      }
      if (random.nextInt(3) == 0) {
        scene.labelled(node, "s" + random.nextInt(8), "");
      }
    }
  }

  /** Up to 12 Slices, some of them wrong, in random states and of random age. */
  private Scene scene(Random random) {
    wanted.clear();
    Scene scene = new Scene();
    scene.domains.block("a", 1 + random.nextInt(3)).block("b", 1);
    int count = 1 + random.nextInt(12);
    for (int i = 0; i < count; i++) {
      add(scene, random, "s" + i);
    }
    return scene;
  }

  private void add(Scene scene, Random random, String name) {
    String shape = SHAPES.get(random.nextInt(SHAPES.size()));
    boolean cubes = shape.startsWith("4x4");
    int needed = cubes ? (int) Shape.parse(shape).chips() / 64 : 1;
    int given = random.nextInt(10) == 0 ? needed + 1 : needed;
    List<String> ids = new ArrayList<>();
    Set<String> nodes = new HashSet<>();
    Set<String> blocks = new HashSet<>();
    boolean unknown = false;
    for (int i = 0; i < given; i++) {
      if (random.nextInt(15) == 0) {
        ids.add("nowhere");
        unknown = true;
        continue;
      }
      Domain domain = scene.domains.get(random.nextInt(5) == 0 ? "block/b" : "block/a");
      PartitionForest forest = domain.topology().partitions().orElseThrow();
      List<PartitionId> all = forest.ofShape(cubes ? Shape.of(4, 4, 4) : Shape.parse(shape));
      PartitionId id = all.get(random.nextInt(all.size()));
      ids.add(domain.platformId(id));
      nodes.addAll(StubDomains.nodesOf(domain, new Footprint.Partition(id)));
      blocks.add(domain.id());
    }
    boolean sound =
        given == needed && !unknown && blocks.size() == 1 && new HashSet<>(ids).size() == needed;
    GenericKubernetesResource slice = scene.slice(name, shape, ids.toArray(String[]::new));
    SliceState state = SliceState.values()[random.nextInt(SliceState.values().length)];
    Scene.state(slice, state);
    int day = 1 + random.nextInt(5);
    slice.getMetadata().setCreationTimestamp("2026-01-0" + day + "T00:00:00Z");
    int byName = Integer.parseInt(name.substring(1));
    // Names of two digits come between s1 and s2.
    int order = byName < 2 ? byName : byName < 10 ? byName + 10 : byName - 8;
    int rank = (state.isReady() ? 0 : 1_000) + day * 100 + order;
    wanted.put(name, new Wanted(name, sound, state.takesPartitions(), rank, nodes));
  }
}

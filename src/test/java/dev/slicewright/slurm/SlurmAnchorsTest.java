package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Plan;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Random toruses, placements, nodes that are down and jobs, against {@link SlurmOracle}. */
class SlurmAnchorsTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(2));

  private final SlicePlanner planner = SlicePlanner.create();

  /** What a random case is made of. */
  record Case(List<SlurmTorus> toruses, String yaml, List<SlurmNode> nodes) {}

  @Test
  void aJobThatSlurmCouldStartIsStartedAndNoOther() {
    Random random = new Random(11);
    Map<SlurmModel, Integer> models = new EnumMap<>(SlurmModel.class);
    int placed = 0;
    int waiting = 0;
    for (int round = 0; round < 250; round++) {
      Case c = random(random);
      int size = size(random, c.toruses);
      SlurmCluster cluster =
          SlurmTopologyReader.create()
              .read(c.yaml)
              .withNodes(c.nodes)
              .withJobs(List.of(SlurmJob.builder("1", size).build()));
      cluster
          .toruses()
          .forEach(t -> models.merge(cluster.model(t.name()).orElseThrow(), 1, Integer::sum));
      Set<Set<String>> idle = idle(c, SlurmOracle.anchors(c.toruses, size));

      Plan plan = planner.plan(cluster.fleet(), cluster.requests(), BUDGET);
      SlurmPlan slurm = SlurmPlan.of(cluster, plan);

      assertThat(asSets(cluster.idleAnchors(size))).as(c.yaml).isEqualTo(idle);
      if (idle.isEmpty()) {
        assertThat(slurm.placements()).as(c.yaml).isEmpty();
        assertThat(slurm.waiting()).hasSize(1);
        waiting++;
      } else {
        assertThat(slurm.waiting()).as("%s%n%s", c.yaml, c.nodes).isEmpty();
        assertThat(idle).as(c.yaml).contains(Set.copyOf(slurm.placements().get(0).nodes()));
        placed++;
      }
      assertThat(slurm.problems()).isEmpty();
    }
    assertThat(placed).isGreaterThan(80);
    assertThat(waiting).isGreaterThan(20);
    assertThat(models.keySet())
        .contains(SlurmModel.PARTITIONS, SlurmModel.BOXES, SlurmModel.SOME_ANCHORS);
  }

  @Test
  void everySegmentOfManyJobsIsAnAnchorAndNoNodeIsGivenTwice() {
    Random random = new Random(12);
    for (int round = 0; round < 60; round++) {
      Case c = random(random);
      List<SlurmJob> jobs = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        int size = size(random, c.toruses);
        int segments = 1 + random.nextInt(2);
        jobs.add(
            SlurmJob.builder("" + i, size * segments)
                .segment(segments == 1 ? 0 : size)
                .priority(random.nextInt(4))
                .build());
      }
      SlurmCluster cluster =
          SlurmTopologyReader.create().read(c.yaml).withNodes(c.nodes).withJobs(jobs);

      SlurmPlan slurm =
          SlurmPlan.of(cluster, planner.plan(cluster.fleet(), cluster.requests(), BUDGET));

      Set<String> given = new HashSet<>();
      for (SlurmPlan.JobPlacement placement : slurm.placements()) {
        SlurmJob job = cluster.job(placement.job()).orElseThrow();
        assertThat(placement.nodes()).hasSize(job.nodeCount());
        for (SlurmPlan.Segment segment : placement.segments()) {
          assertThat(idle(c, SlurmOracle.anchors(c.toruses, segment.nodes().size())))
              .as(c.yaml)
              .contains(Set.copyOf(segment.nodes()));
          assertThat(segment.nodes()).allMatch(given::add);
        }
      }
      assertThat(slurm.problems()).isEmpty();
      assertThat(slurm.placements().size() + slurm.waiting().size()).isEqualTo(jobs.size());
    }
  }

  @Test
  void jobsThatRunWhereTheyWerePlacedAreReadBackThere() {
    Random random = new Random(13);
    int read = 0;
    for (int round = 0; round < 80; round++) {
      Case c = random(random);
      int size = size(random, c.toruses);
      List<SlurmJob> jobs =
          List.of(
              SlurmJob.builder("1", 2 * size).segment(size).build(),
              SlurmJob.builder("2", size).build());
      SlurmCluster cluster =
          SlurmTopologyReader.create().read(c.yaml).withNodes(c.nodes).withJobs(jobs);
      SlurmPlan slurm =
          SlurmPlan.of(cluster, planner.plan(cluster.fleet(), cluster.requests(), BUDGET));
      List<SlurmJob> running = new ArrayList<>();
      for (SlurmPlan.JobPlacement p : slurm.placements()) {
        running.add(cluster.job(p.job()).orElseThrow().toBuilder().runningOn(p.nodeList()).build());
      }

      SlurmCluster after = cluster.withJobs(running);

      for (SlurmPlan.JobPlacement p : slurm.placements()) {
        Set<String> nodes = new TreeSet<>();
        after
            .fleet()
            .runningOf(p.job())
            .forEach(s -> nodes.addAll(after.nodes(s.pod(), s.shape(), s.footprint())));
        assertThat(nodes).as("%s%n%s", c.yaml, p).isEqualTo(new TreeSet<>(p.nodes()));
        read++;
      }
      Set<String> taken = new HashSet<>();
      slurm.placements().forEach(p -> taken.addAll(p.nodes()));
      assertThat(after.idleNodes().names())
          .doesNotContainAnyElementsOf(taken.isEmpty() ? List.of("none") : taken)
          .hasSize(cluster.idleNodes().size() - taken.size());
    }
    assertThat(read).isGreaterThan(40);
  }

  @Test
  void boxesAnywhereMayBeRefusedBySlurmAndAreThenNamed() {
    String yaml = SlurmTopologyFixturesTest.read("crossing.yaml");
    List<SlurmNode> nodes = new ArrayList<>();
    SlurmCluster exact = SlurmTopologyReader.create().read(yaml);
    // Only a box of 2x2x4 that begins at z 2 is up.
    TorusBox up = new TorusBox(new Chip(0, 0, 2), Shape.of(2, 2, 4));
    Set<Integer> cells = new HashSet<>();
    for (int cell : up.cells(exact.toruses().get(0).dims())) {
      cells.add(cell);
    }
    List<String> names = exact.toruses().get(0).nodes();
    for (int i = 0; i < names.size(); i++) {
      nodes.add(SlurmNode.of(names.get(i), cells.contains(i) ? "idle" : "down"));
    }
    List<SlurmJob> jobs = List.of(SlurmJob.builder("7", 16).build());

    SlurmCluster any =
        SlurmTopologyReader.builder()
            .anyAnchor(true)
            .build()
            .read(yaml)
            .withNodes(nodes)
            .withJobs(jobs);
    SlurmPlan loose = SlurmPlan.of(any, planner.plan(any.fleet(), any.requests(), BUDGET));
    SlurmCluster some = exact.withNodes(nodes).withJobs(jobs);
    SlurmPlan strict = SlurmPlan.of(some, planner.plan(some.fleet(), some.requests(), BUDGET));

    assertThat(any.model("c")).contains(SlurmModel.ANY_ANCHOR);
    assertThat(loose.placements()).hasSize(1);
    assertThat(loose.problems())
        .singleElement()
        .satisfies(
            p -> {
              assertThat(p.path()).isEqualTo("Job/7.segments[0]");
              assertThat(p.message()).contains("2x2x4").contains("so Slurm refuses it");
            });
    assertThat(some.model("c")).contains(SlurmModel.SOME_ANCHORS);
    assertThat(strict.placements()).isEmpty();
    assertThat(strict.problems()).isEmpty();
  }

  // ---------------------------------------------------------------- random cases

  static Case random(Random random) {
    List<SlurmTorus> toruses = new ArrayList<>();
    int count = 1 + random.nextInt(2);
    List<Shape> shapes = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      shapes.add(shape(random, 3));
    }
    for (int t = 0; t < count; t++) {
      toruses.add(torus(random, t, shapes));
    }
    List<SlurmNode> nodes = new ArrayList<>();
    String[] states = {"idle", "idle", "idle", "idle", "drained", "down*", "planned", "mixed"};
    int down = random.nextInt(3);
    for (SlurmTorus torus : toruses) {
      for (String node : torus.nodes()) {
        if (!node.isEmpty()) {
          String state = random.nextInt(4) < down ? states[random.nextInt(8)] : "idle";
          nodes.add(SlurmNode.of(node, state));
        }
      }
    }
    Collections.shuffle(nodes, random);
    return new Case(toruses, SlurmTopologyWriter.write("t", toruses), nodes);
  }

  /** Boxes of blocks of 2x2x2 on grids of that mesh, of one seed or several. */
  private static List<TorusPlacement> blocks(Random random, Shape dims, List<Shape> shapes) {
    List<TorusPlacement> placements = new ArrayList<>();
    boolean oneSeed = random.nextBoolean();
    for (Shape shape : shapes) {
      Chip seed =
          oneSeed
              ? new Chip(1, 1, 0)
              : new Chip(random.nextInt(2), random.nextInt(2), random.nextInt(2));
      Shape extents = Shape.of(shape.x() > 2 ? 4 : 2, shape.y() > 1 ? 4 : 2, shape.z() > 2 ? 4 : 2);
      placements.add(new TorusPlacement(extents, seed, Shape.of(2, 2, 2)));
    }
    return placements;
  }

  private static SlurmTorus torus(Random random, int number, List<Shape> shapes) {
    int style = random.nextInt(5);
    Shape dims =
        style == 4
            ? Shape.of(4 + 2 * random.nextInt(2), 6, 4 + 2 * random.nextInt(2))
            : shape(random, 6);
    List<String> nodes = new ArrayList<>();
    boolean holes = random.nextInt(4) == 0;
    for (int i = 0; i < dims.chips(); i++) {
      nodes.add(i > 0 && holes && random.nextInt(12) == 0 ? "" : "t" + number + "n" + i);
    }
    Set<TorusPlacement> placements = new LinkedHashSet<>();
    if (style == 4) {
      placements.addAll(blocks(random, dims, shapes));
    }
    for (Shape shape : style == 4 ? List.<Shape>of() : shapes) {
      List<Shape> turns = new ArrayList<>(List.of(shape));
      if (style != 1) {
        turns.add(Shape.of(shape.y(), shape.z(), shape.x()));
        turns.add(Shape.of(shape.z(), shape.x(), shape.y()));
        turns.add(Shape.of(shape.y(), shape.x(), shape.z()));
        turns.add(Shape.of(shape.x(), shape.z(), shape.y()));
        turns.add(Shape.of(shape.z(), shape.y(), shape.x()));
      }
      for (Shape turn : turns) {
        Shape fit =
            Shape.of(
                Math.min(turn.x(), dims.x()),
                Math.min(turn.y(), dims.y()),
                Math.min(turn.z(), dims.z()));
        placements.add(
            switch (style) {
              case 0 -> TorusPlacement.anywhere(fit);
              case 1, 2 -> TorusPlacement.of(fit);
              default ->
                  new TorusPlacement(
                      fit,
                      new Chip(
                          random.nextInt(dims.x()),
                          random.nextInt(dims.y()),
                          random.nextInt(dims.z())),
                      Shape.of(
                          1 + random.nextInt(dims.x()),
                          1 + random.nextInt(dims.y()),
                          1 + random.nextInt(dims.z())));
            });
      }
    }
    return new SlurmTorus("torus" + number, dims, nodes, List.copyOf(placements));
  }

  private static Shape shape(Random random, int most) {
    return Shape.of(1 + random.nextInt(most), 1 + random.nextInt(most), 1 + random.nextInt(most));
  }

  private static int size(Random random, List<SlurmTorus> toruses) {
    List<TorusPlacement> all = toruses.get(random.nextInt(toruses.size())).placements();
    return (int) all.get(random.nextInt(all.size())).size() + (random.nextInt(20) == 0 ? 1 : 0);
  }

  private static Set<Set<String>> idle(Case c, Set<Set<String>> anchors) {
    Set<String> up = new HashSet<>();
    for (SlurmNode node : c.nodes) {
      if (node.state().equals("idle") || node.state().equals("planned")) {
        up.add(node.name());
      }
    }
    Set<Set<String>> idle = new HashSet<>();
    anchors.stream().filter(up::containsAll).forEach(idle::add);
    return idle;
  }

  private static Set<Set<String>> asSets(List<HostList> lists) {
    Set<Set<String>> sets = new HashSet<>();
    lists.forEach(list -> sets.add(Set.copyOf(list.names())));
    return sets;
  }
}

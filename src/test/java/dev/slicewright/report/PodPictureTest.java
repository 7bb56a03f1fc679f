package dev.slicewright.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomPlans;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** Golden files: run with {@code -Dgolden.write=true} to write them anew, then look at them. */
class PodPictureTest {

  private static final Path GOLDEN = Path.of("src", "test", "resources", "golden");
  private static final String POD = "us-east5-a/1";

  @Test
  void aPodOfPartitions() throws IOException {
    Fleet fleet = Fleet.builder().pod("v6e", TpuTopology.v6e()).build();
    fleet = partition(fleet, "train", "8x16", 8, 0);
    fleet = partition(fleet, "serve", "4x4", 0, 4);
    fleet = partition(fleet, "tiny", "1x1", 5, 1);
    fleet = fleet.failHost("v6e", new HostId(37)).failHost("v6e", new HostId(1));
    fleet = fleet.cordon("v6e", new Part.Host(new HostId(24)));
    fleet = fleet.report("v6e", new Part.Host(new HostId(3)), Health.DEGRADED);

    golden("v6e", PodPicture.of(fleet.pod("v6e").orElseThrow()));
  }

  @Test
  void aTorus() throws IOException {
    Fleet fleet = Fleet.builder().pod("lab", TpuTopology.torus(8, 8, 4)).build();
    SliceRequest wraps = SliceRequest.builder("wraps").shape("4x4x2").build();
    fleet =
        fleet.place(
            RunningSlice.builder(
                    wraps,
                    0,
                    "lab",
                    Shape.of(4, 4, 2),
                    new Footprint.Box(new Chip(6, 6, 3), Shape.of(4, 4, 2)))
                .build());
    fleet = fleet.fail("lab", new Part.Link(new Chip(3, 3, 0), Axis.Z));

    golden("torus", PodPicture.of(fleet.pod("lab").orElseThrow()));
  }

  @Test
  void cubesBeforeAndAfterAPlan() throws IOException {
    TpuTopology t = TpuTopology.builder(AcceleratorType.V5P).dims(8, 8, 12).build();
    Fleet fleet = Fleet.builder().pod(POD, t).build();
    fleet = cubes(fleet, "old", "4x4x8", 0, 5);
    fleet = cubes(fleet, "low", "4x4x4", 9);
    SliceRequest half = SliceRequest.builder("half").shape("2x4x4").build();
    RunningSlice here =
        RunningSlice.builder(half, 0, POD, Shape.of(2, 4, 4), node(t, "2x4x4", 0, 4, 0)).build();
    fleet = fleet.place(here).failHost(POD, new HostId(2 * 16)).failHost(POD, new HostId(50));
    fleet = fleet.report(POD, new Part.OcsPort(new CubeId(7), Axis.X, true, 0), Health.FAILED);
    fleet = fleet.cordon(POD, new Part.Cube(new CubeId(8)));
    fleet =
        fleet.hold(
            new Hold(
                "hold <1>",
                POD,
                new Footprint.Cubes(List.of(new CubeId(11))),
                "later & more",
                Instant.parse("2026-03-01T12:30:00Z")));
    Plan plan =
        Plan.builder(
                fleet.version(),
                PlanningRules.builder().now(Instant.parse("2026-03-01T12:00:00Z")).build())
            .placement(
                new RequestPlacement(
                    SliceRequest.builder("new").shape("4x4x12").build(),
                    List.of(
                        new Placement(
                            new SliceId("new", 0),
                            POD,
                            t,
                            Shape.of(4, 4, 12),
                            new Footprint.Cubes(
                                List.of(new CubeId(9), new CubeId(1), new CubeId(6))),
                            Twist.NONE)),
                    0))
            .move(
                new Move(
                    here,
                    new Placement(
                        here.id(), POD, t, here.shape(), node(t, "2x4x4", 2, 4, 8), Twist.NONE)))
            .eviction(
                new Eviction("low", List.of(fleet.running(new SliceId("low", 0)).orElseThrow())))
            .build();

    golden("cubes", PodPicture.beforeAndAfter(fleet.pod(POD).orElseThrow(), plan));
  }

  @Test
  void fullPodsFitAHundredColumnsAndAScreen() {
    for (TpuTopology t :
        List.of(TpuTopology.v5p(), TpuTopology.tpu7x(), TpuTopology.v6e(), TpuTopology.v4())) {
      Fleet fleet = Fleet.builder().pod("p", t).build();
      for (int i = 0; i < 12; i++) {
        fleet = fleet.failHost("p", new HostId(i * t.hostCount() / 12));
      }
      String text = PodPicture.of(fleet.pod("p").orElseThrow()).text();

      assertThat(text.lines().mapToInt(String::length).max().orElse(0)).isLessThanOrEqualTo(100);
      assertThat(text.lines().count()).isLessThanOrEqualTo(40);
    }
  }

  @Provide
  Arbitrary<RandomFleets.Instance> instances() {
    return RandomFleets.instances();
  }

  @Property(tries = 100)
  void everyPictureIsValidAndTellsEverySlice(@ForAll("instances") RandomFleets.Instance instance)
      throws Exception {
    Plan plan = RandomPlans.plan(instance);
    for (Pod pod : instance.fleet().pods()) {
      PodPicture now = PodPicture.of(pod);
      for (RunningSlice slice : pod.running()) {
        assertThat(now.text()).contains(slice.id() + " " + slice.shape());
      }
      for (PodPicture picture :
          List.of(now, PodPicture.after(pod, plan), PodPicture.beforeAndAfter(pod, plan))) {
        Document svg =
            DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(picture.svg())));
        NodeList all = svg.getElementsByTagName("*");
        Set<String> ids = new HashSet<>();
        IntStream.range(0, all.getLength())
            .mapToObj(i -> ((Element) all.item(i)).getAttribute("id"))
            .filter(id -> !id.isEmpty())
            .forEach(id -> assertThat(ids.add(id)).as(id).isTrue());
        assertThat(picture.svg()).doesNotContain("href", "NaN", "Infinity");
        assertThat(picture.svg()).isEqualTo(picture.svg());
      }
    }
  }

  // ---------------------------------------------------------------- helpers

  /** The partition of a shape at an origin. */
  private static Footprint.Partition node(TpuTopology t, String shape, int x, int y, int z) {
    PartitionForest forest = t.partitions().orElseThrow();
    Footprint.Box box = new Footprint.Box(new Chip(x, y, z), Shape.parse(shape));
    return IntStream.range(0, forest.size())
        .mapToObj(PartitionId::new)
        .filter(id -> forest.box(id).orElseThrow().equals(box))
        .map(Footprint.Partition::new)
        .findFirst()
        .orElseThrow();
  }

  private static Fleet partition(Fleet fleet, String id, String shape, int x, int y) {
    TpuTopology t = fleet.pod("v6e").orElseThrow().topology();
    SliceRequest request = SliceRequest.builder(id).shape(shape).build();
    return fleet.place(
        RunningSlice.builder(request, 0, "v6e", Shape.parse(shape), node(t, shape, x, y, 0))
            .build());
  }

  private static Fleet cubes(Fleet fleet, String id, String shape, int... cubes) {
    SliceRequest request = SliceRequest.builder(id).shape(shape).build();
    Footprint footprint = new Footprint.Cubes(IntStream.of(cubes).mapToObj(CubeId::new).toList());
    return fleet.place(
        RunningSlice.builder(request, 0, POD, Shape.parse(shape), footprint).build());
  }

  private static void golden(String name, PodPicture picture) throws IOException {
    golden(name + ".txt", picture.text());
    golden(name + ".svg", picture.svg());
  }

  static void golden(String file, String text) throws IOException {
    Path path = GOLDEN.resolve(file);
    if (Boolean.getBoolean("golden.write")) {
      Files.createDirectories(GOLDEN);
      Files.writeString(path, text);
    }
    assertThat(text).isEqualTo(Files.readString(path, StandardCharsets.UTF_8));
  }
}

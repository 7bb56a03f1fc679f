package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Toruses and fleets as topology.yaml. */
class SlurmTopologyWriterTest {

  @Test
  void randomToruses_areReadBackEqual() {
    Random random = new Random(31);
    for (int round = 0; round < 300; round++) {
      SlurmAnchorsTest.Case c = SlurmAnchorsTest.random(random);

      SlurmCluster read = SlurmTopologyReader.create().read(c.yaml());

      assertThat(read.toruses()).isEqualTo(c.toruses());
    }
  }

  @Test
  void theTextIsWhatAnOperatorWouldWrite() {
    SlurmTorus full =
        new SlurmTorus(
            "t0",
            Shape.of(2, 2, 2),
            HostList.parse("n[1-8]").names(),
            List.of(
                TorusPlacement.of(Shape.of(2, 2, 1)), TorusPlacement.anywhere(Shape.of(1, 2, 2))));
    List<String> nodes = new ArrayList<>(HostList.parse("m[1-4]").names());
    nodes.set(0, "");
    SlurmTorus holed =
        new SlurmTorus(
            "t1",
            Shape.of(2, 2, 1),
            nodes,
            List.of(new TorusPlacement(Shape.of(1, 1, 1), new Chip(1, 0, 0), Shape.of(2, 1, 1))));

    assertThat(SlurmTopologyWriter.write("pods", List.of(full, holed)))
        .isEqualTo(
            """
            ---
            - topology: "pods"
              cluster_default: true
              torus3d:
                toruses:
                  - name: "t0"
                    dims: {x: 2, y: 2, z: 2}
                    nodes: "n[1-8]"
                    placements:
                      - dims: {x: 2, y: 2, z: 1}
                      - dims: {x: 1, y: 2, z: 2}
                        anchor_spacing: {x: 1, y: 1, z: 1}
                  - name: "t1"
                    dims: {x: 2, y: 2, z: 1}
                    regions:
                      - anchor: {x: 1, y: 0, z: 0}
                        dims: {x: 1, y: 2, z: 1}
                        nodes: "m[2,4]"
                      - anchor: {x: 0, y: 1, z: 0}
                        dims: {x: 1, y: 1, z: 1}
                        nodes: "m3"
                    placements:
                      - dims: {x: 1, y: 1, z: 1}
                        anchor_seed: {x: 1, y: 0, z: 0}
                        anchor_spacing: {x: 2, y: 1, z: 1}
            """);
  }

  @Test
  void aFleetOfWiredToriSaysExactlyItsLegalBoxes() {
    Fleet fleet =
        Fleet.builder()
            .pod("torus", named(TpuTopology.torusBuilder(4, 4, 3), "a", 12))
            .pod("mesh", named(TpuTopology.torusBuilder(4, 4, 3).mesh(), "b", 12))
            .pod("mixed", named(TpuTopology.torusBuilder(6, 4, 2).wrap(Axis.X, false), "c", 12))
            .pod(
                "chips",
                named(TpuTopology.torusBuilder(3, 2, 2).hostTile(Shape.of(1, 1, 1)), "d", 12))
            .build();

    List<SlurmTorus> toruses = SlurmTopologyWriter.toruses(fleet);
    SlurmCluster read =
        SlurmTopologyReader.create().read(SlurmTopologyWriter.write("fleet", toruses));

    assertThat(read.toruses()).isEqualTo(toruses);
    for (SlurmTorus torus : toruses) {
      TpuTopology topology = fleet.pod(torus.name()).orElseThrow().topology();
      Set<Set<String>> boxes = new HashSet<>();
      for (Shape shape : topology.legalShapes()) {
        boxes.addAll(places(topology, shape));
      }
      Set<Set<String>> anchors = new HashSet<>();
      for (int size = 1; size <= topology.hostCount(); size++) {
        anchors.addAll(SlurmOracle.anchors(List.of(torus), size));
      }
      assertThat(anchors).as(torus.name()).isEqualTo(boxes);
    }
  }

  /** Every way to place a shape, as sets of host names, by asking the topology of each box. */
  private static Set<Set<String>> places(TpuTopology topology, Shape shape) {
    Set<Set<String>> places = new HashSet<>();
    for (Orientation turn : Orientation.ofRank(3)) {
      for (int chip = 0; chip < topology.chipCount(); chip++) {
        Footprint box = new Footprint.Box(topology.chip(chip), turn.extents(shape));
        Shape extents = turn.extents(shape);
        if (extents.x() <= topology.dims().x()
            && extents.y() <= topology.dims().y()
            && extents.z() <= topology.dims().z()
            && topology.whyNot(shape, box).isEmpty()) {
          Set<String> names = new HashSet<>();
          for (HostId host : topology.workerHosts(shape, box)) {
            names.add(topology.hostName(host));
          }
          places.add(names);
        }
      }
    }
    return places;
  }

  private static TpuTopology named(TpuTopology.Builder builder, String prefix, int hosts) {
    return builder.hostNames(HostList.parse(prefix + "[1-" + hosts + "]").names()).build();
  }

  @Test
  void onlyTheShapesAskedForBecomePlacements() {
    Fleet fleet =
        Fleet.builder().pod("p", named(TpuTopology.torusBuilder(8, 8, 8), "p", 128)).build();

    assertThat(SlurmTopologyWriter.toruses(fleet, Shape.of(4, 4, 8)).get(0).placements())
        .containsExactlyInAnyOrder(
            TorusPlacement.anywhere(Shape.of(2, 2, 8)),
            TorusPlacement.anywhere(Shape.of(2, 4, 4)),
            TorusPlacement.anywhere(Shape.of(4, 2, 4)));
    assertThatThrownBy(() -> SlurmTopologyWriter.toruses(fleet))
        .hasMessageContaining("expected at most 64 placements")
        .hasMessageContaining("pod/p.shapes");
  }

  @Test
  void podsThatSlurmCannotSayAreListedWhole() {
    Fleet fleet =
        Fleet.builder()
            .pod("optical", TpuTopology.tpu7x())
            .pod("nameless", TpuTopology.torus(4, 4, 4))
            .pod("nested", TpuTopology.v6e())
            .pod("odd", TpuTopology.torusBuilder(2, 2, 1).hostNames(List.of("a b")).build())
            .build();

    assertThatThrownBy(() -> SlurmTopologyWriter.toruses(fleet))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e ->
                assertThat(e.problems())
                    .extracting(p -> p.path())
                    .containsExactly(
                        "pod/nameless.hostNames",
                        "pod/nested.topology",
                        "pod/odd.names[0]",
                        "pod/optical.topology"));
  }

  @Test
  void namesThatYamlWouldTakeOtherwiseAreQuotedOrRefused() {
    SlurmTorus torus =
        new SlurmTorus("a: \"b\" \\ #c", Shape.of(1, 1, 1), List.of("yes"), List.of());

    SlurmCluster read =
        SlurmTopologyReader.create().read(SlurmTopologyWriter.write("null", List.of(torus)));

    assertThat(read.toruses()).containsExactly(torus);
    assertThat(read.topology()).isEqualTo("null");
    assertThatThrownBy(() -> SlurmTopologyWriter.write("a\nb", List.of(torus)))
        .isInstanceOf(InvalidInputException.class);
  }
}

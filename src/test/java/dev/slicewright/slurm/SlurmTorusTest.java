package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Toruses built in Java, and what they need. */
class SlurmTorusTest {

  private static final Shape DIMS = Shape.of(4, 2, 1);
  private static final List<String> NODES = HostList.parse("n[1-8]").names();

  private static SlurmTorus torus(TorusPlacement... placements) {
    return new SlurmTorus("t", DIMS, NODES, List.of(placements));
  }

  @Test
  void anAnchorIsTheExactSetOfNodesInAnyOrder() {
    SlurmTorus torus =
        torus(new TorusPlacement(Shape.of(2, 1, 1), new Chip(1, 0, 0), Shape.of(2, 1, 1)));

    assertThat(torus.isAnchor(List.of("n3", "n2"))).isTrue();
    assertThat(torus.isAnchor(List.of("n1", "n4"))).as("round the axis").isTrue();
    assertThat(torus.isAnchor(List.of("n1", "n2"))).as("between anchors").isFalse();
    assertThat(torus.isAnchor(List.of("n2", "n6"))).as("turned").isFalse();
    assertThat(torus.isAnchor(List.of("n2", "n3", "n4"))).isFalse();
    assertThat(torus.isAnchor(List.of("n2", "n2"))).isFalse();
    assertThat(torus.isAnchor(List.of("n2", "m3"))).isFalse();
    assertThat(torus.isAnchor(List.of())).isFalse();
    assertThat(torus().isAnchor(List.of("n1", "n5"))).as("no placements: any box").isTrue();
    assertThat(torus().isAnchor(List.of("n1", "n6"))).isFalse();
    assertThat(torus.address("n8")).contains("t:3:1:0");
    assertThat(torus.address("x")).isEmpty();
  }

  @Test
  void whatIsWrongWithATorusIsListedWhole() {
    assertThatThrownBy(
            () ->
                new SlurmTorus(
                    "t",
                    DIMS,
                    List.of("a", "a"),
                    List.of(
                        TorusPlacement.of(Shape.of(5, 1, 1)),
                        TorusPlacement.of(Shape.of(1, 1)),
                        new TorusPlacement(
                            Shape.of(1, 1, 1), new Chip(0, 2, 0), Shape.of(1, 1, 1)))))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e ->
                assertThat(e.problems())
                    .extracting(p -> p.path())
                    .containsExactly(
                        "nodes", "nodes[1]", "placements[0]", "placements[1]", "placements[2]"));
    SlurmTorus wide =
        new SlurmTorus("t", Shape.of(100, 1, 1), HostList.parse("n[1-100]").names(), List.of());
    assertThatThrownBy(() -> SlurmCluster.of("x", List.of(torus(), wide)))
        .hasMessageContaining("name of its own")
        .hasMessageContaining("let the longest axis be z")
        .hasMessageContaining("n8 is in another torus too");
  }

  /** Classes of this library anew, and none of Jackson and what is under it. */
  private static final class WithoutYaml extends ClassLoader {
    WithoutYaml() {
      super(SlurmTorusTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.startsWith("tools.jackson") || name.startsWith("org.snakeyaml")) {
        throw new ClassNotFoundException(name);
      }
      if (!name.startsWith("dev.slicewright")) {
        return super.loadClass(name, resolve);
      }
      Class<?> known = findLoadedClass(name);
      if (known != null) {
        return known;
      }
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        if (in == null) {
          throw new ClassNotFoundException(name);
        }
        byte[] bytes = in.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  /** Run by {@link #allButReadingYamlAndJsonWorksWithoutJackson} where Jackson is not to be had. */
  public static final class Offline implements Supplier<String> {
    @Override
    public String get() {
      SlurmCluster cluster =
          SlurmCluster.of("x", List.of(torus(TorusPlacement.of(Shape.of(2, 1, 1)))))
              .withNodes("n[1-8] idle")
              .withJobs("7|RUNNING|None|2|5|a|b|p|1:00|n[1-2]\n8|PENDING|None|2|5|a|b|p|1:00|");
      return cluster.fleet().running()
          + " "
          + cluster.requests()
          + SlurmTopologyWriter.write("x", cluster.toruses());
    }
  }

  @Test
  void allButReadingYamlAndJsonWorksWithoutJackson() throws Exception {
    Class<?> offline = new WithoutYaml().loadClass(Offline.class.getName());
    assertThat(offline).isNotSameAs(Offline.class);

    Object run = offline.getDeclaredConstructor().newInstance();

    assertThat(((Supplier<?>) run).get()).isEqualTo(new Offline().get());
    assertThatThrownBy(() -> new WithoutYaml().loadClass("tools.jackson.core.JsonParser"))
        .isInstanceOf(ClassNotFoundException.class);
  }
}

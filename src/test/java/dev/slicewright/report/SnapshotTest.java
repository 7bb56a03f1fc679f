package dev.slicewright.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.BranchTree;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.CountRow;
import dev.slicewright.plan.Proof;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.StringReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SnapshotTest {

  private static final String HEAD = "\"format\": \"slicewright/snapshot\", \"version\": 1";

  // ---------------------------------------------------------------- by hand

  @Test
  void keepsWhenASliceIsExpectedToEnd() {
    Instant end = Instant.parse("2026-03-01T13:30:00Z");
    RunningSlice slice =
        RunningSlice.builder(
                SliceRequest.builder("r").shape("2x2").build(),
                0,
                "p",
                Shape.of(2, 2),
                new Footprint.Box(new Chip(0, 0, 0), Shape.of(2, 2)))
            .endsAt(end)
            .build();
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(4, 4)).running(slice).build();
    String text = Snapshot.of(fleet, List.of()).toJson();
    assertThat(text).contains("\"endsAt\"");
    assertThat(Snapshot.read(text).fleet()).isEqualTo(fleet);
    assertThat(fleet)
        .isNotEqualTo(fleet.release("r").place(slice.toBuilder().endsAt(null).build()));
  }

  @Test
  void readsWhatPeopleWrite() {
    Snapshot read =
        Snapshot.read(
            """
            {
              "format": "slicewright/snapshot",
              "version": 1,
              "fleet": {
                "pods": [
                  {"id": "a", "topology": "v5p", "failed": [{"host": 17}], "cordons": [{"cube": "c3"}]},
                  {"id": "b", "topology": "16x20x28", "degraded": [{"link": [0, 0, 3], "axis": "x"}]},
                  {"id": "c", "topology": {"accelerator": "v6e", "slicing": "boxes", "wrap": "none"}}
                ],
                "running": [
                  {"request": {"id": "old", "shape": "4x4x8"}, "slices": [{"pod": "a", "cubes": [5, 77]}]},
                  {"request": {"id": "box", "shape": "2x4"},
                   "slices": [{"pod": "c", "origin": [0, 4], "extents": "4x2"}]}
                ],
                "holds": [
                  {"id": "h", "request": "train", "expiry": "2026-03-01T12:00:00Z", "pod": "b",
                   "origin": [0, 0, 0], "extents": "4x4x4"}
                ]
              },
              "requests": [
                {"id": "train", "shape": "8x8x16", "slices": 2, "spread": {"atMost": 1, "label": "zone"}},
                {"id": "eval", "chips": 32}
              ],
              "rules": {"quotas": [{"tenant": "red", "chips": 512}], "permit": "movable"}
            }
            """);

    Fleet fleet = read.fleet();
    assertThat(fleet.pod("a").orElseThrow().topology()).isEqualTo(TpuTopology.v5p());
    assertThat(fleet.pod("a").orElseThrow().reportedHealth())
        .containsExactly(Map.entry(new Part.Host(new HostId(17)), Health.FAILED));
    assertThat(fleet.pod("b").orElseThrow().topology()).isEqualTo(TpuTopology.torus(16, 20, 28));
    assertThat(fleet.pod("b").orElseThrow().reportedHealth())
        .containsKey(new Part.Link(new Chip(0, 0, 3), Axis.X));
    assertThat(fleet.pod("c").orElseThrow().topology())
        .isEqualTo(TpuTopology.builder(AcceleratorType.V6E).boxes().mesh().build());
    assertThat(fleet.runningOf("box").get(0).shape()).isEqualTo(Shape.of(2, 4));
    assertThat(read.requests().get(0).spread()).isEqualTo(Spread.atMost(1, "zone"));
    assertThat(read.rules().quotas()).containsExactly(new PlanningRules.Quota("red", "", 512));
    assertThat(Snapshot.read(read.toJson())).isEqualTo(read);
  }

  @Test
  void coolDownsReadBackAndWrongOnesAreNamed() {
    Instant noon = Instant.parse("2026-03-01T12:00:00Z");
    Part host = new Part.Host(new HostId(17));
    Fleet fleet = Fleet.builder().pod("a", TpuTopology.v5p()).build();
    Snapshot healing = Snapshot.of(fleet.fail("a", host).healing("a", host, noon), List.of());
    assertThat(Snapshot.read(healing.toJson())).isEqualTo(healing);
    assertThatThrownBy(
            () ->
                Snapshot.read(
                    """
                    {"format": "slicewright/snapshot", "version": 1, "fleet": {"pods": [
                      {"id": "a", "topology": "v5p", "failed": [{"host": 17}], "healing": [
                        {"host": 18, "usableFrom": "2026-03-01T12:00:00Z"}, {"host": 17}]}]}}
                    """))
        .hasMessageContaining("fleet.pods[0].healing[0]")
        .hasMessageContaining("fleet.pods[0].healing[1].usableFrom");
  }

  @Test
  void everyPublishedAcceleratorIsItsName() {
    for (AcceleratorType type : AcceleratorType.known()) {
      Snapshot snapshot =
          Snapshot.of(
              Fleet.builder().pod("p", TpuTopology.builder(type).build()).build(), List.of());

      assertThat(snapshot.toJson()).contains("\"topology\": \"" + type.name() + "\"");
      assertThat(Snapshot.read(snapshot.toJson())).isEqualTo(snapshot);
    }
  }

  @Test
  void customAcceleratorsAndTopologiesReadBackEqual() {
    AcceleratorType custom =
        AcceleratorType.V5E.toBuilder()
            .podDims(Shape.of(8, 8))
            .boxShapes(List.of(Shape.of(4, 2), Shape.of(1, 1)), false)
            .typeName("lab", true)
            .bf16Tflops(0.1)
            .build();
    AcceleratorType cubes =
        AcceleratorType.V5P.toBuilder().maxCubes(7).iciLinkBytesPerSecond(1.5e300).build();
    List<TpuTopology> all =
        List.of(
            TpuTopology.builder(custom).build(),
            TpuTopology.builder(custom).boxes().wrap(Axis.Y, false).build(),
            TpuTopology.builder(cubes).cubes(300).build(),
            TpuTopology.builder(cubes).dims(8, 8, 8).build(),
            TpuTopology.builder(AcceleratorType.V5P).cubes(1).build(),
            TpuTopology.builder(AcceleratorType.V6E)
                .hostTile(Shape.of(2, 4))
                .slicing(new Slicing.TorusBoxes(List.of(), true))
                .build(),
            TpuTopology.builder(AcceleratorType.V3).boxes().build(),
            TpuTopology.torusBuilder(6, 6).mesh().physicalHostTile(Shape.of(2, 6)).build(),
            TpuTopology.torusBuilder(4, 4, 4).accelerator(AcceleratorType.V4).build(),
            TpuTopology.torusBuilder(4, 4, 4).slicing(Slicing.OpticalCubes.upTo(1)).build());
    for (TpuTopology t : all) {
      Snapshot snapshot = Snapshot.of(Fleet.builder().pod("p", t).build(), List.of());

      assertThat(Snapshot.read(snapshot.toJson())).as(snapshot.toJson()).isEqualTo(snapshot);
    }
  }

  @Test
  void namesOfEveryKindAreKept() {
    String odd = "a\"\\\n\t\u0001\u2028é\uD83D\uDE00<&>";
    Snapshot snapshot =
        Snapshot.of(
            Fleet.builder().pod(odd, TpuTopology.v6e(), Map.of(odd, odd)).build(),
            List.of(SliceRequest.builder(odd).chips(4).tenant(odd).requireLabel(odd, odd).build()));

    assertThat(Snapshot.read(snapshot.toJson())).isEqualTo(snapshot);
  }

  // ---------------------------------------------------------------- bad data

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'{\"version\": 1}' | format | missing",
        "'{\"format\": \"other\", \"version\": 1}' | format | slicewright/snapshot",
        "'{\"format\": \"slicewright/snapshot\", \"version\": 2}' | version | expected 1, but was 2",
        "'{\"format\": \"slicewright/snapshot\", \"version\": \"1\"}' | version | whole number",
        "'[]' | document | an object",
        "'null' | document | an object",
        "'{HEAD, \"flet\": {}}' | flet | fleet",
        "'{HEAD, \"requests\": {}}' | requests | a list",
        "'{HEAD, \"requests\": [3]}' | requests[0] | an object",
        "'{HEAD, \"requests\": [{\"id\": \"a\", \"shape\": \"4x0\"}]}' | requests[0].shape | 4x0",
        "'{HEAD, \"requests\": [{\"id\": \"a\", \"shape\": 4}]}' | requests[0].shape | 4x4x8",
        "'{HEAD, \"requests\": [{\"id\": \"a\"}]}' | requests[0].shapes | chips",
        "'{HEAD, \"requests\": [{\"id\": \"a\", \"chips\": 99999999999999999999}]}' | requests[0].chips | 99999999999999999999",
        "'{HEAD, \"requests\": [{\"id\": \"a\", \"chips\": 4.5}]}' | requests[0].chips | 4.5",
        "'{HEAD, \"requests\": [{\"id\": \"a\", \"chips\": 4, \"chips\": 4}]}' | requests[0].chips | twice",
        "'{HEAD, \"requests\": [{\"id\": \"a\", \"chips\": 4, \"spread\": \"wide\"}]}' | requests[0].spread | same-pod",
        "'{HEAD, \"requests\": [{\"id\": \"a\", \"chips\": 4, \"interconnect\": \"ANY\"}]}' | requests[0].interconnect | wraparound",
        "'{HEAD, \"requests\": [{\"id\": \"a\", \"chips\": 4}, {\"id\": \"a\", \"chips\": 4}]}' | requests | twice",
        "'{HEAD, \"fleet\": {\"pods\": [{\"id\": \"a\", \"topology\": \"v9\"}]}}' | fleet.pods[0].topology | v5p",
        "'{HEAD, \"fleet\": {\"pods\": [{\"id\": \"a\", \"topology\": {\"accelerator\": \"v5p\", \"cubes\": 9999}}]}}' | fleet.pods[0].topology.cubes | 4096",
        "'{HEAD, \"fleet\": {\"pods\": [{\"id\": \"a\", \"topology\": {\"dims\": \"3x5\"}}]}}' | fleet.pods[0].topology.hostTile | divide",
        "'{HEAD, \"fleet\": {\"pods\": [{\"id\": \"a\", \"topology\": \"v5p\", \"failed\": [{\"host\": 2240}]}]}}' | fleet.pods[0].failed[0] | 2239",
        "'{HEAD, \"fleet\": {\"pods\": [{\"id\": \"a\", \"topology\": \"v5p\", \"failed\": [{\"host\": \"x\"}]}]}}' | fleet.pods[0].failed[0].host | number",
        "'{HEAD, \"fleet\": {\"pods\": [{\"id\": \"a\", \"topology\": \"v5p\", \"cordons\": [{\"link\": [0,0,0], \"axis\": \"x\"}]}]}}' | fleet.pods[0].cordons[0] | chip, host or cube",
        "'{HEAD, \"fleet\": {\"pods\": [{\"id\": \"a\", \"topology\": \"v5p\"}, {\"id\": \"a\", \"topology\": \"v5p\"}]}}' | fleet.pods[1].id | an id of its own",
        "'{HEAD, \"fleet\": {\"running\": [{\"request\": {\"id\": \"a\", \"shape\": \"4x4x4\"}, \"slices\": [{\"pod\": \"x\", \"cubes\": [0]}]}]}}' | fleet.running[0].slices[0].pod | no pod x",
        "'{HEAD, \"rules\": {\"now\": \"yesterday\"}}' | rules.now | 2026-03-01T12:00:00Z",
        "'{HEAD, \"rules\": {\"quotas\": [{\"tenant\": \"a\", \"chips\": -1}]}}' | rules.quotas[0].chips | -1",
        "'{HEAD, \"cost\": {\"podChipHourMicros\": {\"a b\": -1}}}' | cost.podChipHourMicros.\"a b\" | -1",
        "'{HEAD, \"plan\": {\"fleetVersion\": 1, \"stopped\": \"tired\"}}' | plan.stopped | optimal",
        "'{HEAD, \"plan\": {\"fleetVersion\": 1, \"stopped\": \"limit\", \"placements\": [{\"request\": \"who\", \"slices\": []}]}}' | plan.placements[0].request | who"
      })
  void namesTheProblemAndItsPlace(String json, String path, String words) {
    InvalidInputException e = refused(json.replace("HEAD", HEAD));

    assertThat(e.problems())
        .anySatisfy(
            problem -> {
              assertThat(problem.path()).isEqualTo(path);
              assertThat(problem.message()).contains(words);
            });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "   ",
        "{",
        "{\"format\": \"slicewright/snapshot\", \"version\": 1",
        "{\"format\": \"slicewright/snapshot\", \"version\": 1}}",
        "{\"format\": \"slicewright/snapshot\", \"version\": 1} {}",
        "{\"format\": \"slicewright/snapshot\", \"version\": 01}",
        "{\"format\": \"slicewright/snapshot\", \"version\": NaN}",
        "{'format': 'slicewright/snapshot'}",
        "// hello\n{}",
        "\u0000"
      })
  void whatIsNotJsonIsRefused(String json) {
    assertThat(refused(json).problems())
        .allMatch(p -> p.path().startsWith("line ") || p.path().equals("document"));
  }

  @Test
  void everyProblemIsFoundInOnePass() {
    InvalidInputException e =
        refused(
            "{"
                + HEAD
                + ", \"fleet\": {\"pods\": [{\"id\": \"a\", \"topology\": \"v9\"},"
                + " {\"id\": \"b\", \"topology\": \"v5p\", \"cordoned\": 1}],"
                + " \"running\": [{\"request\": {\"id\": \"r\", \"shape\": \"4x4x4\", \"slices\": 2},"
                + " \"slices\": [{\"pod\": \"b\", \"cubes\": [0]}, {\"pod\": \"b\", \"cubes\": [999]}]}]},"
                + " \"requests\": [{\"id\": \"\", \"chips\": 4, \"colour\": \"red\"}],"
                + " \"rules\": {\"permit\": \"maybe\"}, \"extra\": 1}");

    assertThat(e.problems().stream().map(p -> p.path()))
        .contains(
            "fleet.pods[0].topology",
            "fleet.pods[1].cordoned",
            "fleet.running[0].slices[1].footprint",
            "requests[0].colour",
            "rules.permit",
            "extra");
  }

  @Test
  void aTreeOfCasesThatLeavesOneOutIsRefused() {
    String leaf = "{\"certificate\": {\"level\": 0, \"cells\": [0]}, \"prices\": [1]}";
    String split = "{\"count\": {\"minChips\": 2}, \"atMost\": 1}";
    BranchTree.Leaf read =
        new BranchTree.Leaf(
            new Certificate(
                0,
                List.of(new Certificate.CellPrices("b", new long[] {5})),
                List.of(),
                new long[0]),
            new long[] {1});
    assertThat(branches(split + "," + leaf + "," + leaf))
        .isEqualTo(
            new Proof.Branched(
                new BranchTree.Split(CountRow.ofChips(2, Long.MAX_VALUE), 1, read, read)));

    assertThat(refusedBranches(split + "," + leaf))
        .isEqualTo(BRANCHES + "nodes[0]: expected the nodes of both its sides to follow");
    assertThat(refusedBranches(leaf + "," + leaf))
        .isEqualTo(BRANCHES + "nodes: expected the nodes of one tree, but was those of 2");
    assertThat(refusedBranches(""))
        .isEqualTo(BRANCHES + "nodes: expected the nodes of one tree, but was those of 0");
    assertThat(refusedBranches(leaf.replace("[0]", "[1]")))
        .isEqualTo(
            BRANCHES + "nodes[0].certificate.cells[0]: there are no prices number 1 in cells");
    assertThat(refusedBranches("{}"))
        .isEqualTo(
            BRANCHES + "nodes[0]: expected a count to split at, or the certificate of a leaf");
    assertThat(refusedBranches((split + ",").repeat(65) + (leaf + ",").repeat(65) + leaf))
        .isEqualTo(
            BRANCHES + "nodes[0]: Expected at most 64 splits on the way to a leaf, but was 65");
    assertThat(refusedBranches(split.replace("2}", "-2}") + "," + leaf + "," + leaf))
        .startsWith(BRANCHES + "nodes[0].count: Expected minChips from 0 to maxChips");
  }

  private static final String BRANCHES = "plan.score[0].branches.";

  private static String withBranches(String nodes) {
    return "{"
        + HEAD
        + ", \"plan\": {\"fleetVersion\": 0, \"stopped\": \"deadline\", \"score\": [{\"level\": \"placed\","
        + " \"value\": 0, \"bound\": 8, \"branches\": {\"cells\": [{\"pod\": \"b\", \"prices\": [5]}],"
        + " \"nodes\": ["
        + nodes
        + "]}}]}}";
  }

  private static Proof branches(String nodes) {
    Snapshot read = Snapshot.read(withBranches(nodes));
    return read.plan().orElseThrow().score().levels().get(0).proof();
  }

  private static String refusedBranches(String nodes) {
    Problem only = refused(withBranches(nodes)).problems().get(0);
    return only.path() + ": " + only.message();
  }

  @Test
  void overlapsPointAtTheSliceInTheDocument() {
    InvalidInputException e =
        refused(
            "{"
                + HEAD
                + ", \"fleet\": {\"pods\": [{\"id\": \"b\", \"topology\": \"v5p\"}], \"running\": ["
                + "{\"request\": {\"id\": \"r\", \"shape\": \"4x4x4\"}, \"slices\": [{\"pod\": \"b\", \"cubes\": [7]}]},"
                + "{\"request\": {\"id\": \"s\", \"shape\": \"4x4x4\"}, \"slices\": [{\"pod\": \"b\", \"cubes\": [7]}]}]}}");

    assertThat(e.problems().get(0).path()).isEqualTo("fleet.running[1].slices[0].footprint");
    assertThat(e.problems().get(0).message()).contains("taken by r/0");
  }

  @Test
  void tooDeepTooLongTooMany() {
    assertThat(refused("[".repeat(100_000)).problems().get(0).message()).contains("levels deep");
    assertThat(refused("{\"a\": \"" + "x".repeat(70_000) + "\"}").problems().get(0).message())
        .contains("strings of");
    assertThat(refused("{\"a\": " + "1".repeat(100) + "}").problems().get(0).message())
        .contains("numbers of");
    assertThat(refused("{\"" + "n".repeat(5_000) + "\": 1}").problems().get(0).message())
        .contains("names of");
    assertThat(
            catchThrowableOfType(
                    InvalidInputException.class,
                    () -> Snapshot.read(new StringReader("{" + HEAD + "}".repeat(1)), 10))
                .problems()
                .get(0)
                .message())
        .contains("at most 10 characters");
  }

  @Test
  void aHundredMegabytesAreRefusedAtTheLimit() {
    long[] given = {0};
    Reader endless =
        new Reader() {
          @Override
          public int read(char[] buffer, int from, int length) {
            for (int i = 0; i < length; i++) {
              buffer[from + i] = ' ';
            }
            given[0] += length;
            return given[0] > 100_000_000 ? -1 : length;
          }

          @Override
          public void close() {}
        };

    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> Snapshot.read(endless, Snapshot.MAX_LENGTH))
        .withMessageContaining("beyond a limit");
    assertThat(given[0]).isLessThan(Snapshot.MAX_LENGTH + (1 << 20));
  }

  @Test
  void bytesAreUtf8OrRefused() throws IOException {
    Snapshot snapshot =
        Snapshot.of(Fleet.builder().pod("pod-é", TpuTopology.v6e()).build(), List.of());
    byte[] json = snapshot.toJson().getBytes(StandardCharsets.UTF_8);

    assertThat(Snapshot.read(new ByteArrayInputStream(json))).isEqualTo(snapshot);
    json[json.length / 2] = (byte) 0xC3;
    json[json.length / 2 + 1] = (byte) 0x28;
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> Snapshot.read(new ByteArrayInputStream(json)))
        .withMessageContaining("UTF-8");
  }

  @Test
  void aReaderThatFailsSaysSo() {
    InputStream failing =
        new InputStream() {
          @Override
          public int read() throws IOException {
            throw new IOException("the disk is gone");
          }
        };

    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> Snapshot.read(failing))
        .withMessageContaining("the disk is gone");
  }

  // ---------------------------------------------------------------- without Jackson

  @Test
  void withoutJacksonOnlyReadingJsonFails() throws Exception {
    URL[] urls =
        Stream.of(System.getProperty("java.class.path").split(java.io.File.pathSeparator))
            .filter(entry -> !entry.contains("jackson"))
            .map(Path::of)
            .filter(Files::exists)
            .map(SnapshotTest::url)
            .toArray(URL[]::new);
    try (URLClassLoader alone = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
      Class<?> probe = Class.forName(WithoutJackson.class.getName(), true, alone);

      assertThat(probe.getMethod("run").invoke(null))
          .isEqualTo("dev.slicewright.report.Snapshot$JacksonMissingException");
    }
  }

  /** Runs in a class loader of its own. */
  public static final class WithoutJackson {
    private WithoutJackson() {}

    public static String run() {
      Fleet fleet = Fleet.builder().pod("p", TpuTopology.v6e()).build();
      String json = Snapshot.of(fleet, List.of()).toJson();
      if (PodPicture.of(fleet.pod("p").orElseThrow()).svg().isEmpty() || json.isEmpty()) {
        return "no picture";
      }
      try {
        Snapshot.read(json);
        return "read";
      } catch (Snapshot.JacksonMissingException e) {
        return e.getMessage().contains("tools.jackson.core:jackson-databind")
            ? e.getClass().getName()
            : e.getMessage();
      }
    }
  }

  private static URL url(Path path) {
    try {
      return path.toUri().toURL();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static InvalidInputException refused(String json) {
    InvalidInputException e =
        catchThrowableOfType(InvalidInputException.class, () -> Snapshot.read(json));
    assertThat(e).as("refused: " + (json.length() > 500 ? "…" : json)).isNotNull();
    return e;
  }
}

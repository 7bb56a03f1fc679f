package dev.slicewright.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.simulate.Trace.Arrival;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.simulate.Trace.Kind;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.io.IOException;
import java.io.StringReader;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class TraceTest {

  private static Trace read(String json) throws IOException {
    return Trace.read(new StringReader(json));
  }

  @Test
  void whatIsWrittenReadsBackEqual() throws IOException {
    Duration second = Duration.ofSeconds(1);
    Trace trace =
        new Trace(
            List.of(
                new Arrival(
                    SliceRequest.builder("a \"quoted\" \n name")
                        .shape("4x4x8")
                        .shape("4x8x8")
                        .slices(3)
                        .priority(-7)
                        .tenant("red")
                        .accelerators("v5p")
                        .mayTurn(false)
                        .healthyOnly(true)
                        .interconnect(Interconnect.TWISTED)
                        .requireLabel("zone", "b")
                        .forbidLabel("rack", "r1")
                        .forbidLabel("rack", "r2")
                        .pod("p")
                        .spread(Spread.atMost(2, "zone"))
                        .build(),
                    second,
                    Duration.ofNanos(1_234_567_891),
                    Duration.ofMinutes(3)),
                new Arrival(
                    SliceRequest.builder("b").chips(64).slices(2).spread(Spread.samePod()).build(),
                    Duration.ZERO,
                    second,
                    Duration.ZERO)),
            List.of(
                new Change(second, Kind.FAIL, "p", new Part.Host(new HostId(17))),
                new Change(second, Kind.CORDON, "p", new Part.Cube(new CubeId(3))),
                new Change(second, Kind.UNCORDON, "p", new Part.Chip(new Chip(1, 2, 3))),
                new Change(second, Kind.REPAIR, "p", new Part.Link(new Chip(1, 2, 3), Axis.Y)),
                new Change(
                    second, Kind.FAIL, "p", new Part.OcsPort(new CubeId(4), Axis.Z, false, 9))));

    assertThat(read(trace.toJson())).isEqualTo(trace);
    assertThat(read(trace.toJson()).toJson()).isEqualTo(trace.toJson());
    assertThat(trace.arrivals().get(0).request().id()).isEqualTo("b");
    Trace none = new Trace(List.of(), List.of());
    assertThat(read(none.toJson())).isEqualTo(none);
  }

  @Test
  void drawnTracesRepeatAndReadBack() throws IOException {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.v6e()).build();
    TraceGenerator generator =
        TraceGenerator.builder(256)
            .shape(Shape.of(4, 4), 2)
            .shape(Shape.of(8, 8), 1)
            .load(0.5)
            .arrivals(2_000)
            .failures(fleet, Duration.ofDays(3), Duration.ofHours(1))
            .build();
    Trace trace = generator.generate(1);

    assertThat(generator.generate(1)).isEqualTo(trace);
    assertThat(generator.generate(2)).isNotEqualTo(trace);
    assertThat(read(trace.toJson())).isEqualTo(trace);
    double chipHours =
        trace.arrivals().stream()
            .mapToDouble(a -> a.request().shapes().get(0).chips() * a.stay().toNanos() / 3.6e12)
            .sum();
    double hours = trace.arrivals().get(1_999).at().toNanos() / 3.6e12;
    assertThat(chipHours / hours / 256).isBetween(0.42, 0.58);
  }

  @Test
  void everyProblemHasItsPath() {
    assertThatThrownBy(
            () ->
                read(
                    """
                    {"format": "slicewright/trace", "version": 1, "more": 1,
                     "arrivals": [
                       {"request": {"id": "a", "shape": "4x0"}, "at": "soon", "stay": "PT1S"},
                       {"request": {"id": "b", "chips": "four", "colour": 1}, "stay": "PT1S"},
                       7],
                     "changes": [
                       {"at": "PT1S", "kind": "explode", "pod": "p", "host": -1},
                       {"at": "PT1S", "kind": "fail", "pod": "p"}]}
                    """))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e ->
                assertThat(e.problems())
                    .extracting(Problem::path)
                    .containsExactlyInAnyOrder(
                        "more",
                        "arrivals[0].request.shape",
                        "arrivals[0].at",
                        "arrivals[1].request.chips",
                        "arrivals[1].request.colour",
                        "arrivals[1].at",
                        "arrivals[2]",
                        "changes[0].kind",
                        "changes[0].host",
                        "changes[1]"));
    for (String bad : List.of("", "[]", "{", "{\"a\": 1, \"a\": 2}", "{} {}", "null")) {
      assertThatThrownBy(() -> read(bad)).isInstanceOf(InvalidInputException.class);
    }
  }

  @Test
  void timesOutOfRangeAndIdsUsedTwiceAreRefused() {
    Arrival a =
        new Arrival(
            SliceRequest.builder("a").shape("4x4").build(),
            Duration.ofSeconds(-1),
            Duration.ZERO,
            Duration.ofDays(100_001));
    assertThatThrownBy(() -> new Trace(List.of(a, a), List.of()))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("arrivals[0].at")
        .hasMessageContaining("arrivals[0].patience")
        .hasMessageContaining("arrivals[1].request.id");
    assertThatThrownBy(() -> TraceGenerator.builder(0).load(Double.NaN).build())
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("chips")
        .hasMessageContaining("load")
        .hasMessageContaining("shapes");
  }
}

package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The published instances of two-dimensional orthogonal packing as one-pod feasibility: a mesh of
 * one-chip hosts, all items one gang, none turned. Seed 1 is the first instance, and beyond the
 * last they start again. Stateless.
 */
final class OppFamily {

  private static final String FILE = "/opp/cjcm08.csv";
  private static final List<String> LINES = read();

  private OppFamily() {}

  private static List<String> read() {
    try (InputStream in = OppFamily.class.getResourceAsStream(FILE)) {
      if (in == null) {
        throw new IllegalStateException("Expected " + FILE + " on the class path.");
      }
      String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return text.lines().skip(1).filter(l -> !l.isBlank()).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static int count() {
    return LINES.size();
  }

  private static String[] fields(long seed) {
    return LINES.get((int) Math.floorMod(seed - 1, (long) LINES.size())).split(",");
  }

  /** The published name of an instance. */
  static String name(long seed) {
    return fields(seed)[0];
  }

  static BenchProblem problem(long seed) {
    String[] f = fields(seed);
    TpuTopology mesh =
        TpuTopology.torusBuilder(Integer.parseInt(f[1]), Integer.parseInt(f[2]))
            .hostTile(Shape.of(1, 1))
            .mesh()
            .build();
    List<SliceRequest> requests = new ArrayList<>();
    for (String item : f[4].trim().split(" ")) {
      requests.add(
          SliceRequest.builder(String.format(Locale.ROOT, "item-%02d", requests.size()))
              .shape(Shape.parse(item))
              .mayTurn(false)
              .gang(f[0])
              .build());
    }
    return new BenchProblem(
        "mesh-opp",
        seed,
        Fleet.builder().pod(Churn.POD, mesh).build(),
        requests,
        PlanningRules.NONE,
        Optional.of(f[3].equals("feasible")));
  }
}

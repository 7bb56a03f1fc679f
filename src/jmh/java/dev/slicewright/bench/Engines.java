package dev.slicewright.bench;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.ortools.CountFormulation;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.formulation.ortools.LpRelaxation;
import dev.slicewright.formulation.ortools.MipFormulation;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The engines of the solve bench by name: ours, our formulations alone, and peers. Stateless. */
final class Engines {

  private static final Map<String, Supplier<Engine>> OURS = new LinkedHashMap<>();
  private static final Map<String, Supplier<Engine>> PEERS = new LinkedHashMap<>();

  static {
    OURS.put(Slicewright.NAME, Slicewright::new);
    alone("cp-sat", CpSatFormulation::create);
    alone("scip", () -> MipFormulation.create(MipFormulation.Solver.SCIP));
    alone("sat", () -> MipFormulation.create(MipFormulation.Solver.SAT));
    alone("highs", () -> MipFormulation.create(MipFormulation.Solver.HIGHS));
    alone("glop", LpRelaxation::create);
    alone("counts", CountFormulation::create);
    PEERS.put("first-fit", FirstFitEngine::new);
    PEERS.put("slurm-dense", () -> new SlurmEngine("slurm-dense", true));
    PEERS.put("slurm-aligned", () -> new SlurmEngine("slurm-aligned", false));
    PEERS.put(CpSatPlain.NAME, CpSatPlain::new);
    PEERS.put("choco", ChocoEngine::new);
    PEERS.put("timefold", TimefoldEngine::new);
  }

  private Engines() {}

  /** A further formulation is one more line above. */
  private static void alone(String name, Supplier<Formulation> formulation) {
    OURS.put(name, () -> new Alone(name, formulation.get()));
  }

  static List<String> names() {
    List<String> out = new ArrayList<>(OURS.keySet());
    out.addAll(PEERS.keySet());
    return out;
  }

  /**
   * Engines by name, several with commas; {@code all}, {@code peers} and {@code formulations} stand
   * for theirs.
   *
   * @throws IllegalArgumentException naming what there is
   */
  static List<Engine> named(String list) {
    List<String> wanted = new ArrayList<>();
    for (String name : list.split(",")) {
      List<String> found =
          switch (name) {
            case "all" -> names();
            case "peers" -> List.copyOf(PEERS.keySet());
            case "formulations" ->
                OURS.keySet().stream().filter(n -> !n.equals(Slicewright.NAME)).toList();
            default -> names().contains(name) ? List.of(name) : List.of();
          };
      if (found.isEmpty()) {
        throw new IllegalArgumentException(
            "There is no engine \""
                + name
                + "\"; there are all, formulations, peers, "
                + String.join(", ", names()));
      }
      found.stream().filter(n -> !wanted.contains(n)).forEach(wanted::add);
    }
    return wanted.stream().map(Engines::make).toList();
  }

  private static Engine make(String name) {
    Supplier<Engine> ours = OURS.get(name);
    return ours == null ? PEERS.get(name).get() : ours.get();
  }
}

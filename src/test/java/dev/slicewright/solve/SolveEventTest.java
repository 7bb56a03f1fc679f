package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.TpuTopology;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import jdk.jfr.Recording;
import jdk.jfr.ValueDescriptor;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is recorded is what the plan says; and nothing needs the recorder. */
class SolveEventTest {

  @TempDir Path temp;

  /** Proofs end these solves, long before their deadline. */
  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(20));

  private static Plan plan(Instance i) {
    return SlicePlanner.builder()
        .cost(i.cost())
        .build()
        .plan(i.fleet(), i.requests(), i.rules(), BUDGET);
  }

  private List<RecordedEvent> recorded(Runnable work) throws IOException {
    Path file = temp.resolve("recording.jfr");
    try (Recording recording = new Recording()) {
      recording.enable(SolveEvent.NAME).withThreshold(Duration.ZERO);
      recording.start();
      work.run();
      recording.stop();
      recording.dump(file);
    }
    return RecordingFile.readAllEvents(file).stream()
        .filter(e -> e.getEventType().getName().equals(SolveEvent.NAME))
        .toList();
  }

  @Test
  void eventsSayWhatThePlansSay() throws IOException {
    List<Instance> instances = new ArrayList<>();
    for (long seed = 0; seed < 4; seed++) {
      instances.add(TinyProblems.of(seed, EnumSet.allOf(RandomFleets.Kind.class)));
    }
    instances.add(ProcessPlanTest.open()); // one that goes to a formulation
    List<Plan> plans = new ArrayList<>();
    List<RecordedEvent> events =
        recorded(() -> instances.forEach(instance -> plans.add(plan(instance))));
    assertThat(events).hasSameSizeAs(plans);
    events = new ArrayList<>(events);
    events.sort(Comparator.comparing(RecordedEvent::getStartTime));
    Set<String> phases = new TreeSet<>();
    for (int i = 0; i < plans.size(); i++) {
      check(instances.get(i), plans.get(i), events.get(i));
      plans.get(i).phases().forEach(phase -> phases.add(phase.name()));
    }
    assertThat(phases).contains("translate", "search", "bound", "build", "solve", "verify");
  }

  private static void check(Instance i, Plan plan, RecordedEvent e) {
    assertThat(e.getInt("requests")).isEqualTo(i.requests().size());
    assertThat(e.getLong("slices"))
        .isEqualTo(i.requests().stream().mapToLong(SliceRequest::slices).sum());
    assertThat(e.getInt("pods")).isEqualTo(i.fleet().pods().size());
    assertThat(e.getLong("chips"))
        .isEqualTo(i.fleet().pods().stream().mapToLong(p -> p.topology().chipCount()).sum());
    assertThat(e.getDuration("deadline")).isEqualTo(BUDGET.deadline());
    assertThat(e.getString("mode")).isEqualTo("REPRODUCIBLE");
    assertThat(e.getInt("workers")).isEqualTo(1);
    assertThat(e.getString("stopped")).isEqualTo(plan.stopped().name());
    assertThat(e.getInt("placed")).isEqualTo(plan.placements().size());
    assertThat(e.getInt("unplaced")).isEqualTo(plan.unplaced().size());
    assertThat(e.getInt("moves")).isEqualTo(plan.moves().size());
    assertThat(e.getInt("evictions")).isEqualTo(plan.evictions().size());
    assertThat(e.getDouble("gap")).isEqualTo(plan.gap());
    assertThat(e.getInt("levels")).isEqualTo(plan.score().levels().size());
    assertThat((long) e.getInt("provedLevels"))
        .isEqualTo(plan.score().levels().stream().filter(LevelScore::isProved).count());
    assertThat(e.getString("proof").split(", ", -1))
        .containsExactlyElementsOf(
            plan.score().levels().stream()
                .map(l -> l.proof().toString().replaceAll(" .*", ""))
                .distinct()
                .collect(Collectors.toList()));
    assertThat(e.getString("values")).isEqualTo(plan.score().values());
    assertThat(e.getString("bounds")).isEqualTo(plan.score().bounds());
    assertThat(e.getString("engines")).isEqualTo(String.join(", ", plan.engines()));
    assertThat(e.getInt("notes")).isEqualTo(plan.notes().size());
    assertThat(e.getDuration("planTime")).isEqualTo(plan.time());
    assertThat(e.getDuration()).isGreaterThanOrEqualTo(Duration.ZERO);
    Duration sum = Duration.ZERO;
    for (Phase phase : plan.phases()) {
      assertThat(e.getDuration(phase.name() + "Time")).as(phase.name()).isEqualTo(phase.time());
      assertThat(e.getLong(phase.name() + "Size")).as(phase.name()).isEqualTo(phase.size());
      assertThat(phase.time()).isGreaterThanOrEqualTo(Duration.ZERO);
      sum = sum.plus(phase.time());
    }
    assertThat(sum).as("phases do not overlap").isLessThanOrEqualTo(plan.time());
    Set<String> named =
        plan.phases().stream().map(Phase::name).collect(Collectors.toCollection(TreeSet::new));
    for (ValueDescriptor field : e.getFields()) {
      String name = field.getName().replaceAll("(Time|Size)$", "");
      if (!name.equals(field.getName())
          && !name.equals("plan")
          && !named.contains(name)
          && !field.getName().equals("startTime")) {
        assertThat(e.getLong(field.getName())).as(field.getName()).isZero();
      }
    }
  }

  @Test
  void phasesAddUpBesideAListener() {
    Instance i = ProcessPlanTest.open();
    List<Plan> heard = new ArrayList<>();
    Plan plan =
        SlicePlanner.builder()
            .cost(i.cost())
            .build()
            .plan(i.fleet(), i.requests(), i.rules(), BUDGET, new CancelToken(), heard::add);
    Duration sum = plan.phases().stream().map(Phase::time).reduce(Duration.ZERO, Duration::plus);
    assertThat(sum).isLessThanOrEqualTo(plan.time());
    assertThat(heard).isNotEmpty();
  }

  @Test
  void everyFieldHasALabel() throws IOException {
    List<RecordedEvent> events =
        recorded(() -> plan(TinyProblems.of(1, EnumSet.allOf(RandomFleets.Kind.class))));
    assertThat(events.get(0).getEventType().getCategoryNames()).containsExactly("Slicewright");
    assertThat(events.get(0).getEventType().getDescription()).isNotEmpty();
    assertThat(events.get(0).getFields()).allSatisfy(f -> assertThat(f.getLabel()).isNotNull());
  }

  @Test
  void nothingIsRecordedUnlessAsked() {
    assertThat(Profiling.isPresent("jdk.jfr.Event")).isTrue();
    assertThat(Profiling.isPresent("jdk.jfr.NoSuchEvent")).isFalse();
    assertThat(Profiling.begin()).isSameAs(Profiling.NONE);
  }

  /** Plans, where the recorder may be absent. */
  public static final class Alone {
    public static void main(String[] args) {
      Fleet fleet = Fleet.builder().pod("p", TpuTopology.v5p()).build();
      SliceRequest request = SliceRequest.builder("r").shape("4x4x8").build();
      Plan plan = SlicePlanner.create().plan(fleet, List.of(request), BUDGET);
      boolean present = ModuleLayer.boot().findModule("jdk.jfr").isPresent();
      System.out.println("jfr=" + present + " placed=" + plan.placements().size());
    }
  }

  @Test
  void withoutTheRecorderAllElseWorks() throws Exception {
    List<String> command =
        Arrays.asList(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "--limit-modules",
            "java.se,jdk.unsupported",
            "-cp",
            System.getProperty("java.class.path"),
            Alone.class.getName());
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(said).isZero();
    assertThat(said).contains("jfr=false placed=1");
  }
}

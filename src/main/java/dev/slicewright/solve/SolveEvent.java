package dev.slicewright.solve;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.SliceRequest;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Percentage;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/**
 * One solve, as JDK Flight Recorder keeps it: what {@link Plan} says of time, size and standing.
 * Confined to one thread at a time. Its fields are read by the recorder, by name; JFR has no
 * arrays, so each phase has two fields.
 */
@Name(SolveEvent.NAME)
@Label("Solve")
@Category("Slicewright")
@Description("One call of a SlicePlanner that gave a plan")
@StackTrace(false)
final class SolveEvent extends Event implements Profiling.Recording {

  static final String NAME = "dev.slicewright.Solve";

  @Label("Requests")
  int requests;

  @Label("Slices")
  @Description("Slices of all requests")
  long slices;

  @Label("Pods")
  int pods;

  @Label("Chips")
  @Description("Chips of the fleet")
  long chips;

  @Label("Deadline")
  @Timespan(Timespan.NANOSECONDS)
  long deadline;

  @Label("Mode")
  String mode = "";

  @Label("Workers")
  int workers;

  @Label("Stopped")
  @Description("Why the solve stopped")
  String stopped = "";

  @Label("Placed")
  @Description("Placed requests")
  int placed;

  @Label("Unplaced")
  @Description("Requests that are not placed")
  int unplaced;

  @Label("Moves")
  int moves;

  @Label("Evictions")
  int evictions;

  @Label("Gap")
  @Description("Distance from the best plan on the first level that is not proved; 0 is optimal")
  @Percentage
  double gap;

  @Label("Levels")
  @Description("Levels of the objective")
  int levels;

  @Label("Proved Levels")
  int provedLevels;

  @Label("Proof")
  @Description("What the bounds rest on: trivial, certificate, agreement")
  String proof = "";

  @Label("Values")
  @Description("The plan's values, most important level first, joined by /")
  String values = "";

  @Label("Bounds")
  @Description("The bounds, as the values")
  String bounds = "";

  @Label("Engines")
  @Description("The engines that took part, in order")
  String engines = "";

  @Label("Notes")
  @Description("How many notes the plan has")
  int notes;

  @Label("Plan Time")
  @Description("Wall time of the whole call, as the plan has it")
  @Timespan(Timespan.NANOSECONDS)
  long planTime;

  @Label("Translate")
  @Timespan(Timespan.NANOSECONDS)
  long translateTime;

  @Label("Translate: Requests")
  long translateSize;

  @Label("Bound")
  @Timespan(Timespan.NANOSECONDS)
  long boundTime;

  @Label("Bound: Levels")
  long boundSize;

  @Label("Search")
  @Timespan(Timespan.NANOSECONDS)
  long searchTime;

  @Label("Search: Requests")
  long searchSize;

  @Label("Count Repairs")
  @Timespan(Timespan.NANOSECONDS)
  long countTime;

  @Label("Count Repairs: Running Requests That May Move or Leave")
  long countSize;

  @Label("Displace")
  @Timespan(Timespan.NANOSECONDS)
  long displaceTime;

  @Label("Displace: Running Requests That May Move or Leave")
  long displaceSize;

  @Label("Build")
  @Timespan(Timespan.NANOSECONDS)
  long buildTime;

  @Label("Build: Candidates")
  long buildSize;

  @Label("Solve")
  @Timespan(Timespan.NANOSECONDS)
  long solveTime;

  @Label("Solve: Candidates")
  long solveSize;

  @Label("Explain")
  @Timespan(Timespan.NANOSECONDS)
  long explainTime;

  @Label("Explain: Requests")
  long explainSize;

  @Label("Verify")
  @Timespan(Timespan.NANOSECONDS)
  long verifyTime;

  @Label("Verify: Placed Requests")
  long verifySize;

  @Label("Other Phases")
  @Timespan(Timespan.NANOSECONDS)
  long otherTime;

  static Profiling.Recording start() {
    SolveEvent event = new SolveEvent();
    if (!event.isEnabled()) {
      return Profiling.NONE;
    }
    event.begin();
    return event;
  }

  @Override
  public void done(Fleet fleet, List<SliceRequest> batch, SolveBudget budget, Plan plan) {
    end();
    if (!shouldCommit()) {
      return;
    }
    requests = batch.size();
    batch.forEach(request -> slices += request.slices());
    pods = fleet.pods().size();
    for (Pod pod : fleet.pods()) {
      chips += pod.topology().chipCount();
    }
    deadline = budget.deadline().toNanos();
    mode = budget.mode().name();
    workers = budget.workers();
    stopped = plan.stopped().name();
    placed = plan.placements().size();
    unplaced = plan.unplaced().size();
    moves = plan.moves().size();
    evictions = plan.evictions().size();
    gap = plan.gap();
    levels = plan.score().levels().size();
    Set<String> kinds = new LinkedHashSet<>();
    for (LevelScore level : plan.score().levels()) {
      provedLevels += level.isProved() ? 1 : 0;
      kinds.add(kind(level.proof()));
    }
    proof = String.join(", ", kinds);
    values = plan.score().values();
    bounds = plan.score().bounds();
    engines = String.join(", ", plan.engines());
    notes = plan.notes().size();
    planTime = plan.time().toNanos();
    plan.phases().forEach(this::phase);
    commit();
  }

  private static String kind(Proof proof) {
    if (proof instanceof Proof.Trivial) {
      return "trivial";
    }
    if (proof instanceof Proof.Counted) {
      return "count";
    }
    if (proof instanceof Proof.Enumerated) {
      return "enumeration";
    }
    if (proof instanceof Proof.Searched) {
      return "search";
    }
    return proof instanceof Proof.Agreement ? "agreement" : "certificate";
  }

  private void phase(Phase phase) {
    long time = phase.time().toNanos();
    long size = phase.size();
    switch (phase.name()) {
      case "translate" -> {
        translateTime = time;
        translateSize = size;
      }
      case "bound" -> {
        boundTime = time;
        boundSize = size;
      }
      case "search" -> {
        searchTime = time;
        searchSize = size;
      }
      case "count" -> {
        countTime = time;
        countSize = size;
      }
      case "displace" -> {
        displaceTime = time;
        displaceSize = size;
      }
      case "build" -> {
        buildTime = time;
        buildSize = size;
      }
      case "solve" -> {
        solveTime = time;
        solveSize = size;
      }
      case "explain" -> {
        explainTime = time;
        explainSize = size;
      }
      case "verify" -> {
        verifyTime = time;
        verifySize = size;
      }
      default -> otherTime += time;
    }
  }
}

package dev.slicewright.solve;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import java.util.List;

/**
 * The one place that knows whether JDK Flight Recorder is there: a run-time image made by {@code
 * jlink} may lack the module {@code jdk.jfr}, and then nothing is recorded. Nothing else names
 * {@link SolveEvent}, whose class cannot be loaded without that module.
 */
final class Profiling {

  /** A solve that is being recorded. */
  interface Recording {
    /** Tells how it went. */
    void done(Fleet fleet, List<SliceRequest> requests, SolveBudget budget, Plan plan);
  }

  static final Recording NONE = (fleet, requests, budget, plan) -> {};

  private static final boolean PRESENT = isPresent("jdk.jfr.Event");

  private Profiling() {}

  static boolean isPresent(String type) {
    try {
      Class.forName(type, false, Profiling.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }

  /** Loads what recording needs, so that no solve pays for it. */
  static void prepare() {
    begin();
  }

  /** Begins to record a solve, if anybody wants it recorded; costs nanoseconds if not. */
  static Recording begin() {
    return PRESENT ? SolveEvent.start() : NONE;
  }
}

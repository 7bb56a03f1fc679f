package dev.slicewright.plan;

import dev.slicewright.fleet.Fleet;

/** Applies a plan to a fleet. */
final class PlanApplication {
  private PlanApplication() {}

  static Fleet apply(Plan plan, Fleet fleet) {
    throw new IllegalStateException("not yet: " + plan + fleet);
  }
}

/**
 * The front door: plans a batch of requests against a fleet within a budget, verified and
 * explained.
 *
 * <p>Start with {@link dev.slicewright.solve.SlicePlanner}:
 *
 * <pre>{@code
 * SlicePlanner planner = SlicePlanner.create();
 * Plan plan = planner.plan(fleet, requests, SolveBudget.within(Duration.ofMillis(800)));
 * plan.gap();                                             // 0.0: proved optimal
 * fleet = plan.applyTo(fleet);
 * }</pre>
 *
 * <p>This package knows everything but {@code report} and the platforms.
 */
@NullMarked
package dev.slicewright.solve;

import org.jspecify.annotations.NullMarked;

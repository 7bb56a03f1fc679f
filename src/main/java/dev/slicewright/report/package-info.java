/**
 * What people look at and keep: pictures of pods, plans as text, and snapshots as JSON.
 *
 * <p>Start with {@link dev.slicewright.report.PodPicture}, {@link dev.slicewright.report.PlanText}
 * and {@link dev.slicewright.report.Snapshot}:
 *
 * <pre>{@code
 * Snapshot problem = Snapshot.read(json);
 * Plan plan = planner.plan(problem.fleet(), problem.requests(), problem.rules(), budget);
 * String report = PlanText.of(problem.requests(), plan);
 * String svg = PodPicture.beforeAndAfter(problem.fleet().pod("us-east5-a/1").orElseThrow(), plan).svg();
 * }</pre>
 *
 * <p>Only reading JSON needs Jackson, an optional dependency; without it all else works.
 */
@NullMarked
package dev.slicewright.report;

import org.jspecify.annotations.NullMarked;

/**
 * Replays slices that come and go, failures and repairs, against the planner or a baseline rule.
 *
 * <p>Start with {@link dev.slicewright.simulate.Trace} and {@link
 * dev.slicewright.simulate.Simulator}:
 *
 * <pre>{@code
 * Trace trace = TraceGenerator.builder(4096).shape(Shape.of(4, 4, 4), 3).load(0.8).build().generate(1);
 * Simulator simulator = Simulator.of(fleet).withWarmUp(2_000);
 * SimulationReport ours = simulator.run(trace, Policy.planner().withMoves(2));
 * SimulationReport slurm = simulator.run(trace, Policy.slurmTorus3d(true));
 * }</pre>
 *
 * <p>Only reading JSON needs Jackson, an optional dependency; without it all else works.
 */
@NullMarked
package dev.slicewright.simulate;

import org.jspecify.annotations.NullMarked;

/**
 * The answer: what is placed where, what is not and why, how good it is, and what proves it.
 *
 * <p>Start with {@link dev.slicewright.plan.Plan}; {@link dev.slicewright.plan.PlanVerifier} checks
 * one from the fleet, the requests and the rules alone.
 *
 * <p>This package knows {@code cost} and what it knows, and never the solvers: the verifier has to
 * be able to contradict them.
 */
@NullMarked
package dev.slicewright.plan;

import org.jspecify.annotations.NullMarked;

/**
 * What is wanted: slices, and the rules under which they may be placed.
 *
 * <p>Start with {@link dev.slicewright.request.SliceRequest}:
 *
 * <pre>{@code
 * SliceRequest train =
 *     SliceRequest.builder("train").shape("8x8x16").slices(2).priority(100).build();
 * SliceRequest eval = SliceRequest.builder("eval").chips(32).tenant("research").build();
 * PlanningRules rules = PlanningRules.builder().quota("research", 512).build();
 * }</pre>
 *
 * <p>This package knows only {@code topology} and {@code dev.slicewright}.
 */
@NullMarked
package dev.slicewright.request;

import org.jspecify.annotations.NullMarked;

package dev.slicewright.search;

import dev.slicewright.topology.Shape;
import java.util.Objects;

/**
 * What a search looks for in one pod: a shape and what ties it. Immutable, safe to share.
 *
 * @param shape the slice's shape in its own order; legal for the pod
 * @param mayTurn whether the box may be turned
 * @param healthyOnly whether degraded parts must be avoided
 * @param wraparound whether every axis longer than one chip must wrap
 * @param holder the request whose own live holds do not block it; empty if it has none
 */
public record Want(
    Shape shape, boolean mayTurn, boolean healthyOnly, boolean wraparound, String holder) {
  /** Checks for null. */
  public Want {
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(holder, "holder");
  }
}

package dev.slicewright.search;

import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import java.time.Instant;
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

  /**
   * What a slice of a request looks for in a pod.
   *
   * @param request the request
   * @param shape the shape that the slice is to have
   * @param pod the pod
   * @param now the time that decides which holds are live
   * @return the want
   */
  public static Want of(SliceRequest request, Shape shape, Pod pod, Instant now) {
    return new Want(
        shape,
        request.mayTurn(),
        request.healthyOnly(),
        request.interconnect() != Interconnect.ANY,
        holder(request, pod, now));
  }

  /**
   * What one cube of a slice of whole cubes has to be.
   *
   * @param request the slice's request
   * @param pod the pod
   * @param now the time that decides which holds are live
   * @return the want, for a single cube
   */
  public static Want cubeOf(SliceRequest request, Pod pod, Instant now) {
    return new Want(CUBE, true, request.healthyOnly(), false, holder(request, pod, now));
  }

  private static final Shape CUBE = Shape.of(4, 4, 4);

  private static String holder(SliceRequest request, Pod pod, Instant now) {
    for (Hold hold : pod.holds()) {
      if (hold.request().equals(request.id()) && hold.isLive(now)) {
        return request.id();
      }
    }
    return "";
  }
}

package dev.slicewright.kubernetes;

import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Chips that a Slice, or the pods of one slice, have taken; whose they are is found out later.
 * Confined to one thread at a time.
 */
final class Claim {

  /** What claims: a Slice, the first of its nodes, or the first of its pods. */
  final ObjectRef object;

  /** The id of the request that it becomes if it serves no other. */
  final String ownId;

  final Domain domain;
  final Shape shape;
  final Footprint footprint;
  final int[] cells;

  /** Whether all of it is on its way out. */
  final boolean leaving;

  /** The Slice, where there is one. */
  final @Nullable SliceManifest manifest;

  /** Pods that run on it or are bound to it, by name. */
  final List<PodSeat> pods = new ArrayList<>();

  /** Since when it stands; null if that is not known. */
  @Nullable Instant startedAt;

  /** The id of the request that it says it serves; empty if it says none. */
  String request = "";

  /** The number of its slice in the request; -1 if it is not said. */
  int index = -1;

  /** How many slices the request has; 0 if it is not said. */
  int slices;

  /** The priority of the request; null if it is not said. */
  @Nullable Long priority;

  /** The tenant of the request; empty if it is not said. */
  String tenant = "";

  Claim(
      ObjectRef object,
      String ownId,
      Domain domain,
      Shape shape,
      Footprint footprint,
      boolean leaving,
      @Nullable SliceManifest manifest) {
    this.object = object;
    this.ownId = Names.id(ownId);
    this.domain = domain;
    this.shape = shape;
    this.footprint = footprint;
    this.cells = domain.topology().cells(footprint);
    this.leaving = leaving;
    this.manifest = manifest;
  }

  /** Whether it is of pods alone: then whose it is has been said by them. */
  boolean isOfPods() {
    return object.kind().equals("Pod");
  }

  /** Where it stands, in words. */
  String place() {
    return domain.topology().describe(footprint) + " of " + domain.id();
  }

  @Override
  public String toString() {
    return object + " on " + place();
  }

  /**
   * A pod that has not ended, and where it is.
   *
   * @param pod the object
   * @param ref its name
   * @param place where it runs; null if it is not bound to a node that is known
   * @param owner whose it is; null if it wants no chips
   * @param wantsChips whether a container asks for chips
   * @param leaving whether its deletion has begun
   */
  record PodSeat(
      Pod pod,
      ObjectRef ref,
      Domains.@Nullable Place place,
      Owners.@Nullable PodOwner owner,
      boolean wantsChips,
      boolean leaving) {}
}
